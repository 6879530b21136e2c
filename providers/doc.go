// Package providers knows who can be asked: the catalogue of vendors, each a row on one of a few wires, and the
// resolver that turns a handle and the asker's variables into a chat model (core.Models).
//
// It promises that nothing is contacted that is not configured, with one exception: Ollama's own address on loopback.
// Requests to one server with one key share a bound on how many run at once and a pause when that server asks for
// one; failures that may pass are retried until the first piece of an answer was handed out. No key is ever in an
// error or a log. The package imports core and the wires; the daemon joins it to the rest.
package providers
