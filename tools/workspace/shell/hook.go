package shell

import (
	"context"
	"time"

	"loci/core"
)

// mostHook is how much of what a hook writes is kept, in bytes.
const mostHook = 64 << 10

// Hook runs a program that the open folder brings along, where and as confined as a line of that folder, and without the
// network. What it gets to read is its input; nothing of it is a job.
func (s *Shell) Hook(ctx context.Context, w core.WorkspaceEnv, command string, input []byte, limit time.Duration) (core.JobResult, error) {
	if s.cfg.Sandbox == nil {
		return core.JobResult{}, core.E(core.Unsupported, "there is no sandbox here")
	}
	p, err := s.open(ctx, w)
	if err != nil {
		return core.JobResult{}, err
	}
	defer p.close()
	return s.cfg.Sandbox.Run(ctx, core.Job{
		Profile: core.JobShell, Argv: []string{"sh", "-c", command}, Dir: p.real, Stdin: input,
		Mounts: p.mounts, Project: p.project(w.Mode), Beside: p.beside,
		Env:    append(p.env, "CLAUDE_PROJECT_DIR="+p.real, "LOCI_PROJECT_DIR="+p.real),
		Limits: core.JobLimits{Wall: limit, Output: mostHook},
	})
}
