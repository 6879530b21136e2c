// Package transcript turns what happens in a conversation into text: items
// (what a person said, an answer, reasoning, a tool call, a notice) and the
// Markdown of an answer while it streams. It draws for a given width and
// returns lines; it knows nothing about the terminal, the wire or the chat's
// model.
//
// Promises: text that Stream has returned as a block is never taken back; a
// block is rendered once; text from outside can never carry terminal control
// sequences into the output.
package transcript
