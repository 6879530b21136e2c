// Package trust keeps what a person said of the things that folders bring along and that would act: the instructions in
// AGENTS.md and CLAUDE.md, in a folder and below it, and at its root hooks, tools, commands and the servers of tools.
//
// A decision is about one item with the contents that it had. The file that holds them is the person's, beside the settings:
//
//	[folders."/home/ann/project".trusted]
//	"AGENTS.md" = "9f86d08…"
//
// Promises: what is returned as trusted has just been read and is what was trusted, byte for byte; no link is followed out
// of a folder; looking through a folder is bounded in time, depth and count, and says so where it met a bound; the file of
// decisions is replaced whole or not at all, and one that can't be read is an error, never a yes.
//
// Layer 4: it imports core and daemon/ownfile.
package trust
