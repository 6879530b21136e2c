// Package crashtest kills the daemon and checks what is left. It contains only tests.
//
// A real daemon process, with its own home and a scripted model, is put under load by several clients and killed with
// SIGKILL: at random moments, and within a millisecond of things that clients saw. It is restarted, sometimes killed
// once more while it recovers, and then asked, over its socket and in its files, for everything that was
// acknowledged: accepted runs and their input, messages announced as complete, edits, passages, agents. No call may
// lack its return, no edit may exist without its return or the reverse, every run has exactly one end, and every
// agent answers at once.
//
// A memory with its mirror is edited on both sides and killed in the middle of syncs: neither a text nor a commit is
// lost.
//
//	go test ./daemon/crashtest -run TestKill -kills 200
//
// A failure prints the seed and what the daemon was doing; -seed replays the same load, as far as the machine's own
// timing allows.
package crashtest
