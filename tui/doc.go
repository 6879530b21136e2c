// Package tui is the chat in the terminal: an inline program that talks to the
// daemon like any other client. Run is its whole surface.
//
// Its promises: it paints first and connects later, so you can type at once;
// finished text is printed once into the terminal's own scrollback and never
// touched again; nothing typed or queued is lost, whether by Escape, a failed
// run or a daemon that goes away; nothing ticks while nothing happens; closing
// the terminal ends the chat, not the run.
//
// Model is the only part of the message loop. Its parts (term, transcript,
// prompt, panel, theme) are plain structs. It knows the daemon only through
// Backend, which daemon/client satisfies, and imports nothing below that.
package tui
