//go:build linux || darwin

package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"loci/daemon/api"
	"loci/daemon/ipc"
)

// This binary is also the daemon of these tests: started with the word fake-daemon it listens where it is told.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "fake-daemon" {
		if err := fakeDaemon(os.Args[2], os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, `{"time":"2026-01-01T00:00:00Z","level":"ERROR","msg":"a line of the log"}`)
			fmt.Fprintf(os.Stderr, "loci: %v\n  try: put it out\n", err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fakeDaemon holds the home's lock, notes its socket, and writes a line into a file each time it starts.
func fakeDaemon(home, socket, version string) error {
	if version == "broken" {
		return errors.New("the store is on fire")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	lock, err := ipc.TryLock(filepath.Join(home, "loci.lock"))
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }() // held to the end: a lock that nobody refers to is collected, and let go
	if err := lock.Note(socket); err != nil {
		return err
	}
	starts, err := os.OpenFile(filepath.Join(home, "starts"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(starts, version, strings.Join(os.Environ(), " ")); err != nil {
		return err
	}
	listener, err := ipc.Listen(ctx, socket)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	ready := time.Now().Add(20 * time.Millisecond)
	_, busyErr := os.Stat(filepath.Join(home, "busy"))
	_, listen, _ := strings.Cut(version, "-at-")
	mux.HandleFunc("GET "+api.PathStatus, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(api.HeaderVersion, version)
		answer(w, api.Status{PID: os.Getpid(), Version: version, Ready: time.Now().After(ready), Busy: busyErr == nil, Listen: listen})
	})
	mux.HandleFunc("POST "+api.PathShutdown, func(w http.ResponseWriter, _ *http.Request) {
		if busyErr == nil {
			w.WriteHeader(http.StatusConflict)
			return
		}
		stop()
	})
	mux.HandleFunc("POST "+api.PathClients, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(api.HeaderVersion, version)
		answer(w, api.Session{Client: "client-" + version, AgentID: "agent-1", ConversationID: "agent-1", AgentNew: true})
	})
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	<-ctx.Done()
	err = server.Shutdown(context.Background())
	serving.Wait()
	return err
}

// home is a folder with what Ensure needs; whatever daemon runs in it ends with the test.
func home(t *testing.T, version string) (EnsureOptions, string) {
	t.Helper()
	socket := socketIn(t)
	dir := filepath.Dir(filepath.Dir(socket))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := EnsureOptions{
		Exe:     exe,
		Args:    []string{"fake-daemon", dir, socket, version},
		Environ: []string{"GREETING=hello"},
		Socket:  socket,
		Lock: filepath.Join(
			dir,
			"loci.lock",
		),
		StartLock: filepath.Join(dir, "run", "start.lock"),
		Log:       filepath.Join(dir, "state", "daemon.log"),
		Version:   version,
	}
	t.Cleanup(func() { killDaemon(t, o) })
	return o, dir
}

// updated is what a program of another version needs; what it tells is kept.
func updated(o EnsureOptions, dir, version string, told *[]string) EnsureOptions {
	o.Version, o.Args, o.Notify = version, []string{"fake-daemon", dir, o.Socket, version}, func(l string) { *told = append(*told, l) }
	return o
}

// killDaemon ends the daemon as a crash would and waits until its lock is free.
func killDaemon(t *testing.T, o EnsureOptions) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	found, err := o.find(ctx)
	if err != nil {
		return
	}
	if err := syscall.Kill(found.Status.PID, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	lock, err := ipc.WaitLock(ctx, o.Lock)
	if err != nil {
		t.Error(err)
		return
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
}

func starts(t *testing.T, dir string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "starts"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func TestManyCommandsAtOnceStartOneDaemon(t *testing.T) {
	t.Parallel()
	o, dir := home(t, "1")
	var commands sync.WaitGroup
	var mu sync.Mutex
	started, pids := 0, map[int]bool{}
	for range 6 {
		commands.Go(func() {
			got, err := Ensure(t.Context(), o)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || got.Started && !got.Status.Ready { // who finds it takes it as it is: requests wait for it
				t.Errorf("%+v %v", got, err)
			}
			pids[got.Status.PID] = true
			if got.Started {
				started++
			}
		})
	}
	commands.Wait()
	if started != 1 || len(pids) != 1 || len(starts(t, dir)) != 1 {
		t.Errorf("started %d, pids %v, starts %q", started, pids, starts(t, dir))
	}
	if env := starts(t, dir)[0]; env != "1 GREETING=hello" {
		t.Errorf("the daemon's environment is %q", env)
	}
}

func TestADaemonThatWasKilledIsStartedAgainByTheNextCall(t *testing.T) {
	t.Parallel()
	o, dir := home(t, "1")
	c := New(Options{Socket: o.Socket, Version: "1", Ensure: &o})
	defer c.Close()
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	killDaemon(t, o)
	if s, err := c.Status(t.Context()); err != nil || !s.Ready {
		t.Fatalf("%+v %v", s, err)
	}
	if len(starts(t, dir)) != 2 {
		t.Errorf("starts %q", starts(t, dir))
	}
}

func TestAnIdleDaemonOfAnotherVersionIsReplaced(t *testing.T) {
	t.Parallel()
	old, dir := home(t, "1")
	if _, err := Ensure(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	var lines []string
	next := updated(old, dir, "2", &lines)
	c := New(Options{Socket: old.Socket, Version: "2", Ensure: &next})
	defer c.Close()
	session, err := c.Register(t.Context(), api.Client{Kind: api.ClientPrint, Open: &api.Open{Agent: api.OpenNew}})
	if err != nil || session.Client != "client-2" || !session.AgentNew || c.SessionID() != "client-2" {
		t.Errorf("%+v %v", session, err)
	}
	if len(lines) != 1 || len(starts(t, dir)) != 2 {
		t.Errorf("told %q, starts %q", lines, starts(t, dir))
	}
}

func TestAnIdleDaemonOfAnotherVersionIsReplacedByACommandThatOnlyReads(t *testing.T) {
	t.Parallel()
	old, dir := home(t, "1")
	if _, err := Ensure(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	var lines []string
	next := updated(old, dir, "2", &lines)
	c := New(Options{Socket: old.Socket, Version: "2", Ensure: &next, Notify: next.Notify})
	defer c.Close()
	for range 2 {
		if s, err := c.Status(t.Context()); err != nil || s.Version != "2" {
			t.Errorf("%+v %v", s, err)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "idle") || len(starts(t, dir)) != 2 {
		t.Errorf("told %q, starts %q", lines, starts(t, dir))
	}
}

func TestAPortThatIsNotOpenedAgainIsSaid(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{"2": 2, "2-at-127.0.0.1:8283": 1} {
		old, dir := home(t, "1-at-127.0.0.1:8283")
		if _, err := Ensure(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		var lines []string
		next := updated(old, dir, version, &lines)
		if _, err := Ensure(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		if len(lines) != want || want > 1 && !strings.Contains(lines[1], "`loci daemon restart --listen 127.0.0.1:8283`") {
			t.Errorf("version %s was told %q", version, lines)
		}
	}
}

func TestAnOpenSessionLeavesADaemonThatReplacedItsOwn(t *testing.T) {
	t.Parallel()
	first, dir := home(t, "1")
	c := New(Options{Socket: first.Socket, Version: "1", Ensure: &first})
	defer c.Close()
	if _, err := c.Register(t.Context(), api.Client{Kind: api.ClientChat}); err != nil {
		t.Fatal(err)
	}
	next := first
	next.Version, next.Args = "2", []string{"fake-daemon", dir, first.Socket, "2"}
	if _, err := Ensure(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Status(t.Context()); err != nil || s.Version != "2" || len(starts(t, dir)) != 2 {
		t.Errorf("%+v %v, starts %q: two programs would replace each other for ever", s, err, starts(t, dir))
	}
}

func TestABusyDaemonOfAnotherVersionIsLeft(t *testing.T) {
	t.Parallel()
	old, dir := home(t, "1")
	if err := os.WriteFile(filepath.Join(dir, "busy"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := Ensure(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	next := old
	next.Version, next.Notify = "2", func(l string) { lines = append(lines, l) }
	got, err := Ensure(t.Context(), next)
	if err != nil || got.Started || got.Status.PID != first.Status.PID || len(lines) != 1 || !strings.Contains(lines[0], "busy") {
		t.Errorf("%+v %v, told %q", got, err, lines)
	}
	lines = nil
	c := New(Options{Socket: old.Socket, Version: "2", Ensure: &next, Notify: next.Notify})
	defer c.Close()
	_, err = c.Register(t.Context(), api.Client{Kind: api.ClientPrint})
	_, statusErr := c.Status(t.Context())
	if err != nil || statusErr != nil || len(lines) != 1 {
		t.Errorf("%v %v, a client was told %q", err, statusErr, lines)
	}
	lines = nil
	reader := New(Options{Socket: old.Socket, Version: "2", Ensure: &next, Notify: next.Notify})
	defer reader.Close()
	for range 2 {
		if s, err := reader.Status(t.Context()); err != nil || s.PID != first.Status.PID {
			t.Errorf("%+v %v", s, err)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "busy") {
		t.Errorf("a command that only reads was told %q", lines)
	}
}

func TestADaemonThatEndsAtOnceIsAnErrorThatSaysWhy(t *testing.T) {
	t.Parallel()
	o, _ := home(t, "broken")
	began := time.Now()
	c := New(Options{Socket: o.Socket, Version: "1", Ensure: &o})
	defer c.Close()
	got, err := said(c.Stream(t.Context(), Target{AgentID: "agent-1"}, hello()))
	if KindOf(err) != api.KindUnavailable || err.Error() != "the daemon did not start: the store is on fire" || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
	var e *Error
	if !errors.As(err, &e) || e.Hint != "put it out" {
		t.Errorf("the hint: %+v", e)
	}
	if took := time.Since(began); took > startTimeout {
		t.Errorf("it took %v to find out", took)
	}
}

func TestARestartIsNotOvertakenByAnotherStart(t *testing.T) {
	t.Parallel()
	auto, dir := home(t, "1")
	if _, err := Ensure(t.Context(), auto); err != nil {
		t.Fatal(err)
	}
	named := auto
	named.Args = []string{"fake-daemon", dir, auto.Socket, "1-named"}
	named.Version, auto.Version = "", ""
	var others sync.WaitGroup
	stop := func(context.Context) error {
		killDaemon(t, auto)
		for range 4 { // clients that lost their daemon
			others.Go(func() {
				if got, err := Ensure(t.Context(), auto); err != nil || got.Started || got.Status.Version != "1-named" {
					t.Errorf("another client: %+v %v", got, err)
				}
			})
		}
		return nil
	}
	got, err := Restart(t.Context(), named, stop)
	others.Wait()
	if err != nil || !got.Started || got.Status.Version != "1-named" {
		t.Errorf("%+v %v", got, err)
	}
}

func TestADaemonAtAnotherSocketIsFoundByTheNoteInItsLock(t *testing.T) {
	t.Parallel()
	o, dir := home(t, "1")
	if _, err := Ensure(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	elsewhere := o
	elsewhere.Socket = filepath.Join(dir, "cron", "loci.sock")
	c := New(Options{Socket: elsewhere.Socket, Version: "1", Ensure: &elsewhere})
	defer c.Close()
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.Socket() != o.Socket || len(starts(t, dir)) != 1 {
		t.Errorf("socket %s, starts %q", c.Socket(), starts(t, dir))
	}
}

func TestTheDaemonHasASessionOfItsOwn(t *testing.T) {
	t.Parallel()
	o, _ := home(t, "1")
	got, err := Ensure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := syscall.Getpgid(got.Status.PID)
	if err != nil || theirs != got.Status.PID || theirs == syscall.Getpgrp() {
		t.Errorf("group %d of process %d: %v", theirs, got.Status.PID, err)
	}
}

func TestTheDaemonsLogIsPrivate(t *testing.T) {
	t.Parallel()
	o, _ := home(t, "1")
	if _, err := Ensure(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(o.Log)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}
