package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"loci/daemon/client"
	"loci/daemon/config"
	"loci/providers/providertest"
)

const (
	startWithin = time.Minute
	stopWithin  = 20 * time.Second
)

// house is a home with its daemon process and the model that it uses.
type house struct {
	t     *testing.T
	paths config.Paths
	model *providertest.Server
	env   []string
	errs  string // what the daemon says on standard error

	mu      sync.Mutex // guards the fields below
	process *exec.Cmd
	watch   func(event string) // told what the model sees
	logRead int64              // how much of the log has been checked
}

// openHouse creates an empty home with a path short enough for the socket.
func openHouse(t *testing.T) *house {
	t.Helper()
	home, err := os.MkdirTemp("", "loci") //nolint:usetesting // one that lost something is kept
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the home is kept: %s", home)
			return
		}
		_ = os.RemoveAll(home) // what is left in a temporary folder harms nobody
	})
	h := &house{t: t, errs: filepath.Join(home, "stderr")}
	h.paths, err = config.FindPaths(func(name string) (string, bool) { return home, name == "LOCI_HOME" })
	if err != nil {
		t.Fatal(err)
	}
	h.model = providertest.NewServer(t)
	h.model.Reply = func(r providertest.Request) providertest.Turn {
		h.mu.Lock()
		watch := h.watch
		h.mu.Unlock()
		if watch != nil {
			watch(evRequest)
		}
		return h.model.Directives(r)
	}
	h.env = []string{
		asProgram + "=1", "LOCI_HOME=" + home, "HOME=" + home, "OPENAI_API_KEY=test", "OPENAI_BASE_URL=" + h.model.V1(),
		"OLLAMA_HOST=127.0.0.1:1", "GORACE=halt_on_error=1",
	}
	t.Cleanup(h.kill)
	return h
}

// spawn starts the daemon without waiting for it.
func (h *house) spawn() {
	h.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := os.OpenFile(h.errs, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = out.Close() }() // the child has its own copy
	cmd := exec.Command(exe, "daemon", "run")
	cmd.Env, cmd.Stdout, cmd.Stderr = h.env, out, out
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.process = cmd
}

// start starts the daemon and waits until it is ready.
func (h *house) start(ctx context.Context) error {
	h.spawn()
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	c := h.client()
	defer c.Close()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		status, err := c.Status(ctx)
		switch {
		case err == nil && status.Error != "":
			return fmt.Errorf("the daemon does not open its store: %s", status.Error)
		case err == nil && status.Ready:
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the daemon is not ready after %v: %w; it said: %s", startWithin, err, h.said())
		}
	}
}

// hit sends the kill and returns at once.
func (h *house) hit() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.process != nil {
		_ = h.process.Process.Kill() // it may be dead already
	}
}

// kill kills the daemon and waits for its end.
func (h *house) kill() {
	h.hit()
	h.mu.Lock()
	cmd := h.process
	h.process = nil
	h.mu.Unlock()
	if cmd != nil {
		_ = cmd.Wait() // killed, which is an error
	}
}

// stop stops the daemon as documented: by SIGTERM, within ten seconds, with exit code 0.
func (h *house) stop() error {
	h.mu.Lock()
	cmd := h.process
	h.process = nil
	h.mu.Unlock()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	late := time.AfterFunc(stopWithin, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	return cmd.Wait()
}

// client returns a client that never starts a daemon: the test does that.
// client is patient: a daemon that resumes a hundred runs under the race detector is slow, and what counts is what is lost.
func (h *house) client() *client.Client {
	return client.New(client.Options{Socket: h.paths.Socket, Patience: time.Minute})
}

// said returns the end of the daemon's standard error.
func (h *house) said() string {
	data, err := os.ReadFile(h.errs)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-4000):])
}

// complaints returns what the daemon considers its own fault: panics, races, errors in its log, files it set aside.
func (h *house) complaints() []error {
	var errs []error
	if data, err := os.ReadFile(h.errs); err == nil {
		for _, word := range []string{"panic:", "DATA RACE", "fatal error:"} {
			if bytes.Contains(data, []byte(word)) {
				errs = append(errs, fmt.Errorf("the daemon died by itself: %s", data))
			}
		}
	}
	if aside, err := filepath.Glob(filepath.Join(h.paths.Data, "*.broken-*")); err != nil || len(aside) > 0 {
		errs = append(errs, errors.Join(fmt.Errorf("files were put aside as broken: %v", aside), err))
	}
	data, err := os.ReadFile(h.paths.Log)
	if err != nil || int64(len(data)) < h.logRead { // rotated
		h.logRead = 0
	}
	for line := range bytes.Lines(data[h.logRead:]) {
		var entry struct{ Level string }
		if json.Unmarshal(line, &entry) == nil && entry.Level == "ERROR" {
			errs = append(errs, fmt.Errorf("the daemon logged an error: %s", line))
		}
	}
	h.logRead = int64(len(data))
	return errs
}
