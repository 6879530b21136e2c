//go:build linux

package javascript_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
	"loci/sandbox"
	"loci/sandbox/sandboxtest"
	"loci/tools/custom/javascript"
	"loci/tools/custom/run"
)

// throughNode runs the program of a job from a tool that has packages.
type throughNode struct {
	runner   *run.Runner
	packages string
}

const starts = `import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
export function start(argv: string[], env: Record<string, string>, project: string) {
  const cwd = fs.existsSync(project) ? project : env.HOME
  const ran = spawnSync(argv[0], argv.slice(1), { env, cwd, maxBuffer: 1 << 24 })
  for (const out of [ran.stdout, ran.stderr]) if (out) fs.writeSync(1, out.subarray(-30000))
  return String(ran.status)
}`

func (r throughNode) Run(ctx context.Context, job core.Job) (core.JobResult, error) {
	env := map[string]string{}
	for _, v := range job.Env {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	out, err := r.runner.Run(ctx, run.Call{
		Tool: "start", Source: starts, Function: "start", Time: job.Limits.Wall, Packages: r.packages,
		Arguments: map[string]any{"argv": job.Argv, "env": env, "project": job.Project.Path},
	})
	return core.JobResult{Ended: core.JobExited, Stdout: core.JobOutput{Kept: []byte(out.Stdout + out.Stderr + out.Text)}}, err
}

func TestNothingGetsOutOfAToolUnderNode(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a while")
	}
	needNode(t)
	none := sandbox.New(sandbox.Config{Mode: sandbox.Off, Scratch: filepath.Join(t.TempDir(), "jobs")})
	t.Cleanup(none.Close)
	free := run.New(run.Config{Sandbox: none, Start: javascript.Engine(os.Getenv("PATH"))})
	t.Cleanup(free.Close)
	folder := modules(t)
	sandboxtest.RunThrough(t, throughNode{open(t).runner, folder}, throughNode{free, folder})
}
