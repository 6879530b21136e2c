// Package providertest replaces a model's server in tests: an in-process server on loopback that speaks OpenAI Chat,
// OpenAI Responses, Anthropic Messages, Gemini's GenerateContent and Ollama's chat over real sockets, and one suite that
// every protocol must pass.
//
// A reply is scripted (Script), computed (Reply) or, by default, read from the last user message (Directives). The
// server keeps every request. It uses no network beyond loopback and no state but its own.
package providertest
