// Package sandboxtest tries to get out of a sandbox. Every attempt runs twice, against canaries made for it: first with what
// answers it left out, where it has to succeed, or else it proves nothing; then in the whole sandbox, which has to contain it.
package sandboxtest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
)

// escaped is what an attempt prints once it has seen that it succeeded.
const escaped = "ESCAPED"

// Attempt is one way out. Its program finds the canaries in its variables: SECRET is a file of the machine, OUTSIDE its folder,
// PID a process of the machine, SUPERVISOR the one that watches the job, PORT a server on loopback, UDP another, SOCKET and
// ABSTRACT Unix sockets, MARK a word of its own, BESIDE a folder beside the project. Meanwhile is done outside once it says READY.
type Attempt struct {
	Class, Name string
	Argv        []string
	Then        []string        // a second job, which shows whether the first succeeded
	Job         func(*core.Job) // what the job has in addition
	Survives    bool            // it succeeds if a process called "sleep MARK" is left
	Stays       string          // it succeeds if this file of the project holds MARK afterwards
	Meanwhile   func(project string)

	// What answers it: layers of the sandbox, or something of the job that Free takes away. Neither: the sandbox as a whole.
	Without []string
	Free    func(*core.Job)
}

// Sandboxes are what attempts run in.
type Sandboxes struct {
	Whole   core.Sandbox
	Without func(layers []string) core.Sandbox
	None    core.Sandbox
}

// Run makes every attempt.
func Run(t *testing.T, in Sandboxes) {
	t.Helper()
	classes := map[string]int{}
	for _, a := range attempts() {
		classes[a.Class]++
		t.Run(a.Class+"/"+a.Name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(a.Argv[0]); err != nil {
				t.Skip(a.Argv[0] + " is not installed")
			}
			if raced && a.Class == "memory" {
				t.Skip("with the race detector, the first process of a sandbox alone has more memory than these attempts may take")
			}
			a.control(t, in)
			if t.Failed() {
				return
			}
			if got, out := a.try(t, in.Whole, nil, true); got {
				t.Errorf("it got out: %s", out)
			}
		})
	}
	if len(classes) != 12 {
		t.Errorf("there are %d classes: %v", len(classes), classes)
	}
	for class, n := range classes {
		if n < 5 {
			t.Errorf("%s has only %d attempts", class, n)
		}
	}
}

// Contains makes every attempt in one sandbox alone. That they succeed where nothing answers them is for Run to see.
func Contains(t *testing.T, box core.Sandbox, but ...string) {
	t.Helper()
	for _, a := range attempts() {
		name := a.Class + "/" + a.Name
		if slices.Contains(but, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(a.Argv[0]); err != nil {
				t.Skip(a.Argv[0] + " is not installed")
			}
			if raced && a.Class == "memory" {
				t.Skip("with the race detector, processes of ours have more memory than these attempts may take")
			}
			if got, out := a.try(t, box, nil, true); got {
				t.Errorf("it got out: %s", out)
			}
		})
	}
}

// control makes an attempt where nothing answers it.
func (a *Attempt) control(t *testing.T, in Sandboxes) {
	t.Helper()
	box, inside := in.None, false
	if a.Free != nil {
		box, inside = in.Whole, true
	}
	if a.Without != nil {
		box, inside = in.Without(a.Without), true
	}
	if got, out := a.try(t, box, a.Free, inside); !got {
		t.Errorf("it proves nothing, since it fails even where nothing answers it: %s", out)
	}
}

// try makes an attempt once and reports whether it succeeded.
func (a *Attempt) try(t *testing.T, box core.Sandbox, free func(*core.Job), inside bool) (bool, string) {
	t.Helper()
	m := newMachine(t)
	job := m.job(inside)
	if a.Job != nil {
		a.Job(&job)
	}
	if free != nil {
		free(&job)
	}
	var said strings.Builder
	for _, argv := range [][]string{a.Argv, a.Then} {
		if argv == nil {
			continue
		}
		job.Argv = argv
		r, err := a.run(t, box, job)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&said, "%s %d%s: %s%s\n", r.Ended, r.ExitCode, r.Signal, r.Stdout.Kept, r.Stderr.Kept)
	}
	if a.Stays != "" {
		text, err := os.ReadFile(filepath.Join(m.project, a.Stays))
		return err == nil && bytes.Contains(text, []byte(m.mark)), said.String()
	}
	if a.Survives {
		left := processes(t, m.mark)
		for _, p := range left {
			_ = p.Kill() // it may have ended since
		}
		return len(left) > 0, said.String()
	}
	return strings.Contains(said.String(), escaped), said.String()
}

// run runs a job of an attempt. Once it says READY, what a person would do outside at that moment is done.
func (a *Attempt) run(t *testing.T, box core.Sandbox, job core.Job) (core.JobResult, error) {
	t.Helper()
	if a.Meanwhile == nil {
		return box.Run(t.Context(), job)
	}
	ready := make(ready, 1)
	job.Live = ready
	var outside sync.WaitGroup
	outside.Go(func() {
		if <-ready {
			a.Meanwhile(job.Project.Path)
		}
	})
	r, err := box.Run(t.Context(), job)
	ready.say(false)
	outside.Wait()
	return r, err
}

// ready hears when a job says that it is.
type ready chan bool

func (r ready) Write(piece []byte) (int, error) {
	if bytes.Contains(piece, []byte("READY")) {
		r.say(true)
	}
	return len(piece), nil
}

func (r ready) say(is bool) {
	select {
	case r <- is:
	default: // it was said
	}
}

// machine is what an attempt tries to reach.
type machine struct {
	dir, project string
	mark         string
	canary       *exec.Cmd
	env          []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{dir: dir, project: filepath.Join(dir, "project"), mark: "7" + strconv.FormatInt(time.Now().UnixNano(), 10)}
	outside := filepath.Join(dir, "outside")
	for name, text := range map[string]string{
		filepath.Join(outside, "secret"): "canary\n", filepath.Join(m.project, ".env"): "canary\n",
		filepath.Join(m.project, "file"): "text\n", filepath.Join(outside, "home/x"): "",
		filepath.Join(dir, "beside/.env"): "canary\n", filepath.Join(dir, "beside/file"): "text\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.canary = exec.CommandContext(t.Context(), "sleep", "600")
	m.canary.Env, m.canary.Dir = []string{"LOCI_CANARY=1"}, outside
	if err := m.canary.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = m.canary.Process.Kill() // an attempt may have ended it
		_ = m.canary.Wait()
	})
	m.env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "SECRET=" + filepath.Join(outside, "secret"), "OUTSIDE=" + outside,
		"MARK=" + m.mark, "BESIDE=" + filepath.Join(dir, "beside"),
		"PID=" + strconv.Itoa(m.canary.Process.Pid), "PORT=" + m.listen(t, "tcp", "127.0.0.1:0"), "UDP=" + m.echo(t),
		"SOCKET=" + m.listen(t, "unix", short(t)), "ABSTRACT=" + m.listen(t, "unix", "@loci-canary-"+m.mark),
		"GIT_CONFIG_GLOBAL=/dev/null",
	}
	m.repository(t, m.project)
	m.repository(t, filepath.Join(dir, "beside"))
	if err := os.Symlink(outside, filepath.Join(dir, "beside/link")); err != nil {
		t.Fatal(err)
	}
	return m
}

// short is a path for a socket: those of test folders can be too long.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lc") //nolint:usetesting // the test's own folder has too long a name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// repository makes a folder one of git's, with what git itself would leave there.
func (m *machine) repository(t *testing.T, dir string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is needed: a class of attempts is about it")
	}
	cmd := exec.CommandContext(t.Context(), "git", "init", "-q", dir)
	cmd.Env = append([]string{"HOME=" + m.dir}, m.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	hook := filepath.Join(dir, ".git/hooks/commit-msg")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// listen answers everyone who connects with the canary.
func (m *machine) listen(t *testing.T, network, address string) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var open sync.WaitGroup
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { tell(c) })
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done; open.Wait() })
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		return strconv.Itoa(tcp.Port)
	}
	return strings.TrimPrefix(address, "@")
}

// tell says the canary and hears whoever asked out: closed over unread words, the connection would be reset.
func tell(c net.Conn) {
	defer func() { _ = c.Close() }()                     // all was said
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))  // who asked may stay
	_, _ = c.Write([]byte("canary\n"))                   // or be gone
	_ = c.(interface{ CloseWrite() error }).CloseWrite() // likewise
	_, _ = io.Copy(io.Discard, c)                        // likewise
}

// echo answers every packet with the canary.
func (m *machine) echo(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	c, err := lc.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			_, from, err := c.ReadFrom(make([]byte, 64))
			if err != nil {
				return
			}
			_, _ = c.WriteTo([]byte("canary"), from) // likewise
		}
	}()
	t.Cleanup(func() { _ = c.Close(); <-done })
	_, port, _ := net.SplitHostPort(c.LocalAddr().String())
	return port
}

// job is a job in the machine's project.
func (m *machine) job(inside bool) core.Job {
	home, supervisor := core.SandboxHome, "1"
	if !inside {
		home, supervisor = filepath.Join(m.dir, "outside/home"), strconv.Itoa(m.canary.Process.Pid)
	}
	return core.Job{
		Profile: core.JobTool,
		Env:     append(slices.Clone(m.env), "HOME="+home, "SUPERVISOR="+supervisor),
		Project: &core.JobProject{Path: m.project, Writable: true},
		Limits:  core.JobLimits{Wall: time.Minute},
	}
}

// processes finds what an attempt left running.
func processes(t *testing.T, mark string) []*os.Process {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []*os.Process
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || !bytes.Equal(text, []byte("sleep\x00"+mark+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := os.FindProcess(pid); err == nil {
			found = append(found, p)
		}
	}
	return found
}
