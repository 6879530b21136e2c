// Package openai speaks OpenAI's two wires, Chat Completions and Responses, to OpenAI itself and to every server that
// is compatible with it. What differs between them is a Quirks value, not code.
//
// Requests are made and streams are read by go-openai behind one http.RoundTripper of ours, which edits what goes out
// and mends what comes in. The package promises deterministic request bytes (equal requests give equal bytes, and a
// longer history begins with the elements of the shorter), that a stream without its end is an error, and that
// nothing it returns holds the key. It is an adapter: it imports core and is known to the resolver only.
package openai
