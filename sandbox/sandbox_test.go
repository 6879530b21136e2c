//go:build linux

package sandbox

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"loci/core"
)

const path = "PATH=/usr/local/bin:/usr/bin:/bin"

// confines tries once whether this machine can confine programs at all, as the doctor does.
var confines = sync.OnceValue(func() Report {
	l := New(Config{Mode: Full})
	defer l.Close()
	return l.Probe(context.Background())
})

// local is a sandbox. Where there can be none, as in a container without namespaces, its tests are skipped and say which step fails.
func local(tb testing.TB) *Local {
	tb.Helper()
	if r := confines(); r.Level != LevelFull {
		tb.Skip("this machine cannot confine programs: " + r.Detail)
	}
	l := New(Config{Mode: Full, Scratch: filepath.Join(tb.TempDir(), "jobs")})
	tb.Cleanup(l.Close)
	return l
}

func sh(script string) core.Job {
	return core.Job{Profile: core.JobTool, Argv: []string{"sh", "-c", script}, Env: []string{path, "HOME=" + core.SandboxHome}}
}

func run(ctx context.Context, t *testing.T, l *Local, job core.Job) core.JobResult {
	t.Helper()
	r, err := l.Run(ctx, job)
	if err != nil {
		t.Fatalf("%v (%s)", err, core.HintOf(err))
	}
	return r
}

// launched is a sandbox that has run something, with its launcher.
func launched(t *testing.T) (*Local, *launcher) {
	t.Helper()
	l := local(t)
	run(t.Context(), t, l, sh("true"))
	launcher, err := l.backend.current()
	if err != nil {
		t.Fatal(err)
	}
	return l, launcher
}

func TestAProgramsOutputsAndExitCodeComeBack(t *testing.T) {
	t.Parallel()
	job := sh("cat; echo out; echo err >&2; exit 7")
	job.Stdin = []byte("in\n")
	r := run(t.Context(), t, local(t), job)
	if r.Ended != core.JobExited || r.ExitCode != 7 || string(r.Stdout.Kept) != "in\nout\n" || string(r.Stderr.Kept) != "err\n" {
		t.Errorf("%+v %s %s", r, r.Stdout.Kept, r.Stderr.Kept)
	}
	for _, layer := range []string{"namespaces", "limits", "capabilities", "Landlock", "seccomp"} {
		if !strings.Contains(strings.Join(r.Layers, ","), layer) {
			t.Errorf("%s is not in force: %q", layer, r.Layers)
		}
	}
}
