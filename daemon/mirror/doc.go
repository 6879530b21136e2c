// Package mirror keeps an agent's memory blocks in sync with a folder of Markdown files in git, so that people can
// read, edit and version them with the tools they know. It exists because both sides may be edited at any moment and
// no text of either may be lost.
//
// Promises: a file is replaced only while it still is what was read, and a block only while it is still at the
// version that was read; if both were edited since they were last in sync, the file's text goes to a separate file
// beside it and the block's text stays; nothing is unlinked, detached or deleted because a file is gone; every text
// seen in the folder is in a commit before anything is written, every commit has the previous one as its parent, and
// nothing is ever pushed. If killed between any two of its actions, it continues at the next start.
//
// The folder is hostile until checked: links are not followed, sizes and counts are bounded, and only git commands
// that run nothing from the folder's own configuration are used.
//
// The pure half (document.go, label.go, plan.go) decides; the other half (folder.go, git.go, pass.go, mirrors.go)
// acts.
//
// Layer 4: it imports core and core/service. It knows nothing of the wire.
package mirror
