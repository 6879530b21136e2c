// Package ollama speaks Ollama's own wire, using the types of its api package and a stream reader of our own: the api
// package's client allocates 8 MB per stream and takes a truncated stream for a finished one.
//
// It promises that nothing is dropped silently: every request carries num_ctx, truncate:false and shift:false, so a
// conversation that doesn't fit is an error of kind too_long; a stream without done:true is an error; a call to a tool
// that wasn't offered, which Ollama swallows, is an error. It is an adapter: it imports core, and only the resolver
// knows it.
package ollama
