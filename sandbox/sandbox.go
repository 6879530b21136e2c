// Package sandbox knows how this machine can confine code that is not ours. Loci runs no such code yet: the built-in tools
// only read and change its own store. What is here is the question that comes first, which layers the kernel gives to this
// process, answered by trying each of them instead of by looking for files, so that the doctor tells a person early what a
// machine lacks. It is an adapter: it imports core at most.
package sandbox

import (
	"context"
	"time"
)

// probeTime bounds the whole of a Probe.
const probeTime = 2 * time.Second

// Layer is one way to confine a process.
type Layer struct {
	Name   string
	Works  bool
	Detail string // what was seen: a version, or why it does not work
	Fix    string // what a person can do about it; empty: nothing
}

// Probe tries every layer that this system may have, within two seconds. An empty result: none is known for this system.
func Probe(ctx context.Context) []Layer {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	return probe(ctx)
}
