package daemon

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"loci/core"
	"loci/daemon/api"
	"loci/daemon/config"
	"loci/daemon/ipc"
)

// restore replaces a home whose daemon is stopped by a backup.
func restore(t *testing.T, p config.Paths, file string) (kept string) {
	t.Helper()
	r, err := PrepareRestore(t.Context(), p, file)
	if err != nil {
		t.Fatal(err)
	}
	kept, err = r.Put(t.Context())
	if err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	return kept
}

func TestWhatAKilledRestoreLeftIsSwept(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	if err := ipc.PrivateDir(p.Data); err != nil {
		t.Fatal(err)
	}
	var left []string
	for i, dir := range []string{filepath.Dir(p.Data), p.Data, p.Data} {
		trial := filepath.Join(dir, trialPrefix+strconv.Itoa(i))
		if err := os.Mkdir(trial, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(trial, "loci.db"), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		left = append(left, trial)
	}
	working := left[2]
	lock, err := ipc.TryLock(filepath.Join(working, trialLock))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Unlock() }() // of a folder that goes with the test
	start(t, Config{Paths: p, Settings: settings})
	for _, trial := range left[:2] {
		if _, err := os.Stat(trial); err == nil {
			t.Errorf("%s is left", trial)
		}
	}
	if _, err := os.Stat(working); err != nil {
		t.Errorf("what a restore works in was removed: %v", err)
	}
}

// TestTheOldHomeIsRestoredAndWaits: a backup of the old home, with its mirror and followed directory, comes back; these are
// left alone until somebody allows them.
func TestTheOldHomeIsRestoredAndWaits(t *testing.T) {
	t.Parallel()
	old := filepath.Join(t.TempDir(), "old")
	recorded := unpackOldHome(t, old)
	file := filepath.Join(t.TempDir(), "old.loci")
	from := config.Paths{Data: filepath.Join(old, "home", "data"), Lock: filepath.Join(old, "lock")}
	if _, err := Backup(t.Context(), from, file); err != nil {
		t.Fatal(err)
	}
	p, settings := home(t)
	restore(t, p, file)
	d, stop := start(t, Config{Paths: p, Settings: settings})
	c, _ := talker(t, p, "/")
	agents, err := c.Agents(t.Context(), api.ListAgents{})
	if err != nil || len(agents) < len(recorded.Agents) {
		t.Fatalf("%d agents, %v", len(agents), err)
	}
	if checks := d.checkWaiting(t.Context()); len(checks) != 1 || !strings.Contains(checks[0].Detail, "2 places") {
		t.Errorf("doctor: %+v", checks)
	}
	if m, err := c.Mirror(t.Context(), recorded.Agents["Ollama"]); err != nil || m.On {
		t.Errorf("the mirror: %+v, %v", m, err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	notes := filepath.Join(recorded.Dir, "notes")
	done, err := SettleWaiting(t.Context(), p, true, []string{notes})
	if err != nil || len(done) != 1 || done[0].Path != notes || done[0].Name != "Ollama" {
		t.Errorf("allowed: %+v, %v", done, err)
	}
	left, err := Waiting(t.Context(), p)
	if err != nil || len(left) != 1 || left[0].Name != "shelf" {
		t.Errorf("left: %+v, %v", left, err)
	}
	if _, err := SettleWaiting(t.Context(), p, false, []string{notes}); core.KindOf(err) != core.NotFound {
		t.Errorf("dropped what does not wait: %v", err)
	}
	if done, err := SettleWaiting(t.Context(), p, false, nil); err != nil || len(done) != 1 {
		t.Errorf("dropped: %+v, %v", done, err)
	}
}
