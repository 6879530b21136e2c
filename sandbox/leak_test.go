//go:build linux

package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
)

// TestTwoHundredJobsAtOnceLeaveNothing runs alone: it counts what the whole program has open.
func TestTwoHundredJobsAtOnceLeaveNothing(t *testing.T) {
	const jobs = 200
	l, launcher := launched(t)
	settled := func() bool { return len(children(launcher.cmd.Process.Pid)) == 1 }
	coretest.Until(t, "one init stands by", settled)
	files, mounts, theirs := len(list(t, "/proc/self/fd")), mountsOf(t, "self"), len(list(t, fdsOf(launcher)))
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range jobs {
		all.Go(func() {
			job := sh(fmt.Sprintf("echo %d; sleep 1000 & setsid sleep 1000 &", i))
			if i%2 == 0 {
				job.Profile, job.Project = core.JobShell, &core.JobProject{Path: dir, Writable: true}
			}
			r, err := l.Run(t.Context(), job)
			if want := fmt.Sprintf("%d\n", i); err != nil || r.Ended != core.JobExited || string(r.Stdout.Kept) != want {
				t.Errorf("%d: %+v %v", i, r, err)
			}
		})
	}
	all.Wait()
	coretest.Until(t, "one init stands by, and nothing else", settled)
	coretest.Until(t, "the launcher has as much open as before", func() bool { return len(list(t, fdsOf(launcher))) <= theirs })
	if now := len(list(t, "/proc/self/fd")); now > files {
		t.Errorf("%d descriptors are open, %d were", now, files)
	}
	if now := mountsOf(t, "self"); now != mounts {
		t.Errorf("mounts: %s\nthey were: %s", now, mounts)
	}
	if now := mountsOf(t, fmt.Sprint(launcher.cmd.Process.Pid)); now != mounts {
		t.Errorf("mounts of the launcher: %s", now)
	}
	if left := list(t, l.cfg.Scratch); len(left) != 0 {
		t.Errorf("temporary folders: %v", left)
	}
}

func fdsOf(l *launcher) string { return fmt.Sprintf("/proc/%d/fd", l.cmd.Process.Pid) }

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func mountsOf(t *testing.T, process string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/" + process + "/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAKilledDaemonLeavesNoProcess(t *testing.T) {
	t.Parallel()
	scratch := killed(t, Full, "5")
	if len(list(t, scratch)) != 1 {
		t.Error("this test sees nothing: the killed daemon left no temporary folder")
	}
	New(Config{Mode: Full, Scratch: scratch}).Close()
	if _, err := os.Stat(scratch); err == nil {
		t.Error("the next daemon leaves the temporary folder of the killed one")
	}
}

func TestAKilledDaemonLeavesNoProcessOfALineThatNothingConfines(t *testing.T) {
	t.Parallel()
	killed(t, Off, "25")
}

// killed kills a daemon while a line runs that has left something outside of its group, and waits until all of it has ended.
func killed(t *testing.T, mode Mode, own string) (scratch string) {
	t.Helper()
	mark := fmt.Sprintf("%d.%s", 1_000_000+os.Getpid(), own)
	scratch = filepath.Join(t.TempDir(), "jobs")
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Dir = t.TempDir()
	cmd.Env = []string{
		orphan + "=setsid sleep " + mark + " & sleep " + mark + " & echo begun; wait", "PWD=" + cmd.Dir, "LOCI_TEST_SCRATCH=" + scratch,
		"LOCI_TEST_MODE=" + string(mode), path,
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
		t.Fatal(line, err)
	}
	coretest.Until(t, "both run", func() bool { return running(t, mark) == 2 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	coretest.Until(t, "nothing of the job is left", func() bool { return running(t, mark) == 0 })
	return scratch
}

func TestALineThatNothingConfinesLeavesNoProcess(t *testing.T) {
	t.Parallel()
	off, full := New(Config{Mode: Off}), New(Config{Mode: Full})
	t.Cleanup(off.Close)
	t.Cleanup(full.Close)
	for name, tt := range map[string]struct {
		box  *Local
		wall time.Duration
		tail string
		want core.JobEnd
	}{
		"off": {off, 0, "exit 3", core.JobExited}, "uncaged": {full, 0, "exit 3", core.JobExited},
		"off, stopped": {off, time.Second, "wait", core.JobTimedOut}, "uncaged, stopped": {full, time.Second, "wait", core.JobTimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := fmt.Sprintf("%d.%d", 2_000_000+os.Getpid(), len(name))
			const script = "setsid sleep MARK & (setsid sh -c 'setsid sleep MARK & exec sleep MARK' >/dev/null 2>&1 &) ; sleep MARK & " +
				"while ! test $(pgrep -cf ^sleep.MARK) = 4; do sleep 0.02; done; echo $$; "
			job := core.Job{
				Profile: core.JobShell, Argv: []string{"sh", "-c", strings.ReplaceAll(script, "MARK", mark) + tt.tail}, Env: []string{path},
				Dir: t.TempDir(), Uncaged: tt.box == full, Limits: core.JobLimits{Wall: tt.wall},
			}
			r := run(t.Context(), t, tt.box, job)
			if r.Ended != tt.want || tt.want == core.JobExited && r.ExitCode != 3 || len(r.Layers) > 0 || len(r.Stdout.Kept) == 0 {
				t.Errorf("it ended as %+v, having said %q", r, r.Stdout.Kept)
			}
			if n := running(t, mark); n != 0 {
				t.Errorf("%d processes are left", n)
			}
		})
	}
	job := sh("true")
	job.Profile, job.Dir = core.JobShell, "/no/such/folder"
	if _, err := off.Run(t.Context(), job); core.KindOf(err) != core.NotFound {
		t.Errorf("in a folder that is not there: %v", err)
	}
}

// running counts the processes of this machine that have a word among their arguments.
func running(t *testing.T, word string) int {
	t.Helper()
	found := 0
	for _, pid := range list(t, "/proc") {
		text, err := os.ReadFile("/proc/" + pid + "/cmdline")
		if err == nil && strings.HasPrefix(string(text), "sleep\x00"+word) {
			found++
		}
	}
	return found
}

func TestWithoutASandboxAJobRunsOnlyWhereAPersonTurnedItOff(t *testing.T) {
	t.Parallel()
	l := New(Config{Mode: Off})
	t.Cleanup(l.Close)
	job := sh("cat; echo $LOCI; exit 3")
	job.Stdin, job.Env = []byte("in "), append(job.Env, "LOCI=own")
	r := run(t.Context(), t, l, job)
	if r.ExitCode != 3 || string(r.Stdout.Kept) != "in own\n" || len(r.Layers) != 0 {
		t.Errorf("%+v %q", r, r.Stdout.Kept)
	}
	job = sh("sleep 1000 & sleep 1000")
	job.Limits.Wall = 200 * time.Millisecond
	if r := run(t.Context(), t, l, job); r.Ended != core.JobTimedOut {
		t.Errorf("%+v", r)
	}
	if report := l.Probe(t.Context()); report.Level != LevelOff {
		t.Errorf("%+v", report)
	}
	job.Argv = []string{"no-such-program"}
	if _, err := l.Run(t.Context(), job); core.KindOf(err) != core.NotFound {
		t.Errorf("%v", err)
	}
}
