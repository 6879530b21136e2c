//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"loci/core"
	"loci/core/coretest"
	"loci/sandbox/frame"
)

func TestAJobThatTakesTooLongIsStoppedWithAllItStarted(t *testing.T) {
	t.Parallel()
	job := sh("sleep 1000 & setsid sleep 1000 & echo here; sleep 1000")
	job.Limits.Wall = 5 * time.Second // a busy machine still begins it in this time
	r := run(t.Context(), t, local(t), job)
	if r.Ended != core.JobTimedOut || string(r.Stdout.Kept) != "here\n" {
		t.Errorf("%s %q", r.Ended, r.Stdout.Kept)
	}
}

func TestACancelledJobSaysSoAndKeepsItsOutput(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	job := sh("echo begun; sleep 1000")
	job.Live = writerFunc(func(p []byte) {
		if strings.Contains(string(p), "begun") {
			cancel()
		}
	})
	r := run(ctx, t, local(t), job)
	if r.Ended != core.JobCancelled || string(r.Stdout.Kept) != "begun\n" {
		t.Errorf("%s %q", r.Ended, r.Stdout.Kept)
	}
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

func TestOutputOverWhatIsKeptIsCountedAndAFloodIsStopped(t *testing.T) {
	t.Parallel()
	l := local(t)
	job := sh("head -c 300000 /dev/zero; head -c 10 /dev/zero >&2")
	job.Limits.Output = 1000
	r := run(t.Context(), t, l, job)
	if len(r.Stdout.Kept) != 1000 || r.Stdout.Total != 300_000 || r.Stderr.Total != 10 || r.Ended != core.JobExited {
		t.Errorf("%d of %d, %d, %s", len(r.Stdout.Kept), r.Stdout.Total, r.Stderr.Total, r.Ended)
	}
	if r := run(t.Context(), t, l, sh("cat /dev/zero")); r.Ended != core.JobOverOutput {
		t.Errorf("%s after %d bytes", r.Ended, r.Stdout.Total)
	}
}

func TestMemoryOfAllProcessesTogetherIsLimited(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	l := local(t)
	const held = `import time,mmap
m = mmap.mmap(-1, 230<<20, flags=%s)
for i in range(0, len(m), 4096): m[i] = 1
time.sleep(60)`
	for name, flag := range map[string]string{"private": "mmap.MAP_PRIVATE", "shared": "mmap.MAP_SHARED"} {
		code := strings.Replace(held, "%s", flag+"|mmap.MAP_ANONYMOUS", 1)
		job := sh(`for i in 1 2 3; do python3 -I -S -c "$CODE" & done; wait`)
		job.Env = append(job.Env, "CODE="+code)
		job.Limits.Memory, job.Limits.Wall = 600<<20, 50*time.Second
		if r := run(t.Context(), t, l, job); r.Ended != core.JobOverMemory {
			t.Errorf("%s: %s %q", name, r.Ended, r.Stderr.Kept)
		}
	}
}

func TestTooManyProcessesEndTheJob(t *testing.T) {
	t.Parallel()
	job := sh("i=0; while [ $i -lt 200 ]; do sleep 100 & i=$((i+1)); done; wait")
	job.Profile, job.Limits.Processes, job.Limits.Wall = core.JobShell, 40, 50*time.Second
	job.Project = &core.JobProject{Path: t.TempDir(), Writable: true}
	// As root, the kernel counts no processes of ours, and the watch does; as an ordinary user, the shell can't fork any more.
	r := run(t.Context(), t, local(t), job)
	if r.Ended != core.JobOverProcesses && !strings.Contains(string(r.Stderr.Kept), "fork") {
		t.Errorf("%s %d %q", r.Ended, r.ExitCode, r.Stderr.Kept)
	}
}

func TestSignalsAndMissingProgramsAreTold(t *testing.T) {
	t.Parallel()
	l := local(t)
	if r := run(t.Context(), t, l, sh("kill -SEGV $$")); r.Ended != core.JobSignalled || r.Signal != "SIGSEGV" {
		t.Errorf("%s %s", r.Ended, r.Signal)
	}
	for _, argv := range [][]string{{"no-such-program"}, {"/work/none"}} {
		_, err := l.Run(t.Context(), core.Job{Profile: core.JobTool, Argv: argv, Env: []string{path}})
		if core.KindOf(err) != core.NotFound || !strings.Contains(err.Error(), argv[0]) {
			t.Errorf("%s: %v", argv, err)
		}
	}
	if _, err := l.Run(t.Context(), core.Job{Profile: core.JobTool, Argv: []string{"/etc/passwd"}}); core.KindOf(err) != core.Invalid {
		t.Errorf("a file that is no program: %v", err)
	}
}

func TestLiveOutputComesWhileTheJobRuns(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen bytes.Buffer
	job := sh("echo one; echo two >&2; read answer; echo $answer")
	job.Stdin = []byte("three\n")
	job.Live = writerFunc(func(p []byte) { mu.Lock(); defer mu.Unlock(); seen.Write(p) })
	run(t.Context(), t, local(t), job)
	for _, word := range []string{"one", "two", "three"} {
		if !strings.Contains(seen.String(), word) {
			t.Errorf("%q is missing in %q", word, seen.String())
		}
	}
}

func TestNothingIsInherited(t *testing.T) {
	t.Setenv("LOCI_TEST_SECRET", "of-the-daemon")
	r := run(t.Context(), t, local(t), sh("env; ls /proc/self/fd; cat /proc/self/environ /proc/1/environ"))
	if strings.Contains(string(r.Stdout.Kept), "of-the-daemon") {
		t.Errorf("%s", r.Stdout.Kept)
	}
	if fds := strings.Count(string(r.Stdout.Kept), "\n") - strings.Count(string(r.Stdout.Kept), "="); fds > 4 { // the three, and ls's own
		t.Errorf("open: %s", r.Stdout.Kept)
	}
}

func TestAfterCloseNothingRunsAndTheLauncherIsGone(t *testing.T) {
	t.Parallel()
	l, launcher := launched(t)
	began := make(chan struct{})
	job := sh("echo begun; sleep 1000")
	job.Live = writerFunc(func([]byte) { close(began) })
	ended := make(chan core.JobResult)
	go func() {
		r, _ := l.Run(context.WithoutCancel(t.Context()), job) // its error is the test's to see in the result
		ended <- r
	}()
	<-began
	closed := make(chan struct{})
	go func() { l.Close(); close(closed) }()
	if r := <-ended; r.Ended != core.JobCancelled {
		t.Errorf("the running job ended as %q", r.Ended)
	}
	<-closed
	if launcher.cmd.ProcessState == nil {
		t.Error("the launcher was not waited for")
	}
	if _, err := l.Run(t.Context(), sh("true")); core.KindOf(err) != core.Unavailable {
		t.Errorf("%v", err)
	}
}

func TestALauncherThatWasKilledIsReplacedAndItsJobsEnd(t *testing.T) {
	t.Parallel()
	l, launcher := launched(t)
	job := sh("echo begun; sleep 1000")
	job.Live = writerFunc(func([]byte) { _ = launcher.cmd.Process.Kill() })
	if r := run(t.Context(), t, l, job); r.Ended != core.JobKilled {
		t.Errorf("its job ended as %q", r.Ended)
	}
	<-launcher.gone
	if r := run(t.Context(), t, l, sh("echo again")); string(r.Stdout.Kept) != "again\n" {
		t.Errorf("%+v", r)
	}
}

func TestAnIdleStandbyIsOneProcess(t *testing.T) {
	t.Parallel()
	_, launcher := launched(t)
	coretest.Until(t, "the next init stands by, and the last is gone", func() bool { return len(children(launcher.cmd.Process.Pid)) == 1 })
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip(program + " is not installed")
	}
}

func TestAJobThatFillsADiskIsStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	coretest.SmallDisk(t, dir)
	job := sh("head -c 12000000 /dev/zero > large; sleep 1000")
	job.Project = &core.JobProject{Path: dir, Writable: true}
	if r := run(t.Context(), t, local(t), job); r.Ended != core.JobOverDisk {
		t.Errorf("%s", r.Ended)
	}
}

func TestAFolderThatIsNotInTheSandboxIsNamed(t *testing.T) {
	t.Parallel()
	job := sh("true")
	job.Dir = "/root/nowhere"
	if _, err := local(t).Run(t.Context(), job); core.KindOf(err) != core.NotFound || !strings.Contains(err.Error(), "folder") {
		t.Errorf("%v", err)
	}
}

// TestWithoutNamespacesNothingRuns asks for a sandbox where there can be none: in one of ours.
func TestWithoutNamespacesNothingRunsAndTheStepIsNamed(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := local(t)
	if r := l.Probe(t.Context()); r.Level != LevelFull || len(r.Layers) < 5 {
		t.Errorf("%+v", r)
	}
	job := core.Job{
		Profile: core.JobShell, Argv: []string{"/tests/program"}, Env: []string{path, probe + "=full", "TMPDIR=/tmp"},
		Mounts: []core.JobMount{{Source: program, Target: "/tests/program"}},
	}
	r := run(t.Context(), t, l, job)
	for _, said := range []string{"none", "namespaces", "operation not permitted", "security profile", `sandbox = "off"`} {
		if !strings.Contains(string(r.Stdout.Kept), said) {
			t.Errorf("%q is missing in: %s%s", said, r.Stdout.Kept, r.Stderr.Kept)
		}
	}
}

func TestEveryFailedStepHasAHint(t *testing.T) {
	t.Parallel()
	for f, want := range map[frame.Fault]string{
		{Step: "namespaces", Errno: int(unix.ENOSPC)}:   "max_user_namespaces",
		{Step: "namespaces", Errno: int(unix.EPERM)}:    "namespaces",
		{Step: "Landlock", Errno: int(unix.EOPNOTSUPP)}: "5.19",
		{Step: "seccomp", Errno: int(unix.EINVAL)}:      "seccomp",
		{Step: "root", Errno: int(unix.EINVAL)}:         "doctor",
	} {
		err := (&call{job: core.Job{Argv: []string{"x"}}}).refused(&f)
		if core.KindOf(err) != core.Unavailable || !strings.Contains(err.Error(), f.Step) || !strings.Contains(core.HintOf(err), want) {
			t.Errorf("%+v: %v (%s)", f, err, core.HintOf(err))
		}
	}
}

func TestAShellMayWriteLargeFilesOpenManyAndKeepTemporaryOnesOnDisk(t *testing.T) {
	t.Parallel()
	job := core.Job{Profile: core.JobShell, Argv: []string{"bash", "-c", "ulimit -n -f -d; stat -f -c %T /tmp"}, Env: []string{path}}
	job.Project = &core.JobProject{Path: t.TempDir(), Writable: true}
	got := strings.Fields(string(run(t.Context(), t, local(t), job).Stdout.Kept))
	said := strings.Join(got, " ")
	if !strings.Contains(said, "(-n) 4096") || strings.Count(said, "unlimited") != 2 {
		t.Errorf("its limits are %s", said)
	}
	if l := limits(job); l.Memory != machineMemory()/2 || l.Memory == 0 || l.FileSize != 0 {
		t.Errorf("it may have %d bytes of memory of %d, and files of %d", l.Memory, machineMemory(), l.FileSize)
	}
	host, err := exec.CommandContext(t.Context(), "stat", "-f", "-c", "%T", t.TempDir()).Output()
	if tmp := strings.TrimSpace(string(host)); err != nil || got[len(got)-1] != tmp {
		t.Errorf("/tmp is on %s, and the machine's folder for it on %s, %v", got[len(got)-1], tmp, err)
	}
}
