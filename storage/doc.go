// Package storage keeps everything in three SQLite files of one home, by worth: loci.db holds the facts and is durable
// (synchronous FULL: an answered Tx survives kill -9 and a power cut), log.db the run log and index.db the search index;
// the last two may be lost: the log is disposable, the index is derived from the facts.
//
// Its promises: a delete is a mark that takes effect at once everywhere, and a sweeper removes what is marked; what a step
// writes costs the same whatever the history holds; errors are core.Error values. It is an adapter: it implements core.Store
// and core.EventLog over the engine in storage/sqlite, one file for each noun, and imports the core and its helpers only.
// What the packages below it do is in docs/architecture.md, "Where things lie, and why"; adding a migration in "Recipes".
package storage
