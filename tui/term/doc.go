// Package term is the only writer to the terminal.
//
// The chat is inline: finished text is printed once into the terminal's own
// scrollback, above a small live region that is redrawn again and again.
// Mistakes there leave garbage that can never be removed, so the package does
// its own drawing: the program's renderer gets nothing to draw and only sets up
// the terminal. The package promises:
//
//   - a print and the region below it reach the terminal in one write, as one
//     synchronised update;
//   - positions are counted from the caret only, never from the edges of the screen,
//     so a terminal whose height changed before the program heard of it still gets
//     each line once and in its place;
//   - when the width of the terminal changes, the region is redrawn where the
//     terminal has wrapped it to, once the size has settled;
//   - a change below the caret, such as a spinner or a clock, wraps nothing, even in
//     a terminal that is narrower than the program knows;
//   - the live region is never as tall as the screen and never wider than it;
//   - nothing is printed while a panel holds the alternate screen;
//   - nothing is written while nothing changes.
//
// There is no way to know what happened to region rows that were drawn after
// the terminal became narrower but before it said so. So nothing is drawn for a
// moment after a change, while another one may be under way; only rows drawn in
// the instant of a first change may stay behind.
//
// Output is the io.Writer given to the program; Screen is what the model talks
// to. Screen belongs to the update loop and is not safe for other goroutines;
// Output is safe for all. The package knows nothing about chats.
package term
