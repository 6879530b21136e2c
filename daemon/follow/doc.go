// Package follow keeps folders in sync with directories on disk: what is created, changed, renamed or deleted there
// is created, read again, renamed or deleted in the folder.
//
// Promises: it only reads, and only inside the directory: symbolic links are not followed, even if a file is replaced
// by one while it is read. Files ignored by .gitignore, hidden files and files that aren't text are skipped. A change
// is noticed within two seconds in a directory of 10,000 files; a change that the system doesn't report is found by
// the next full look, at most a minute later. If a directory is gone, unreadable or suddenly empty, no file is
// deleted: the folder reports it and waits. Each batch of a look is one transaction, and each look compares with what
// is stored, so the next look continues one that was interrupted.
//
// There is one goroutine per folder, which Close ends and waits for, and one that receives the system's change events
// for it.
//
// Layer 4: it imports core, core/ingest and core/service, and one library that watches directories.
package follow
