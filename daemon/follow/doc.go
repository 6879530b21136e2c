// Package follow keeps folders alike with directories on disk: what is made, changed, renamed or deleted there is made,
// read anew, renamed or deleted in the folder.
//
// Promises: the directory is only read, and nothing outside of it: symbolic links are not followed, whatever they are
// changed into while it is read. What .gitignore files leave out, hidden files and what is no text are passed over. A
// change is seen within two seconds in a directory of 10,000 files; at the latest the next whole look, once a minute,
// finds what the system did not tell. A directory that is gone, cannot be read or has suddenly nothing in it deletes no
// file: the folder says so and waits. Each batch of a look is one transaction, and a look compares with what is stored, so
// one that was interrupted is gone on with by the next.
//
// One goroutine per folder, which Close ends and waits for, and one that takes in what the system tells of it.
//
// Layer 4: it imports core, core/ingest and core/service, and one library that watches directories.
package follow
