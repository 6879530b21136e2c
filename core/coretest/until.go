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
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late.C:
			tb.Fatalf("%s: not within %s", what, patience)
		}
	}
}
