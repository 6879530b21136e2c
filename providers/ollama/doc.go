// Package ollama speaks Ollama's own wire with the types of its api package and a stream reader of ours: the api
// package's client allocates 8 MB for each stream and takes a stream that was cut for one that ended.
//
// It promises that nothing is dropped silently: every request carries num_ctx, truncate:false and shift:false, so a
// conversation that does not fit is an error of kind too_long; a stream without done:true is an error; a call to a tool
// that was not offered, which Ollama swallows, is an error. It is an adapter: it imports core and is known to the
// resolver only.
package ollama
