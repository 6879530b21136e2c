// Package openai speaks OpenAI's two wires, Chat Completions and Responses, to OpenAI itself and to every compatible
// server. Differences between servers are a Quirks value, not code.
//
// go-openai makes requests and reads streams behind an http.RoundTripper of our own, which edits what goes out and
// repairs what comes in. The package promises deterministic request bytes (equal requests give equal bytes, and a longer
// history begins with the elements of the shorter one), that a stream without its end is an error, and that nothing it
// returns contains the key. It is an adapter: it imports core, and only the resolver knows it.
package openai
