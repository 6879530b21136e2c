// Package core is the vocabulary of Loci: its nouns, their rules, the errors everything speaks, and the ports
// through which the engine reaches storage, models and tools.
//
// It is the innermost layer: it imports the standard library and google/uuid only, does no I/O and starts no
// goroutine. Everything else imports core; core imports nothing of ours.
package core
