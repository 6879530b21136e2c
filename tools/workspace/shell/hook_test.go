//go:build linux

package shell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/permission"
)

func TestAHookOfTheFolderIsConfinedAsALineIs(t *testing.T) {
	t.Parallel()
	p := open(t)
	for name, text := range map[string]string{".env": "KEY=secret", "a.txt": "one"} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := permission.Place{Mode: core.ModeAsk, Root: p.dir, Dir: p.dir, Home: p.home, Real: permission.Real}
	w := core.WorkspaceEnv{Path: p.dir, Mode: core.ModeAsk, Paths: p.rules.Paths(permission.Call{Does: permission.DoesShell}, at)}
	hook := func(command string, limit time.Duration) core.JobResult {
		t.Helper()
		r, err := p.shell.Hook(t.Context(), w, command, []byte(`{"prompt":"hello"}`), limit)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	line := `grep -o hello; cat .env; ls ` + p.home + ` ` + p.ours +
		`; cat a.txt; ls /sys/class/net; echo $LOCI_PROJECT_DIR; echo new > b.txt; exit 2`
	r := hook(line, time.Minute)
	got := string(r.Stdout.Kept)
	if r.Ended != core.JobExited || r.ExitCode != 2 || !strings.Contains(got, "hello\n") || !strings.Contains(got, "one") ||
		strings.Contains(got, "secret") || strings.Contains(got, "eth") || !strings.Contains(got, p.dir) {
		t.Errorf("%s %d: %s\n%s", r.Ended, r.ExitCode, got, r.Stderr.Kept)
	}
	if text, err := os.ReadFile(filepath.Join(p.dir, "b.txt")); err != nil || string(text) != "new\n" {
		t.Errorf("it wrote %q, %v", text, err)
	}
	w.Mode = core.ModePlan
	if r := hook("echo other > b.txt", time.Minute); r.ExitCode == 0 {
		t.Error("it writes in plan mode")
	}
	if r := hook("sleep 100", 300*time.Millisecond); r.Ended != core.JobTimedOut {
		t.Errorf("a slow one ended %s", r.Ended)
	}
}
