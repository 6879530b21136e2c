// Package memory turns an agent's blocks into what a model reads and back: it compiles the system prompt, words the
// records that the program itself adds to a thread (prefaces, announcements, markers, heartbeats, alerts, boot
// messages), packs tool returns, and edits block values.
//
// Promises: everything here is a pure function; the same arguments give the same bytes, so that a recompiled text can be
// compared by hash. Values of blocks are inserted as they are: nothing in them is a placeholder.
//
// Layer 1: it imports core only.
package memory
