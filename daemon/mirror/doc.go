// Package mirror keeps the memory blocks of an agent alike with a folder of Markdown files in git, so that a person can
// read, edit and version them with the tools they know. Its one reason: two sides that both may be edited at any moment,
// and no text of either may be lost.
//
// Promises: a file is replaced only while it is what was read, a block only while it is at the version that was read;
// where both were edited since they were last alike, the file's text goes to a file of its own beside it and the block's
// stays; nothing is unlinked, detached or deleted because a file is gone; every text that was seen in the folder is in a
// commit before anything is written, every commit has the one before as its parent, and nothing is ever pushed. Killed
// between any two of its actions, it goes on at the next start.
//
// The folder is hostile until checked: links are not followed, sizes and counts are bounded, and of git only commands
// that run nothing of the folder's own configuration are used.
//
// The pure half (document.go, label.go, plan.go) decides; the other half (folder.go, git.go, pass.go, mirrors.go) acts.
//
// Layer 4: it imports core and core/service. It knows nothing of the wire.
package mirror
