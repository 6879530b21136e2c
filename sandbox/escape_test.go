//go:build linux

package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"loci/core"
	"loci/sandbox/sandboxtest"
)

func TestNothingGetsOut(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	partial := map[string]*Local{} // by what they leave out
	none := New(Config{Mode: Off})
	t.Cleanup(none.Close)
	whole := local(t)
	whole.cfg.Outside = sandboxtest.Network{}
	sandboxtest.Run(t, sandboxtest.Sandboxes{
		Whole: whole, None: none,
		Without: func(layers []string) core.Sandbox {
			mu.Lock()
			defer mu.Unlock()
			key := strings.Join(layers, " ")
			if partial[key] == nil {
				partial[key] = local(t)
				partial[key].without = layers
			}
			return partial[key]
		},
	})
}

// TestNothingGetsOutWithoutNamespaces makes the attempts where Landlock and the filter of system calls are all there is.
func TestNothingGetsOutWithoutNamespaces(t *testing.T) {
	t.Parallel()
	sandboxtest.Contains(
		t, bare(t),
		// That a file or a process is there can be seen.
		"proc/processes of the machine", "proc/the kernel's settings", "other processes/hold one", "other processes/ask for its priority",
		// It is put back after the job, which a test of its own sees.
		"git/a hook", "git/the configuration by hand", "git/a hook in a folder that was opened", "git/another folder in its place",
		"git/other hooks in their place", "git/a link in place of the configuration", "git/a new repository in its place",
		// The watcher is not the first process; that it can't be signalled, a test of its own sees.
		"forged results/end the watcher", "forged results/signal the watcher into its own end",
		// The job's own folder is on disk, where only a floor is watched.
		"memory/files in the own folder",
	)
}

// TestNothingGetsOutOfAnOrdinaryAccountsSandbox makes the same attempts with the rights of an ordinary account. One has no others.
func TestNothingGetsOutOfAnOrdinaryAccountsSandbox(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 || testing.Short() {
		t.Skip("this is root's, and takes a while")
	}
	const account = 1000
	dir, err := os.MkdirTemp("", "loci") //nolint:usetesting // only root could go through the test's own folder
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chown(dir, account, account); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^TestNothingGetsOut$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{path, "TMPDIR=" + dir, "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: account, Gid: account}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestNothingGetsOut/files/") {
		t.Errorf("%v\n%s", err, out)
	}
}
