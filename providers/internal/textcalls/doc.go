// Package textcalls reads the calls of tools that a model writes into its text, in the forms that open models were trained
// on, where the server before it does not turn them into calls.
//
// It promises that a call is only what stands at the end of an answer, on lines of its own, outside of quotations and code,
// whole, and of a tool that was offered; everything else is handed out as it came. A streamed text is held back only while
// it may still become a call, and how the stream is cut changes nothing. Unread tells what was meant as a call and is none.
// The package is pure: it knows no wire, and the size of what it holds and the work that it does are bounded.
package textcalls
