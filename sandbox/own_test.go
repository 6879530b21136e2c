//go:build linux

package sandbox

import (
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loci/core"
)

var own = flag.Bool("own", false, "build this program in the sandbox, and run tests of it there")

// TestThisProjectBuildsAndPassesTestsInside does what an agent at work on this very program would do.
func TestThisProjectBuildsAndPassesTestsInside(t *testing.T) {
	t.Parallel()
	if !*own {
		t.Skip("it builds the whole program: only with -own")
	}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	folders := strings.Fields(string(out))
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	job := core.Job{
		Profile: core.JobShell, Project: &core.JobProject{Path: root},
		Argv: []string{"sh", "-c", `go build -o /tmp/loci ./cmd/loci && /tmp/loci version &&
			go test -short -count=1 ./core/memory ./core/rules ./daemon/ipc ./daemon/config ./storage/sqlite`},
		Env: []string{
			"PATH=" + folders[0] + "/bin:/usr/bin:/bin", "HOME=" + core.SandboxHome, "TMPDIR=/tmp",
			"CGO_ENABLED=0", "GOFLAGS=-mod=readonly -buildvcs=false",
			"GOMODCACHE=" + folders[1], "GOCACHE=" + folders[2], "GOTOOLCHAIN=local", "GOPROXY=off",
		},
		Mounts: []core.JobMount{{Source: folders[0]}, {Source: folders[1]}, {Source: folders[2], Writable: true}},
		Limits: core.JobLimits{Wall: 10 * time.Minute},
	}
	if r := run(t.Context(), t, local(t), job); r.ExitCode != 0 || r.Ended != core.JobExited {
		t.Errorf("%s %d\n%s%s", r.Ended, r.ExitCode, r.Stdout.Kept, r.Stderr.Kept)
	}
}
