package daemon

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loci/core"
	"loci/daemon/api"
	"loci/daemon/client"
)

// fill takes every byte of a disk that is left.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "ballast"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it is full
	for piece := bytes.Repeat([]byte("x"), 4096); err == nil; {
		_, err = f.Write(piece)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// TestAFullDiskCanStillBeRead uses a small disk in memory, which only some accounts can mount.
func TestAFullDiskCanStillBeRead(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	if err := syscall.Mount("tmpfs", p.Home, "tmpfs", 0, "size=16m,mode=0700"); err != nil {
		t.Skip("no disk of its own can be mounted:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(p.Home, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	cfg := Config{Paths: p, Settings: settings}
	_, stop := start(t, cfg)
	c, s := talker(t, p, "/")
	say(t, c, s, "My name is Ada")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	fill(t, p.Home)
	d, stop := start(t, cfg)
	c = client.New(client.Options{Socket: p.Socket, Version: "test"})
	defer c.Close()
	list, err := c.Messages(t.Context(), s.AgentID, api.ListMessages{})
	if err != nil || len(list) < 2 {
		t.Errorf("%d messages are listed, %v", len(list), err)
	}
	human, _, err := c.AgentBlock(t.Context(), s.AgentID, "human")
	if err != nil || !strings.Contains(human.Value, "Ada") {
		t.Errorf("the memory is %q, %v", human.Value, err)
	}
	fill(t, p.Home) // what the reserve gave, too
	check := d.checkStore(t.Context())
	if check.Level != api.CheckError || !strings.Contains(check.Fix, "free some space") || strings.Contains(check.Fix, "backup") {
		t.Errorf("the doctor says: %+v", check)
	}
	_, err = d.Backup(t.Context(), filepath.Join(p.Home, "saved"))
	if core.KindOf(err) != core.Unavailable || !strings.Contains(core.HintOf(err), "free some space") {
		t.Errorf("a backup fails with %v (%s)", err, core.HintOf(err))
	}
	if err := stop(); err != nil {
		t.Logf("the daemon ended with %v", err)
	}
}
