// Package api holds the types that travel between the daemon and its clients, one file per noun: those of the Letta V1
// contract, and our own under /loci/v1.
//
// It promises that every JSON key is the contract's (contract_test.go compares them), that a key which was not sent, a
// null and a value stay apart where the contract tells them apart (Opt), and that what a client does not know yet
// passes through unharmed (Message.Raw). It holds no behaviour, imports nothing of ours, and is all that server,
// client, terminal and command line have in common.
//
// In answers a pointer is a key that may be null; in requests a nil pointer is a key that was not sent. Lists in
// answers are List, so that an empty one is never null.
package api
