// Package tui is the chat in the terminal: an inline program that talks to the
// daemon like any other client. Run is its whole surface.
//
// Its promises: it paints first and connects later, so you can type at once;
// finished text is printed once into the terminal's own scrollback and never
// touched again; nothing typed or queued is lost, whether by Escape, a failed
// run or a daemon that goes away; nothing ticks while nothing happens; closing
// the terminal ends the chat, not the run.
//
// Model is the only part of the message loop: it passes each message to the part
// that it concerns. The parts in this package keep one promise each: link (the
// daemon may go away), conversation (which one is open), display (what was said
// and what lies over it), outbox (what hasn't arrived), turn (the run being
// shown) and timeline (going back, forward and apart). A slash command that needs
// no more than some of them is a type of its own. Those in the packages below
// (term, transcript, prompt, panel, theme) are plain structs.
//
// The daemon is known only through Backend, which daemon/client satisfies: the
// sum of the small interfaces declared beside the parts that call them. How to
// add a panel or a key is in docs/architecture.md, "Recipes".
package tui
