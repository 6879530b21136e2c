//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/daemon/config"
	"loci/daemon/ipc"
)

// deaf is a process that holds a home, doesn't answer, and ignores requests to end.
func deaf() {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGTERM)
	p, err := config.FindPaths(config.OSEnv)
	if err == nil {
		err = errors.Join(os.MkdirAll(p.Data, 0o700), holdDeaf(p, heard))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func holdDeaf(p config.Paths, heard <-chan os.Signal) error {
	lock, err := ipc.TryLock(p.Lock)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }() // held until the process is killed: an unreferenced lock would be garbage collected and released
	listener, err := ipc.Listen(context.Background(), p.Socket)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // not reached: the process is killed
	if err := lock.Note(p.Socket); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(os.Stdout, "held"); err != nil {
		return err
	}
	for range heard { // and ignores them
		continue
	}
	return nil
}

// hungHome is the home of a daemon that has just hung, and a command with little patience for it.
func hungHome(t *testing.T, name string) (a *app, said *bytes.Buffer, holder *exec.Cmd) {
	t.Helper()
	env := homeEnv(t)
	lookup := func(name string) (string, bool) {
		for _, v := range env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
	p, err := config.FindPaths(lookup)
	if err != nil {
		t.Fatal(err)
	}
	if name == "deaf" {
		holder = exec.CommandContext(t.Context(), "deaf")
	} else {
		holder = exec.CommandContext(t.Context(), build(t), "daemon", "run")
	}
	holder.Env = env
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if name == "deaf" {
		if _, err := out.Read(make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
	} else {
		awaitReady(t, build(t), env)
		if err := holder.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		var status syscall.WaitStatus // until all its threads have stopped, it may still answer
		if _, err := syscall.Wait4(holder.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			t.Fatalf("it has not stopped: %v (%v)", status, err)
		}
	}
	said = &bytes.Buffer{}
	return &app{
		in: strings.NewReader(""), out: said, errOut: said, places: &p,
		patience: patience{answer: 200 * time.Millisecond, stop: time.Minute, term: time.Minute},
	}, said, holder
}

func TestADaemonThatHangsIsNamed(t *testing.T) {
	t.Parallel()
	a, _, holder := hungHome(t, "loci")
	for _, asked := range []string{"status", "start"} {
		err := a.command(t.Context(), []string{"daemon", asked})
		kind, hint := explain(err)
		if kind != api.KindTimeout ||
			!strings.Contains(err.Error(), fmt.Sprintf("pid %d, holds the home and does not answer", holder.Process.Pid)) ||
			!strings.Contains(hint, "loci daemon stop") {
			t.Errorf("%s: %v (%s), try %q", asked, err, kind, hint)
		}
	}
	if err := a.command(t.Context(), []string{"daemon", "stop"}); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := holder.Wait(); err != nil {
		t.Errorf("a stopped process that is woken ends as it should: %v", err)
	}
}

func TestAShellThatAsksForNamesDoesNotWaitForADaemonThatHangs(t *testing.T) {
	t.Parallel()
	a, said, _ := hungHome(t, "deaf")
	begun := time.Now()
	if err := a.run(t.Context(), []string{"__completeNoDesc", "agents", "show", ""}); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > 10*completeWithin {
		t.Errorf("it took %v", took)
	}
	if !strings.HasPrefix(said.String(), ":4\n") {
		t.Errorf("it said %q", said)
	}
}

func TestADaemonThatHearsNothingIsKilledWithAWord(t *testing.T) {
	t.Parallel()
	a, said, holder := hungHome(t, "deaf")
	a.patience.term = 300 * time.Millisecond
	pid := holder.Process.Pid
	if err := a.command(t.Context(), []string{"daemon", "stop"}); err != nil {
		t.Errorf("stop: %v", err)
	}
	if holder.Wait() == nil {
		t.Error("it ended by itself")
	}
	if want := fmt.Sprintf("pid %d did not end in 300ms and is killed", pid); !strings.Contains(said.String(), want) {
		t.Errorf("said %q, not %q", said, want)
	}
}

func TestAHungDaemonIsNotEndedByARestore(t *testing.T) {
	t.Parallel()
	a, _, holder := hungHome(t, "deaf")
	stopped, err := a.stopDaemon(t.Context(), true)
	if kind, _ := explain(err); stopped || kind != api.KindTimeout {
		t.Errorf("stopped %v, %v", stopped, err)
	}
	if _, err := ipc.TryLock(filepath.Clean(a.places.Lock)); !errors.Is(err, ipc.ErrLocked) {
		t.Errorf("the holder is gone: %v", err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Error(err)
	}
	if holder.Wait() == nil {
		t.Error("it ended by itself")
	}
}

func TestNoCommandWaitsForADaemonThatHangs(t *testing.T) {
	t.Parallel()
	a, said, holder := hungHome(t, "loci")
	a.patience.silence = 200 * time.Millisecond
	for _, args := range [][]string{{"agents"}, {"messages"}, {"models"}} {
		if err := a.command(t.Context(), args); !errors.Is(err, client.ErrSilent) {
			t.Errorf("%s: %v", args[0], err)
		}
	}
	if err := a.oneShot(t.Context(), &chatFlags{print: true, format: formatText}, []string{"hello"}); !errors.Is(err, client.ErrSilent) {
		t.Errorf("one shot: %v", err)
	}
	said.Reset()
	if err := a.command(t.Context(), []string{"doctor"}); err == nil || !strings.Contains(said.String(), "does not answer") {
		t.Errorf("doctor: %v, %q", err, said)
	}
	if err := holder.Process.Signal(syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	if err := holder.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := holder.Wait(); err != nil {
		t.Error(err)
	}
}
