// Package permissions reads and keeps the rules of permission that people wrote: a system file above all, the person's own
// file, which also says what is allowed in single folders, and the file that a project brings.
//
// All have one form, TOML:
//
//	allow = ["shell(go test *)"]
//	deny = ["read(secrets/**)"]
//
//	[folders."/home/ann/project"]
//	allow = ["write(src/**)"]
//
// Promises: a file is read when a run asks, so that a change counts at once; it is replaced whole or not at all; a file
// that can't be read or understood is an error, never an empty list. A project's file can forbid and ask; what it would
// allow is told and doesn't count.
//
// Layer 4: it imports core, core/permission and daemon/ownfile.
package permissions
