// Package coretest is what tests of every package need. It imports nothing but the standard library.
package coretest

import (
	"testing"
	"time"
)

// patience is how long a test waits for what takes milliseconds: a busy machine is slow, a hang is for ever.
const patience = 2 * time.Minute

// Until polls until a condition holds, and fails the test where it does not come to hold in time.
func Until(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	UntilWithin(tb, what, 2*time.Millisecond, patience, holds)
}

// UntilWithin is Until for what takes long: it asks only every so often, because asking has a cost of its own there.
func UntilWithin(tb testing.TB, what string, every, limit time.Duration, holds func() bool) {
	tb.Helper()
	tick := time.NewTicker(every)
	defer tick.Stop()
	late := time.NewTimer(limit)
	defer late.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late.C:
			tb.Fatalf("%s: not within %s", what, limit)
		}
	}
}
