// Package crashtest kills the daemon and looks at what is left. It holds tests only.
//
// A real daemon process, with a home of its own and a scripted model, is put under load by several clients and killed
// with SIGKILL: at random moments, and within a millisecond of things that clients saw. It is started again, sometimes
// killed once more while it recovers, and then asked, over its socket and in its files, for everything that was
// acknowledged: accepted runs and their input, messages announced as whole, edits, passages, agents. No call may be
// without its return, no edit without its return and no return without its edit, every run has one end, and every agent
// answers at once.
//
// A memory with its mirror is edited on both sides and killed in the midst of syncs: no text is lost, no commit either.
//
//	go test ./daemon/crashtest -run TestKill -kills 200
//
// A failure says the seed and what the daemon was doing; -seed plays the same load again, as far as the machine's own
// timing lets it.
package crashtest
