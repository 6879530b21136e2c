//go:build linux

package sandbox

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"loci/core"
)

// pause is more than an init takes to stand by.
const pause = 150 * time.Millisecond

// BenchmarkTrue compares what a sandboxed `sh -c true` takes with bubblewrap's. They take turns, so that both see the same
// machine, and medians are told. Warm calls leave the launcher the time between two calls of an agent, to start the next init.
func BenchmarkTrue(b *testing.B) {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		b.Fatal("bubblewrap is what this compares with: apt-get install bubblewrap")
	}
	args := []string{
		"--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin",
		"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
		"--ro-bind", "/etc/ssl/certs", "/etc/ssl/certs", "--ro-bind", "/etc/alternatives", "/etc/alternatives",
		"--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", core.SandboxHome, "--chdir", core.SandboxHome,
		"sh", "-c", "true",
	}
	l := local(b)
	ours := func() {
		if r, err := l.Run(b.Context(), sh("true")); err != nil || r.Ended != core.JobExited {
			b.Fatal(r, err)
		}
	}
	theirs := func() {
		if out, err := exec.CommandContext(b.Context(), program, args...).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	bare := func() {
		if err := exec.CommandContext(b.Context(), "sh", "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
	took := map[string][]time.Duration{}
	measure := func(name string, do func()) {
		began := time.Now()
		do()
		took[name] = append(took[name], time.Since(began))
	}
	measure("cold", ours)
	for b.Loop() {
		<-time.After(pause)
		measure("bwrap", theirs)
		measure("bare", bare)
		<-time.After(pause)
		measure("warm", ours)
		measure("burst", ours)
	}
	middle := func(name string) float64 {
		slices.Sort(took[name])
		return float64(took[name][len(took[name])/2]) / float64(time.Millisecond)
	}
	for name := range took {
		b.ReportMetric(middle(name), name+"-ms")
	}
	b.ReportMetric(middle("warm")/middle("bwrap"), "warm/bwrap")
}
