//go:build linux

package javascript_test

import (
	"slices"
	"testing"
	"time"
)

// pause is more than an engine takes to wait for its call.
const pause = 400 * time.Millisecond

// BenchmarkCall tells medians of a call. Warm ones come after the time between two calls of an agent, in which the next engine
// starts; "burst" is one at once after another, "cold" the very first.
func BenchmarkCall(b *testing.B) {
	box := open(b)
	took := map[string][]time.Duration{}
	call := func(name string) {
		began := time.Now()
		if out := box.run("export function f(): string { return 'x' }", nil); out.Text != "x" {
			b.Fatal(out)
		}
		took[name] = append(took[name], time.Since(began))
	}
	call("cold")
	for b.Loop() {
		<-time.After(pause)
		call("warm")
		call("burst")
	}
	for name, all := range took {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2])/float64(time.Millisecond), name+"-ms")
	}
}
