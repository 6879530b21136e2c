// Package term is the one writer of the terminal.
//
// The chat is inline: finished text is printed once into the terminal's own
// scrollback, above a small live region that is drawn again and again. Printing
// above a live region goes wrong in several ways when it is left to the
// renderer, and every one of them leaves garbage that can never be removed. So
// everything that reaches the terminal passes here, and these promises hold:
//
//   - a print is cut into pieces that fit above the live region;
//   - rows are counted by display width, with tabs expanded, by the same
//     formula that the renderer uses to make room for them;
//   - the live region is never as tall as the screen and never wider than it;
//   - a live region that becomes shorter leaves no copy of its upper rows;
//   - a frame of a spinner or a clock that comes to a terminal which has become too
//     narrow for it meanwhile wraps nothing and leaves the cursor where it was;
//   - a print and the frame that follows it reach the terminal in one write,
//     as one synchronised update;
//   - nothing is printed while a panel holds the alternate screen, before the
//     first frame has gone out, or between a resize and the frame that answers
//     it. Such prints wait and come in order.
//
// Output is the io.Writer that the program is given; Screen is what the model
// talks to. Screen belongs to the update loop and is not safe for other
// goroutines; Output is safe for all. The package knows nothing of chats.
package term
