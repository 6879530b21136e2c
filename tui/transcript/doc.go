// Package transcript makes text of what happens in a conversation: items (what a
// person said, an answer, reasoning, a tool call, a notice) and the Markdown of
// an answer while it streams. It draws for a width and returns lines; it does
// not know the terminal, the wire or the model of the chat.
//
// Promises: text that Stream has given out as a block is never taken back; a
// block is rendered once; text from outside can never carry terminal control
// sequences into what is drawn.
package transcript
