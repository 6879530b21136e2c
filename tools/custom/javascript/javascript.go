// Package javascript runs tools in TypeScript and JavaScript with an engine that is built into the program, so that nothing has to be
// installed; those that ask for packages run under the machine's node. The program starts itself as a worker inside of the sandbox: no
// source is ever read or run by the daemon.
//
// Promises: types are taken away and nothing else is looked at; without packages the engine opens no file; memory and the depth of calls
// are bounded.
//
// Layer 1, below tools: it imports core and tools/custom/run.
package javascript

import (
	"os"
	"path/filepath"

	"loci/core"
	"loci/tools/custom/run"
)

// WorkerCommand is the hidden sub-command under which the program starts itself.
const WorkerCommand = "js-worker"

// Engine returns what starts a worker: this program itself. node is looked for in a person's PATH, when packages are asked for.
func Engine(path string) run.Start {
	find := FindNode(path)
	return func(packages string) ([]string, []core.JobMount, error) {
		self, err := os.Executable()
		if err == nil {
			self, err = filepath.EvalSymlinks(self)
		}
		if err != nil {
			return nil, nil, core.E(core.Unavailable, "this program can't start itself: %w", err).WithHint("loci daemon restart")
		}
		argv, mounts := []string{self, WorkerCommand}, []core.JobMount{{Source: self}}
		if packages == "" {
			return argv, mounts, nil
		}
		node, err := find()
		mounts = append(append(mounts, node.Mounts...), core.JobMount{Source: packages})
		return append(argv, node.Program, packages), mounts, err
	}
}

// Main is what the program does as a worker; ours is false where it isn't one.
func Main(args []string) (code int, ours bool) {
	if len(args) != 2 && len(args) != 4 || args[1] != WorkerCommand {
		return 0, false
	}
	stream := os.NewFile(3, "daemon")
	if len(args) == 4 {
		return workUnderNode(stream, args[2], args[3]), true
	}
	return work(stream), true
}
