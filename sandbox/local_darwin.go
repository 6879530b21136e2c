package sandbox

import (
	"context"
	"os"
	"path/filepath"

	"loci/core"
)

// seatbeltProgram applies a profile and then becomes the program that it is given.
const seatbeltProgram = "/usr/bin/sandbox-exec"

type backend struct{}

func (backend) close() {}

// machineMemory is unknown: the system's sandbox limits none.
func machineMemory() int64 { return 0 }

// confined runs the job under a profile of the system's sandbox.
func (c *call) confined(ctx context.Context, l *Local) error {
	base := l.cfg.Scratch
	if base == "" {
		base = os.TempDir()
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return core.E(core.Unavailable, "the sandbox's folder: %w", err)
	}
	scratch, err := os.MkdirTemp(base, "job-")
	if err != nil {
		return core.E(core.Unavailable, "the sandbox's folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }() // the next start removes what is left
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return core.E(core.Unavailable, "the sandbox's folder: %w", err)
	}
	if p := c.job.Project; p != nil { // the profile is about true paths
		real, err := filepath.EvalSymlinks(p.Path)
		if err != nil {
			return core.E(core.Invalid, "the project %s is no folder: %w", p.Path, err)
		}
		own := *p
		own.Path, c.job.Project = real, &own
	}
	policy, env := seatbeltOf(&c.job, scratch)
	profile, err := policy.profile()
	if err != nil {
		return err
	}
	if c.job.Dir == "" && c.job.Project == nil {
		c.job.Dir = scratch
	}
	c.job.Env, c.job.Argv = env, append([]string{seatbeltProgram, "-p", profile, "--"}, c.job.Argv...)
	if err := c.unconfined(ctx); err != nil {
		return err
	}
	c.result.Layers = []string{"seatbelt"}
	return nil
}

// partial is what the system's sandbox lacks.
const partial = "files and the network are closed by the system's sandbox; memory, processes and what a program leaves running are " +
	"not bounded, and no host can be opened"

// Probe runs a program that does nothing through the whole chain.
func (l *Local) Probe(ctx context.Context) Report {
	if l.cfg.Mode == Off {
		return Report{Level: LevelOff, Detail: "the configuration turns it off: programs can do whatever the person can"}
	}
	result, err := l.Run(ctx, core.Job{Profile: core.JobTool, Argv: []string{"/usr/bin/true"}, Env: []string{"PATH=/usr/bin:/bin"}})
	switch {
	case err != nil:
		return Report{Level: LevelNone, Detail: err.Error(), Fix: core.HintOf(err)}
	case result.Ended != core.JobExited || result.ExitCode != 0:
		why := "a program that does nothing failed under the system's sandbox: " + string(result.Stderr.Kept)
		return Report{Level: LevelNone, Detail: why}
	}
	return Report{Level: LevelPartial, Layers: result.Layers, Detail: partial}
}

// systemLevel is what a machine has.
const systemLevel = LevelPartial

// reduced is what there is: nothing can be left out.
func (c *call) reduced(ctx context.Context, l *Local) error { return c.confined(ctx, l) }
