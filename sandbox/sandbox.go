// Package sandbox finds out how this machine can confine untrusted code. Loci runs no such code yet: the built-in tools
// only read and change its own store. This package answers the first question, which layers the kernel offers to this
// process, by trying each of them instead of looking for files, so that the doctor can tell a person early what a
// machine lacks. It is an adapter: it imports core at most.
package sandbox

import (
	"context"
	"time"
)

// probeTime limits a whole Probe.
const probeTime = 2 * time.Second

// Layer is one way to confine a process.
type Layer struct {
	Name   string
	Works  bool
	Detail string // what was found: a version, or why it doesn't work
	Fix    string // what a person can do about it; empty: nothing
}

// Probe tries every layer that this system may have, within two seconds. Nil: no layer is known for this system.
func Probe(ctx context.Context) []Layer {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	return probe(ctx)
}
