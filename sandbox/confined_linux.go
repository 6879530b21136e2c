package sandbox

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"loci/core"
	"loci/sandbox/egress"
	"loci/sandbox/frame"
)

// lent is what a sandbox gets, and our ends of it.
type lent struct {
	control      *net.UnixConn
	in, out, err *os.File
	channel      *net.UnixConn // nil: the job has none
	theirs       []*os.File
}

// confined runs the job in a sandbox of its own.
func (c *call) confined(ctx context.Context, l *Local) error {
	began := time.Now()
	p, err := prepare(c.job, l.cfg.Scratch)
	if err != nil {
		return err
	}
	p.spec.Without = slices.Concat(l.without, c.leaves)
	defer p.clean()
	v, err := l.backend.sentry.guard(p.covered, func(path string) { c.stop(bared(path)) })
	if err != nil {
		return err
	}
	defer func() { v.end() }()              // at the latest
	if err := p.copyConfigs(); err != nil { // as they are from now on
		return err
	}
	launcher, err := l.backend.current()
	if err != nil {
		return core.E(core.Unavailable, "start the launcher of sandboxes: %w", err).WithHint("loci doctor says more")
	}
	files, err := lend(c.job.Channel != nil)
	if err != nil {
		return core.E(core.Unavailable, "open what a sandbox needs: %w", err).WithHint("the daemon may have too many files open")
	}
	defer files.close()
	s, err := launcher.begin(ctx, p.who, files.theirs...)
	frame.Close(files.theirs...)
	switch {
	case err != nil && ctx.Err() != nil: // stopped before it began
		c.result.Ended, c.result.Bared = why(ctx)
		return nil
	case err != nil:
		return err
	case s.failed != nil:
		return c.refused(s.failed)
	}
	defer frame.Close(s.pidfd)
	return c.follow(ctx, l, p, v, files, s, began)
}

// follow accompanies a job to its end. When it returns, no process of the job is left.
func (c *call) follow(ctx context.Context, l *Local, p *plan, v *vigil, files *lent, s started, began time.Time) error {
	pidfd, killed := int(s.pidfd.Fd()), make(chan struct{})
	goesOn := context.AfterFunc(ctx, func() {
		defer close(killed)
		kill(pidfd)
	})
	var work sync.WaitGroup
	work.Go(func() { c.out.drain(&late{from: files.out}, &c.result.Stdout) })
	work.Go(func() { c.out.drain(&late{from: files.err}, &c.result.Stderr) })
	work.Go(func() { feed(files.in, c.job.Stdin) })
	watching, stopWatching := context.WithCancel(ctx)
	work.Go(func() { c.watch(watching, s.pid, p.disks()) })

	var network *egress.Egress
	var fault error
	status, err := converse(files.control, p.spec, func(layers []string, sockets []*os.File) error {
		c.result.Layers, c.result.Setup = layers, time.Since(began)
		if files.channel != nil {
			work.Go(func() { c.talk(watching, files.channel) })
		}
		if n := c.job.Network; n != nil {
			network, fault = egress.Start(egress.Config{
				Allows: n.Allows, Ask: n.Ask, Outside: l.cfg.outside(), Bytes: c.job.Limits.Traffic, Local: n.Local, Ours: l.cfg.Ours,
				Reached: n.Reached, Listens: n.Listens, Opened: n.Opened, Listening: func() []uint16 { return listening(s.pid) },
			}, sockets)
		}
		return fault
	})
	if err != nil { // it was ended, or it failed in a way that it could not tell
		kill(pidfd)
	}
	awaitEnd(pidfd)
	if network != nil {
		c.result.Refused = network.Close()
	}
	stopWatching()
	stoppedByUs := !goesOn()
	if stoppedByUs {
		<-killed // only then may the descriptor be closed
	}
	files.end()
	work.Wait()
	touched := v.end()
	c.result.Changed = p.changed()
	if p.writable {
		c.result.Settings, c.result.Allow = append(p.settle(touched), p.takeAway()...), p.allow
	}
	if stoppedByUs {
		c.result.Ended, c.result.Bared = why(ctx)
		return nil
	}
	return c.ending(status, fault)
}

// ending says how a job ended that nobody stopped.
func (c *call) ending(status frame.Status, fault error) error {
	switch {
	case fault != nil:
		return core.E(core.Unavailable, "open the sandbox's network: %w", fault).WithHint("the daemon may have too many files open")
	case status.Failed != nil:
		return c.refused(status.Failed)
	case status.Ended == nil && c.result.Setup == 0:
		return core.E(core.Unavailable, "the sandbox ended before the program began").WithHint("try again; loci doctor says more")
	case status.Ended == nil:
		c.result.Ended = core.JobKilled
	case status.Ended.Signal != 0:
		c.result.Ended, c.result.Signal = core.JobSignalled, unix.SignalName(syscall.Signal(status.Ended.Signal))
	default:
		c.result.Ended, c.result.ExitCode = core.JobExited, status.Ended.Code
	}
	return nil
}

// converse tells a sandbox what to run and returns the last that it says.
func converse(
	control *net.UnixConn, spec frame.Spec, runs func(layers []string, sockets []*os.File) error,
) (frame.Status, error) {
	var status frame.Status
	if err := frame.Write(control, spec); err != nil {
		return status, err
	}
	sockets, err := frame.ReadWith(control, &status)
	if err != nil || status.Failed != nil {
		return status, err
	}
	if err := runs(status.Layers, sockets); err != nil {
		return frame.Status{}, err
	}
	var ended frame.Status
	err = frame.Read(control, &ended)
	return ended, err
}

// feed writes the job's input and closes it.
func feed(to *os.File, text []byte) {
	_, _ = to.Write(text) // a job may leave its input unread
	_ = to.Close()        // follow may have closed it
}

// lend opens what goes into a sandbox.
func lend(channel bool) (*lent, error) {
	l := &lent{}
	ours, theirs, err := frame.Pair(unix.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	l.theirs = append(l.theirs, theirs)
	if l.control, err = frame.Conn(ours); err != nil {
		l.close()
		return nil, err
	}
	stdin, in, err := os.Pipe()
	if err != nil {
		l.close()
		return nil, err
	}
	l.in, l.theirs = in, append(l.theirs, stdin)
	for _, to := range []**os.File{&l.out, &l.err} {
		read, write, err := os.Pipe()
		if err != nil {
			l.close()
			return nil, err
		}
		*to, l.theirs = read, append(l.theirs, write)
	}
	if channel {
		ours, theirs, err := frame.Pair(unix.SOCK_STREAM)
		if err != nil {
			l.close()
			return nil, err
		}
		l.theirs = append(l.theirs, theirs)
		if l.channel, err = frame.Conn(ours); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

// end is said when the job has ended: what it wrote at last is still read, and nothing waits for more.
func (l *lent) end() {
	late := time.Now().Add(lastWords)
	for _, f := range []*os.File{l.out, l.err} {
		_ = f.SetReadDeadline(late) // pipes have deadlines
	}
	if l.channel != nil {
		_ = l.channel.SetDeadline(late) // likewise
	}
	_ = l.in.Close() // whatever of it was not read stays unread
}

func (l *lent) close() {
	if l.control != nil {
		_ = l.control.Close() // all was said
	}
	if l.channel != nil {
		_ = l.channel.Close() // likewise
	}
	frame.Close(l.in, l.out, l.err)
	frame.Close(l.theirs...)
}

// refused says which step failed, and what helps.
func (c *call) refused(f *frame.Fault) error {
	program := c.job.Argv[0]
	errno := syscall.Errno(f.Errno)
	switch {
	case f.Step == "program", f.Step == "start" && errors.Is(errno, syscall.ENOENT):
		return core.E(core.NotFound, "there is no program %q in the sandbox", program).
			WithHint("programs of the system are there, and what is mounted")
	case f.Step == "folder":
		return core.E(core.NotFound, "the job's folder is not in the sandbox: %s", f.Text).WithHint("only what is mounted is there")
	case f.Step == "start":
		return core.E(core.Invalid, "%s can't be started: %s", program, f.Text)
	case f.Step == "mounts":
		return core.E(core.Invalid, "the sandbox can't show the job its folders: %s", f.Text)
	}
	c.lacks = f.Step
	return core.E(core.Unavailable, "this machine can't confine programs: %s: %s", f.Step, f.Text).WithHint("%s", hint(f))
}

// machineMemory is how much memory the machine has.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 1 << 30 // it never fails
	}
	return int64(info.Totalram) * int64(info.Unit)
}
