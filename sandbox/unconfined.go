package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"loci/core"
	"loci/sandbox/frame"
)

// lastWords is how long the outputs of a job that has ended are still read. They end with its last process, unless the job
// gave one to a process that isn't its own.
const lastWords = time.Second

// unconfined runs the job as the person would: only its time and its outputs are bounded.
func (c *call) unconfined(ctx context.Context) error {
	dir := c.job.Dir
	if dir == "" && c.job.Project != nil {
		dir = c.job.Project.Path
	}
	program := frame.FindProgram(c.job.Argv[0], c.job.Env)
	if program == "" {
		return core.E(core.NotFound, "there is no program %q", c.job.Argv[0])
	}
	line := c.job.Uncaged || c.job.Profile == core.JobShell // it ends with what it started
	if line && adopts() {
		return c.adopted(ctx, dir)
	}
	cmd := exec.CommandContext(ctx, program, c.job.Argv[1:]...)
	cmd.Args = c.job.Argv
	cmd.Dir, cmd.Env, cmd.Stdin = dir, c.job.Env, bytes.NewReader(c.job.Stdin)
	if cmd.Env == nil {
		cmd.Env = []string{} // inherits nothing
	}
	cmd.Stdout, cmd.Stderr = &writer{c.out, &c.result.Stdout}, &writer{c.out, &c.result.Stderr}
	cmd.WaitDelay = lastWords
	ownGroup(cmd)
	runtime.LockOSThread() // the kernel ends the program with this thread
	defer runtime.UnlockOSThread()
	endWithUs(cmd)
	err := c.runWithChannel(ctx, cmd)
	if line {
		endGroup(cmd)
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && (cmd.ProcessState == nil || !cmd.ProcessState.Success()):
		c.result.Ended, _ = why(ctx)
	case err == nil, errors.Is(err, exec.ErrWaitDelay), errors.As(err, &exit):
		c.result.Ended, c.result.ExitCode = core.JobExited, cmd.ProcessState.ExitCode()
		if signal := signalOf(cmd.ProcessState); signal != "" {
			c.result.Ended, c.result.Signal = core.JobSignalled, signal
		}
	case errors.Is(err, os.ErrNotExist):
		return core.E(core.NotFound, "there is no program %q", c.job.Argv[0])
	default:
		return core.E(core.Invalid, "start %s: %w", c.job.Argv[0], err)
	}
	return nil
}

// runWithChannel runs a program, with the channel of the job if it has one.
func (c *call) runWithChannel(ctx context.Context, cmd *exec.Cmd) error {
	if c.job.Channel == nil {
		return cmd.Run()
	}
	ours, theirs, err := channelPair()
	if err != nil {
		return core.E(core.Unavailable, "open what the program talks through: %w", err)
	}
	cmd.ExtraFiles = []*os.File{theirs}
	err = cmd.Start()
	_ = theirs.Close() // the program has its own
	if err != nil {
		_ = ours.Close() // nobody listens
		return err
	}
	talking, ended := context.WithCancel(ctx)
	defer ended()
	var work sync.WaitGroup
	work.Go(func() { c.talk(talking, ours) })
	err = cmd.Wait()
	ended()
	_ = ours.SetDeadline(time.Now().Add(lastWords)) // what the program said at last is still read
	work.Wait()
	return err
}

// talk lets the daemon's side use the channel, and closes it then.
func (c *call) talk(ctx context.Context, channel io.ReadWriteCloser) {
	defer func() { _ = channel.Close() }() // all was said
	c.job.Channel(ctx, patient(channel))
}

// writer takes one output as a program's own.
type writer struct {
	out *outputs
	to  *core.JobOutput
}

func (w *writer) Write(p []byte) (int, error) {
	w.out.take(p, w.to)
	return len(p), nil
}
