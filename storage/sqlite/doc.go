// Package sqlite is the engine of one SQLite file: how it is opened, migrated, written, read and copied. What its tables
// mean is up to the packages above it: storage for the facts, storage/index for the search index.
//
// Its promises: one writer per file with group commit and many readers, so nothing is ever "locked"; statements are
// compiled once; a copy gets its name only once it is complete; errors are core.Error values. It imports core only.
package sqlite
