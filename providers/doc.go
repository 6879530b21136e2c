// Package providers knows which models can be asked: the catalogue of vendors, each a row on one of a few protocols, and
// the resolver that turns a handle and the caller's variables into a chat model (core.Models). A protocol is a package
// that implements protocol.Protocol; a row holds a value of it, and nothing else knows its name.
//
// It promises that it contacts nothing that isn't configured, with one exception: Ollama's default address on loopback.
// Requests to one server with one key share a limit on concurrency and pause when that server asks for it; transient
// failures are retried until the first piece of an answer has been handed out. No key ever appears in an error or a log.
// The package imports core and the wires; the daemon connects it to the rest.
package providers
