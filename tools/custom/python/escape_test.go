//go:build linux

package python_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
	"loci/sandbox"
	"loci/sandbox/sandboxtest"
	"loci/tools/custom/python"
	"loci/tools/custom/run"
)

// throughTools runs the program of a job from a tool.
type throughTools struct{ runner *run.Runner }

const starts = `
import os, subprocess
def start(argv, env, project):
    folder = project if os.path.isdir(project) else env["HOME"]
    ran = subprocess.run(argv, env=env, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    os.write(1, ran.stdout[-60000:])
    return str(ran.returncode)
`

func (r throughTools) Run(ctx context.Context, job core.Job) (core.JobResult, error) {
	env := map[string]string{}
	for _, v := range job.Env {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	out, err := r.runner.Run(ctx, run.Call{
		Tool: "start", Source: starts, Function: "start", Time: job.Limits.Wall,
		Arguments: map[string]any{"argv": job.Argv, "env": env, "project": job.Project.Path},
	})
	return core.JobResult{Ended: core.JobExited, Stdout: core.JobOutput{Kept: []byte(out.Stdout + out.Stderr + out.Text)}}, err
}

func TestNothingGetsOutOfATool(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a while")
	}
	none := sandbox.New(sandbox.Config{Mode: sandbox.Off, Scratch: filepath.Join(t.TempDir(), "jobs")})
	t.Cleanup(none.Close)
	free := run.New(run.Config{Sandbox: none, Start: python.Interpreter(os.Getenv("PATH"))})
	t.Cleanup(free.Close)
	sandboxtest.RunThrough(t, throughTools{open(t).runner}, throughTools{free})
}
