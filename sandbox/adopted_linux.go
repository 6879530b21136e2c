package sandbox

import (
	"cmp"
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"loci/core"
	"loci/sandbox/frame"
	"loci/sandbox/stage"
)

// adopts reports whether a process of ours can be beside a job, which adopts what it leaves.
func adopts() bool { return stage.Able() }

// adopted runs a job that nothing confines with such a process beside it. What the job has started ends with it, or with the daemon,
// also what left its group.
func (c *call) adopted(ctx context.Context, dir string) error {
	began := time.Now()
	files, err := lend(c.job.Channel != nil)
	if err != nil {
		return core.E(core.Unavailable, "open what a program needs: %w", err).WithHint("the daemon may have too many files open")
	}
	defer files.close()
	cmd, err := startBeside(files.theirs)
	frame.Close(files.theirs...)
	if err != nil {
		return core.E(core.Unavailable, "start what looks after a program: %w", err).WithHint("the machine may be short of memory")
	}
	if dir == "" {
		dir, _ = os.Getwd() // else the program begins where this one does
		dir = cmp.Or(dir, "/")
	}
	spec := frame.Spec{Argv: c.job.Argv, Env: c.job.Env, Dir: dir, Channel: c.job.Channel != nil, Free: true}
	status, stopped := c.accompany(ctx, spec, files, cmd, began, func(context.Context) {})
	failed := status.Failed
	switch {
	case stopped:
		c.result.Ended, _ = why(ctx)
		return nil
	case failed == nil:
		return c.ending(status, nil)
	case failed.Step == "folder":
		return core.E(core.NotFound, "the folder %s can't be entered: %s", dir, failed.Text)
	case errors.Is(syscall.Errno(failed.Errno), syscall.ENOENT):
		return core.E(core.NotFound, "there is no program %q", c.job.Argv[0])
	}
	return core.E(core.Invalid, "start %s: %s", c.job.Argv[0], failed.Text)
}
