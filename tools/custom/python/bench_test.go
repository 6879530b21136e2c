//go:build linux

package python_test

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// pause is more than an interpreter takes to wait for its call.
const pause = 400 * time.Millisecond

// BenchmarkCall compares a call with starting the same interpreter bare. They take turns, so that both see the same machine, and
// medians are told. Warm calls come after the time between two calls of an agent, in which the next interpreter starts.
func BenchmarkCall(b *testing.B) {
	program, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		b.Skip(err)
	}
	box := open(b)
	const source = "def f():\n return 'x'"
	took := map[string][]time.Duration{}
	measure := func(name string, do func()) {
		began := time.Now()
		do()
		took[name] = append(took[name], time.Since(began))
	}
	call := func() {
		if out := box.run(source); out.Text != "x" {
			b.Fatal(out)
		}
	}
	measure("cold", call)
	for b.Loop() {
		<-time.After(pause)
		measure("bare", func() {
			if err := exec.CommandContext(b.Context(), program, "-c", "pass").Run(); err != nil {
				b.Fatal(err)
			}
		})
		measure("warm", call)
		measure("burst", call)
	}
	middle := func(name string) float64 {
		slices.Sort(took[name])
		return float64(took[name][len(took[name])/2]) / float64(time.Millisecond)
	}
	for name := range took {
		b.ReportMetric(middle(name), name+"-ms")
	}
	b.ReportMetric(middle("warm")/middle("bare"), "warm/bare")
}
