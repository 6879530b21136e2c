package hooks

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"loci/core"
	"loci/core/coretest"
)

// orphan makes the tests' program a daemon that a test kills while it runs a hook: its value is the file of hooks.
const orphan = "LOCI_TEST_ORPHAN"

func TestMain(m *testing.M) {
	if path := os.Getenv(orphan); path != "" {
		h := New(Config{Path: path, Home: os.TempDir(), Environ: []string{"PATH=" + os.Getenv("PATH")}})
		_, _ = os.Stdout.WriteString("begun\n")
		h.Run(context.Background(), core.HookCall{Event: core.HookStop}) // it is killed
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestAKilledDaemonLeavesNoHookRunning(t *testing.T) {
	t.Parallel()
	mark := fmt.Sprintf("%d.75", 3_000_000+os.Getpid())
	h, _ := of(t, core.HookStop, "", "exec sleep "+mark, 60)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = []string{orphan + "=" + h.cfg.Path, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
		t.Fatal(line, err)
	}
	coretest.Until(t, "the hook runs", func() bool { return sleeps(t, mark) })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	coretest.Until(t, "the hook has ended", func() bool { return !sleeps(t, mark) })
}

// sleeps reports whether a process of this machine sleeps for so long.
func sleeps(t *testing.T, mark string) bool {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && strings.HasPrefix(string(text), "sleep\x00"+mark) {
			return true
		}
	}
	return false
}
