package sandbox

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"loci/core"
	"loci/sandbox/frame"
	"loci/sandbox/stage"
)

// reduced runs a job with the layers that this machine can have, as a person chose. What it lacks is found by trying all, and
// remembered for a while. Without Landlock and without namespaces, nothing would keep a job from any file: then it is refused here, too.
func (c *call) reduced(ctx context.Context, l *Local) error {
	for {
		lacks := l.lacking()
		c.leaves, c.lacks = lacks.layers, ""
		if lacks.namespaces {
			return c.restricted(ctx, l)
		}
		err := c.confined(ctx, l)
		if c.lacks == "" {
			c.named()
			return err
		}
		l.mu.Lock()
		l.lacks = l.lacks.with(c.lacks)
		l.mu.Unlock()
	}
}

// with adds a step that the machine can't do.
func (k lacking) with(step string) lacking {
	k.until = time.Now().Add(lackFor)
	switch {
	case step != frame.LayerLandlock && step != frame.LayerSeccomp:
		k.namespaces = true
	case !slices.Contains(k.layers, step): // else another job has found it meanwhile
		k.layers = append(slices.Clip(k.layers), step)
	}
	return k
}

// named says in the result what is missing.
func (c *call) named() {
	if len(c.leaves) > 0 && len(c.result.Layers) > 0 {
		c.result.Layers = append([]string{"reduced: no " + strings.Join(c.leaves, ", no ")}, c.result.Layers...)
	}
}

// restricted runs the job in the machine's own namespaces, where Landlock and the filter of system calls are all that holds it.
func (c *call) restricted(ctx context.Context, l *Local) error {
	if len(c.leaves) > 0 {
		return core.E(core.Unavailable, "this machine has neither namespaces nor %s, and nothing would confine a program", c.leaves[0]).
			WithHint("loci doctor says what helps; or, to run programs unconfined, sandbox = \"off\" in the configuration")
	}
	began := time.Now()
	p, err := prepare(c.job, l.cfg.Scratch)
	if err != nil {
		return err
	}
	defer p.clean()
	if p.spec.Scratch == "" {
		if err := p.makeScratch(cmp.Or(l.cfg.Scratch, os.TempDir())); err != nil {
			return err
		}
	}
	if err := p.grant(&c.job); err != nil {
		return err
	}
	kept, err := p.keepActed()
	if err != nil {
		return err
	}
	defer kept.close()
	v, err := l.backend.sentry.guard(p.covered, func(path string) { c.stop(bared(path)) })
	if err != nil {
		return err
	}
	defer func() { v.end() }()
	files, err := lend(c.job.Channel != nil)
	if err != nil {
		return core.E(core.Unavailable, "open what a sandbox needs: %w", err).WithHint("the daemon may have too many files open")
	}
	defer files.close()
	cmd, err := startBeside(files.theirs)
	frame.Close(files.theirs...)
	if err != nil {
		return core.E(core.Unavailable, "start the sandbox: %w", err).WithHint("loci doctor says more")
	}
	status, stopped := c.accompany(ctx, p.spec, files, cmd, began, func(ctx context.Context) { c.watch(ctx, cmd.Process.Pid, p.disks()) })
	v.end()
	c.result.Changed = append(kept.restore(), p.changed()...)
	if stopped {
		c.result.Ended, c.result.Bared = why(ctx)
		return nil
	}
	return c.ending(status, nil)
}

// startBeside starts this program as the first process of a job without namespaces. It is in the daemon's namespaces, so that the
// daemon can start it: without new ones, no memory is copied.
func startBeside(theirs []*os.File) (*exec.Cmd, error) {
	if !stage.Able() {
		return nil, os.ErrInvalid
	}
	cmd := exec.Command("/proc/self/exe", frame.ReduceCommand) //nolint:noctx // it ends with its socket
	cmd.Args[0], cmd.Env, cmd.Dir, cmd.ExtraFiles = "loci", []string{}, "/", append(theirs[:1:1], theirs[4:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[1], theirs[2], theirs[3]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}

// accompany follows such a job to its end, and reports whether it was stopped. When it returns, no process of the job is left.
func (c *call) accompany(
	ctx context.Context, spec frame.Spec, files *lent, cmd *exec.Cmd, began time.Time, watch func(context.Context),
) (status frame.Status, stopped bool) {
	goesOn := context.AfterFunc(ctx, func() { _ = files.control.CloseWrite() }) // at which it ends everything
	var work sync.WaitGroup
	work.Go(func() { c.out.drain(&late{from: files.out}, &c.result.Stdout) })
	work.Go(func() { c.out.drain(&late{from: files.err}, &c.result.Stderr) })
	work.Go(func() { feed(files.in, c.job.Stdin) })
	watching, stopWatching := context.WithCancel(ctx)
	work.Go(func() { watch(watching) })
	status, _ = converse(files.control, spec, func(layers []string, sockets []*os.File) error { // its fault is that nothing is said
		frame.Close(sockets...)
		c.result.Layers, c.result.Setup = layers, time.Since(began)
		if files.channel != nil {
			work.Go(func() { c.talk(watching, files.channel) })
		}
		return nil
	})
	_ = files.control.CloseWrite() // it may have ended
	_ = cmd.Wait()                 // how it ended changes nothing
	stopWatching()
	files.end()
	work.Wait()
	return status, !goesOn()
}

// grant says what the job may do with files. What a mask hides or a rule keeps is left out of what is granted, which can only be
// done by granting what is beside it: what appears there meanwhile is out of reach, too.
func (p *plan) grant(job *core.Job) error {
	s := &p.spec
	home := filepath.Join(s.Scratch, "home")
	s.Reduced, s.Channel, s.Network, s.Unix = true, job.Channel != nil, nil, false
	g := &granting{}
	g.folder(s.Scratch, nil, nil, true)
	places := []string{core.SandboxHome, home}
	for _, m := range job.Mounts {
		source, err := resolve(m.Source)
		if err != nil {
			return err
		}
		g.folder(source, m.Masked, nil, m.Writable)
		if m.Target != "" && m.Target != m.Source {
			places = append([]string{m.Target, source}, places...) // deeper ones come first
		}
	}
	projects := slices.Clone(job.Beside)
	if job.Project != nil {
		projects = append(projects, *job.Project)
	}
	for _, in := range projects {
		path, err := resolve(in.Path)
		if err != nil {
			return err
		}
		g.folder(path, in.Masked, slices.Concat(in.ReadOnly, ours), in.Writable)
	}
	if p.project != nil {
		for _, dir := range p.project.git {
			if !strings.HasPrefix(dir, p.project.path+"/") {
				g.folder(dir, nil, nil, p.writable)
			}
		}
	}
	if g.err != nil {
		return g.err
	}
	s.Grants, s.Binds = g.all, nil
	s.Env = nil
	for _, v := range job.Env {
		name, value, _ := strings.Cut(v, "=")
		s.Env = append(s.Env, name+"="+relocated(value, places))
	}
	s.Env = append(s.Env, "TMPDIR="+filepath.Join(s.Scratch, "tmp"))
	if s.Dir == core.SandboxHome {
		s.Dir = home
	}
	for i, word := range s.Argv {
		s.Argv[i] = relocated(word, places)
	}
	return nil
}

// mostGrants bounds how many files and folders are named.
const mostGrants = 20_000

type granting struct {
	all []frame.Grant
	err error
}

// folder grants a folder but for some paths in it.
func (g *granting) folder(dir string, masked, readOnly []string, writable bool) {
	join := func(names []string) (out []string) {
		for _, name := range names {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if _, err := os.Lstat(path); err == nil {
				out = append(out, path)
			}
		}
		return out
	}
	hidden := join(masked)
	kept := slices.Concat(hidden, join(readOnly))
	if !writable {
		kept = []string{dir}
	}
	g.walk(dir, hidden, kept)
}

// walk grants what a path may be used for: as a whole where nothing in it is closed, else piece by piece.
func (g *granting) walk(path string, hidden, kept []string) {
	within := func(closed []string) (self, inside bool) {
		for _, c := range closed {
			self = self || c == path || strings.HasPrefix(path, c+"/")
			inside = inside || strings.HasPrefix(c, path+"/")
		}
		return self, inside
	}
	unseen, unseenIn := within(hidden)
	unchanged, unchangedIn := within(kept)
	grant := frame.Grant{Path: path, List: true, Read: !unseen && !unseenIn, Write: !unchanged && !unchangedIn}
	switch {
	case unseen:
		return
	case len(g.all) >= mostGrants:
		g.err = core.E(core.TooLarge, "too many files lie beside those that rules of permission close in %s", path).
			WithHint("a rule about the folder around them counts as one")
		return
	}
	g.all = append(g.all, grant)
	if !unseenIn && !unchangedIn {
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return // what can't be listed can't be granted
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 { // where a link leads is granted there, or not at all
			g.walk(filepath.Join(path, e.Name()), hidden, kept)
		}
	}
}
