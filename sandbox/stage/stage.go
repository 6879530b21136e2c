// Package stage is what this program does when it starts itself as the launcher of sandboxes, or as the first process of one.
// Both run beside the daemon and hold nothing of it: no secret, no variable, no open file.
package stage

import (
	"sync/atomic"

	"loci/sandbox/frame"
)

// able is whether this program would run a stage if it were started as one.
var able atomic.Bool

// Able reports whether this program calls Main. One that doesn't, like most tests, would do something else altogether.
func Able() bool { return able.Load() }

// Main runs a stage if the program was started as one, and returns its exit code. It has to be called before anything else.
func Main(args []string) (code int, ours bool) {
	able.Store(true)
	if len(args) != 2 {
		return 0, false
	}
	switch args[1] {
	case frame.LaunchCommand:
		return launch(), true
	case frame.InitCommand:
		return initialize(), true
	case frame.ReduceCommand:
		return reduce(), true
	}
	return 0, false
}
