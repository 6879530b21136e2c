package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/core"
	"loci/tools/internal/authorities"
)

// Bounds of a server that is a program.
const (
	mostMemory    = 1 << 30
	mostProcesses = 256
	mostFiles     = 1024
	mostOutput    = 64 << 10
	longest       = 24 * time.Hour // then it starts anew
)

// link is the way to a server.
type link struct {
	transport mcp.Transport
	client    *mcp.ClientSession // once it is connected
	program   *program           // nil: it has an address
	unused    func()             // closes connections that nobody uses; nil: there are none
}

// close ends the connection, and the program with it.
func (l *link) close() {
	if l == nil {
		return
	}
	if l.program != nil {
		l.program.hangUp()
		<-l.program.ended
	}
	if l.client != nil {
		_ = l.client.Close() // nothing is asked of it any more
	}
	if l.unused != nil {
		l.unused()
	}
}

// ended says how the program of a server ended, if it does so now; empty: it didn't.
func (l *link) ended(within time.Duration) string {
	if l == nil || l.program == nil {
		return ""
	}
	if within > 0 {
		select {
		case <-l.program.ended:
		case <-time.After(within):
		}
	}
	select {
	case <-l.program.ended:
		return l.program.how()
	default:
		return ""
	}
}

// program is a server that runs in a sandbox.
type program struct {
	stream  chan io.ReadWriter
	hung    chan struct{}
	hangUp  func()
	ended   chan struct{}
	result  core.JobResult // once it has ended
	refused error
}

// start runs a program whose standard input and output are the stream that the sandbox gives it.
func (s *session) start() (*link, error) {
	box := s.m.cfg.Sandbox
	if box == nil {
		return nil, core.E(core.Unsupported, "there is no sandbox here, so the server %s is not started", s.to.Server.Name)
	}
	job, err := s.job()
	if err != nil {
		return nil, err
	}
	p := &program{stream: make(chan io.ReadWriter, 1), hung: make(chan struct{}), ended: make(chan struct{})}
	p.hangUp = sync.OnceFunc(func() { close(p.hung) })
	job.Live = s.log
	job.Channel = func(ctx context.Context, stream io.ReadWriter) {
		p.stream <- stream
		select {
		case <-p.hung:
		case <-ctx.Done():
		}
	}
	// A program that was hung up on gets a moment to end by itself.
	ctx, kill := context.WithCancel(context.WithoutCancel(s.ctx))
	s.m.owned.Go(func() {
		defer kill()
		defer close(p.ended)
		p.result, p.refused = box.Run(ctx, job)
	})
	s.m.owned.Go(func() {
		select {
		case <-s.ctx.Done():
		case <-p.hung:
		case <-p.ended:
			return
		}
		p.hangUp()
		select {
		case <-p.ended:
		case <-time.After(s.m.cfg.Times.Grace):
			kill()
		}
	})
	l := &link{program: p}
	select {
	case stream := <-p.stream:
		w := writing{to: stream, within: s.m.cfg.Times.Grace, hangUp: p.hangUp, stop: s.stop}
		l.transport = &mcp.IOTransport{Reader: reading{s.messages(stream), p.hangUp}, Writer: w, MaxLineLength: mostMessage}
		return l, nil
	case <-p.ended:
		if p.refused != nil {
			return l, p.refused
		}
		return l, s.withLog(core.E(core.Unavailable, "the server %s %s", s.to.Server.Name, p.how()))
	case <-s.ctx.Done():
		return l, context.Cause(s.ctx)
	}
}

// reading is what a program says.
type reading struct {
	io.Reader
	hangUp func()
}

func (r reading) Close() error { r.hangUp(); return nil }

// writing is what a program is told. One that does not read it in time is ended.
type writing struct {
	to     io.Writer
	within time.Duration
	hangUp func()
	stop   context.CancelCauseFunc
}

var errUnread = core.E(core.Unavailable, "the server does not read what it is told, and was ended")

func (w writing) Write(p []byte) (int, error) {
	if limited, ok := w.to.(interface{ SetWriteDeadline(at time.Time) error }); ok {
		_ = limited.SetWriteDeadline(time.Now().Add(w.within)) // if it can't be, the call's own time ends it
	}
	n, err := w.to.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.stop(errUnread)
		return n, errUnread
	}
	return n, err
}

func (w writing) Close() error { w.hangUp(); return nil }

// how says how a program ended.
func (p *program) how() string {
	if p.refused != nil {
		return "was not started: " + p.refused.Error()
	}
	switch p.result.Ended {
	case core.JobExited:
		return fmt.Sprintf("ended with the code %d", p.result.ExitCode)
	case core.JobSignalled:
		return "was ended by the signal " + p.result.Signal
	case core.JobTimedOut:
		return "ran for a day and was ended"
	case core.JobCancelled:
		return "was ended"
	case core.JobOverMemory:
		return "took too much memory and was ended"
	case core.JobOverProcesses:
		return "started too many processes and was ended"
	case core.JobOverOutput:
		return "wrote too much and was ended"
	case core.JobOverDisk, core.JobUncovered, core.JobKilled:
	}
	return "was killed from outside: the machine may be out of memory"
}

// systemPath is where programs of the system are, which every sandbox has.
const systemPath = "/usr/local/bin:/usr/bin:/bin"

// job is how a server is run.
func (s *session) job() (core.Job, error) {
	server := &s.to.Server
	file, err := s.m.find(server)
	if err != nil {
		return core.Job{}, err
	}
	mounts, path := s.m.mounts(file)
	for _, at := range server.Grants.Read {
		mounts = append(mounts, core.JobMount{Source: at})
	}
	for _, at := range server.Grants.Write {
		mounts = append(mounts, core.JobMount{Source: at, Writable: true})
	}
	for _, mount := range mounts {
		if s.m.hides(mount.Source) {
			return core.Job{}, core.E(core.Forbidden, "the server %s may not see %s, which holds what is Loci's own",
				server.Name, mount.Source)
		}
	}
	env := []string{
		"PATH=" + path, "HOME=" + core.SandboxHome, "LANG=C.UTF-8", "TZ=UTC", "TERM=dumb", "NO_COLOR=1", "NODE_NO_WARNINGS=1",
		"NO_UPDATE_NOTIFIER=1", "npm_config_update_notifier=false",
	}
	env = append(env, authorities.Env()...)
	if len(server.Grants.Hosts) > 0 && s.m.cfg.Caches != "" { // what it fetches is kept for its next start
		dir := s.m.cache(server.ID)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return core.Job{}, core.E(core.Unavailable, "the cache folder of %s: %w", server.Name, err)
		}
		mounts = append(mounts, core.JobMount{Source: dir, Target: core.SandboxHome + "/.cache", Writable: true})
		env = append(env, "XDG_CACHE_HOME="+core.SandboxHome+"/.cache", "npm_config_cache="+core.SandboxHome+"/.cache/npm",
			"UV_CACHE_DIR="+core.SandboxHome+"/.cache/uv", "UV_PYTHON_INSTALL_DIR="+core.SandboxHome+"/.cache/python")
	}
	for name, value := range s.to.Secrets.Env {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return core.Job{
		Profile: core.JobTool, Env: env, Mounts: mounts,
		// The stream takes the place of both ends that the protocol is spoken over; what it writes as errors is kept apart.
		Argv:    append([]string{"/bin/sh", "-c", `exec "$@" <&3 >&3 3>&-`, "sh", file}, server.Args...),
		Network: network(server.Grants.Hosts),
		Limits: core.JobLimits{
			Wall: longest, Memory: mostMemory, Processes: mostProcesses, Files: mostFiles, Output: mostOutput,
		},
	}, nil
}

// cache is the folder in which a server keeps what it fetched of itself.
func (m *Manager) cache(id core.MCPServerID) string { return filepath.Join(m.cfg.Caches, string(id)) }

// fetched is the file in a cache that says that its server has started once.
const fetched = ".started"

// installs reports whether a server has yet to fetch itself.
func (s *session) installs() bool {
	if s.to.Server.Transport != core.MCPStdio || len(s.to.Server.Grants.Hosts) == 0 || s.m.cfg.Caches == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(s.m.cache(s.to.Server.ID), fetched))
	return err != nil
}

// installed notes that a server has fetched itself.
func (s *session) installed() {
	if s.installs() {
		_ = os.WriteFile(filepath.Join(s.m.cache(s.to.Server.ID), fetched), nil, 0o600) // else the next start may take as long
	}
}

func network(hosts []string) *core.JobNetwork {
	if len(hosts) == 0 {
		return nil
	}
	return &core.JobNetwork{Allows: func(host string, _ bool) bool {
		return slices.ContainsFunc(hosts, func(one string) bool { return strings.EqualFold(one, host) })
	}}
}

// find returns the program of a server, absolute.
func (m *Manager) find(server *core.MCPServer) (string, error) {
	missing := core.E(core.NotFound, "the server %s can't be started: there is no program %s", server.Name, plain(server.Command, 100)).
		WithHint("install it, or give its path: loci mcp add")
	if strings.Contains(server.Command, "/") {
		file := filepath.Clean(server.Command) // nothing is reached by way of another folder
		granted := slices.ContainsFunc(slices.Concat(server.Grants.Read, server.Grants.Write), func(dir string) bool {
			return within(dir, file)
		})
		if !filepath.IsAbs(file) || !granted && !ofSystem(file) {
			return "", core.E(core.Forbidden, "the server %s may not see its program %s", server.Name, plain(server.Command, 100)).
				WithHint("loci mcp allow %s --read FOLDER", server.Name)
		}
		if !runnable(file) {
			return "", missing
		}
		return file, nil
	}
	for _, dir := range filepath.SplitList(m.cfg.Path + ":" + systemPath) {
		if file := filepath.Join(dir, server.Command); filepath.IsAbs(dir) && runnable(file) {
			return file, nil
		}
	}
	return "", missing
}

func runnable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

func ofSystem(path string) bool {
	return slices.ContainsFunc([]string{"/usr/", "/bin/", "/sbin/", "/lib"}, func(dir string) bool { return strings.HasPrefix(path, dir) })
}

// mounts shows a program that is none of the system's what it is installed with, and returns the path in which it finds others.
func (m *Manager) mounts(file string) ([]core.JobMount, string) {
	real, err := filepath.EvalSymlinks(file)
	if err != nil || ofSystem(file) && ofSystem(real) {
		return nil, systemPath
	}
	path := filepath.Dir(file) + ":" + systemPath
	var mounts []core.JobMount
	for _, one := range []string{file, real} {
		source := one
		if dir := filepath.Dir(one); filepath.Base(dir) == "bin" || filepath.Base(dir) == "shims" {
			source = filepath.Dir(dir)
		}
		if source == "/" || m.cfg.Home != "" && within(source, m.cfg.Home) || filepath.Base(source) == ".local" {
			source = one // somebody's home, or more: of that, the program alone
		}
		if !ofSystem(source+"/") && !slices.ContainsFunc(mounts, func(mount core.JobMount) bool { return within(mount.Source, source) }) {
			mounts = append(mounts, core.JobMount{Source: source})
		}
	}
	return mounts, path
}

// within reports whether a path is the folder, or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// hides reports whether a path holds what no server sees, or lies in it.
func (m *Manager) hides(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) // of what isn't there, the sandbox tells
	}
	return slices.ContainsFunc(m.cfg.Hidden, func(hidden string) bool {
		ours, err := filepath.EvalSymlinks(hidden)
		return err == nil && (within(real, ours) || within(ours, real))
	})
}
