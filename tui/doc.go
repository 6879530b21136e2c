// Package tui is the chat in the terminal: an inline program that talks to the
// daemon like any other client. Run is its whole surface.
//
// What it promises: it paints first and connects after, so that one can type at
// once; what is finished is printed once into the terminal's own scrollback and
// never touched again; nothing that was typed or queued is lost, not by Escape,
// not by a run that fails, not by a daemon that goes away; nothing ticks while
// nothing happens; closing the terminal ends the chat and not the run.
//
// Model is the only part of the message loop. Its parts (term, transcript,
// prompt, panel, theme) are plain structs. It knows the daemon only through
// Backend, which daemon/client satisfies, and imports nothing below that.
package tui
