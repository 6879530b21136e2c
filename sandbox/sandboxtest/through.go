package sandboxtest

import (
	"os"
	"testing"

	"loci/core"
)

// RunThrough makes those attempts in which a program alone is what tries, in sandboxes that run it in some other way, such as from a
// tool that has no project. One that fails even where nothing answers it would prove nothing; the layers of a sandbox are Run's to
// tell apart.
func RunThrough(t *testing.T, whole, none core.Sandbox) {
	t.Helper()
	made := 0
	for _, a := range attempts() {
		if a.Class == "git" || a.Job != nil || a.Free != nil || a.Meanwhile != nil || a.Stays != "" {
			continue
		}
		made++
		t.Run(a.Class+"/"+a.Name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(a.Argv[0]); err != nil {
				t.Skip(a.Argv[0] + " is not installed")
			}
			if raced && a.Class == "memory" {
				t.Skip("with the race detector, the first process of a sandbox alone has more memory than these attempts may take")
			}
			if a.Without == nil {
				a.control(t, Sandboxes{None: none})
			}
			if t.Failed() {
				return
			}
			if got, out := a.try(t, whole, nil, true); got {
				t.Errorf("it got out: %s", out)
			}
		})
	}
	if made < 50 {
		t.Errorf("there are only %d attempts", made)
	}
}
