// Package api holds the types that travel between the daemon and its clients, one file per noun: those of the Letta
// V1 contract, and our own under /loci/v1.
//
// Promises: every JSON key is the contract's (contract_test.go compares them); where the contract distinguishes a
// missing key, null and a value, so do the types (Opt); what a client doesn't know yet passes through unchanged
// (Message.Raw). The package holds no behaviour, imports nothing of ours, and is all that server, client, terminal
// and command line share.
//
// In responses a pointer is a key that may be null; in requests a nil pointer is a key that was not sent. Lists in
// responses are of type List, so an empty one is never null.
package api
