//go:build linux || darwin

package client

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"loci/daemon/api"
)

func TestADaemonThatWasStoppedOnPurposeIsStartedOnlyByACallThatSomebodyAskedFor(t *testing.T) {
	t.Parallel()
	o, dir := home(t, "1")
	o.Stopped = filepath.Join(dir, "run", "stopped")
	c := New(Options{Socket: o.Socket, Version: "1", Ensure: &o})
	defer c.Close()
	if _, err := c.Register(t.Context(), api.Client{Kind: api.ClientChat}); err != nil {
		t.Fatal(err)
	}
	killDaemon(t, o)
	if err := os.WriteFile(o.Stopped, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(Unasked(t.Context())); !errors.Is(err, ErrStopped) || KindOf(err) != api.KindUnavailable {
		t.Errorf("an unasked call gives %v", err)
	}
	if _, err := said(c.Events(Unasked(t.Context()), "run-1", 0)); !errors.Is(err, ErrStopped) {
		t.Errorf("following a run gives %v", err)
	}
	if n := len(starts(t, dir)); n != 1 {
		t.Errorf("%d starts", n)
	}
	if s, err := c.Status(Asked(Unasked(t.Context()))); err != nil || !s.Ready {
		t.Errorf("a person's call gives %+v, %v", s, err)
	}
}

func TestADaemonThatCrashedIsStartedByAnyCall(t *testing.T) {
	t.Parallel()
	o, dir := home(t, "1")
	o.Stopped = filepath.Join(dir, "run", "stopped")
	c := New(Options{Socket: o.Socket, Version: "1", Ensure: &o})
	defer c.Close()
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	killDaemon(t, o)
	if s, err := c.Status(Unasked(t.Context())); err != nil || !s.Ready {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestAHomeThatIsGoneIsNotMadeAgainByWhoKnewIt(t *testing.T) {
	t.Parallel()
	o, dir := home(t, "1")
	c := New(Options{Socket: o.Socket, Version: "1", Ensure: &o})
	defer c.Close()
	if _, err := c.Register(t.Context(), api.Client{Kind: api.ClientChat}); err != nil {
		t.Fatal(err)
	}
	killDaemon(t, o)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(t.Context()); !errors.Is(err, ErrHomeGone) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there again: %v", err)
	}
}
