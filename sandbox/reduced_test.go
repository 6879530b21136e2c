//go:build linux

package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"loci/core"
	"loci/core/coretest"
	"loci/sandbox/frame"
)

// reducedTo is a sandbox of a machine that lacks something, as far as it is told.
func reducedTo(t *testing.T, lacks lacking) *Local {
	t.Helper()
	l := local(t)
	l.cfg.Mode, l.lacks = Reduced, lacks
	return l
}

func bare(t *testing.T) *Local {
	t.Helper()
	return reducedTo(t, lacking{namespaces: true})
}

// yard is a project with what rules close in it, and what is beside it.
func yard(t *testing.T) (dir string, job core.Job) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(base, "project")
	for name, text := range map[string]string{
		"project/src/a.txt": "a\n", "project/conf/.env": "secret\n", "project/conf/open": "open\n", "project/kept/k": "k\n",
		"project/.git/config": "[core]\n\tbare = false\n", "project/.git/HEAD": "ref: refs/heads/main\n",
		"project/.git/hooks/pre-commit": "#!/bin/sh\n", "project/.loci/x": "x\n", "outside/secret": "secret\n",
		"project/.git/objects/x": "x\n", "project/.git/refs/heads/x": "x\n",
	} {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, core.Job{
		Profile: core.JobShell, Env: []string{path, "HOME=" + core.SandboxHome, "OUTSIDE=" + filepath.Join(base, "outside")},
		Project: &core.JobProject{Path: dir, Writable: true, Masked: []string{"conf/.env"}, ReadOnly: []string{"kept"}},
	}
}

// says runs a line of a job and compares what it writes.
func says(t *testing.T, l *Local, job core.Job, line, want string) core.JobResult {
	t.Helper()
	job.Argv = []string{"bash", "-c", "exec 2>/dev/null\n" + line}
	r := run(t.Context(), t, l, job)
	if got := strings.Join(strings.Fields(string(r.Stdout.Kept)), " "); got != want {
		t.Errorf("%s\ngot  %q (%s %d)\nwant %q", line, got, r.Ended, r.ExitCode, want)
	}
	return r
}

func TestWithoutNamespacesAJobHasItsProjectAndNothingElse(t *testing.T) {
	t.Parallel()
	l := bare(t)
	dir, job := yard(t)
	line := "cat src/a.txt; echo b > src/b.txt; cat src/b.txt; mkdir src/d && echo c > src/d/c && cat src/d/c; pwd"
	r := says(t, l, job, line, "a b c "+dir)
	if len(r.Layers) < 4 || r.Layers[0] != "reduced: no namespaces" || !strings.Contains(strings.Join(r.Layers, " "), "Landlock") {
		t.Errorf("the layers are %q", r.Layers)
	}
	line = "cat $OUTSIDE/secret || echo no; ls $OUTSIDE || echo no; echo x > $OUTSIDE/x || echo no; ls /root /home || echo no"
	says(t, l, job, line, "no no no no")
	line = "cat conf/.env || echo no; echo x > conf/.env || echo no; mv conf/.env src/env || echo no; cat conf/open"
	says(t, l, job, line, "no no no open")
	says(t, l, job, "echo x > kept/k || echo no; rm kept/k || echo no; cat kept/k; echo x > .loci/y || echo no", "no no k no")
	says(t, l, job, "cat /proc/self/environ || echo no; cat /proc/1/cmdline || echo no; ls /proc/1 || echo no", "no no no")
	says(t, l, job, "echo h > ~/h; cat ~/h; cd ~ && mktemp -q >/dev/null && echo tmp; chmod 777 $OUTSIDE/secret || echo no", "h tmp no")
	job.Project.Writable = false
	says(t, l, job, "cat src/a.txt; echo x > src/x || echo no; rm src/a.txt || echo no", "a no no")
}

func TestWithoutNamespacesAJobReachesNoNetworkAndNoOtherProcess(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/python3")
	l := bare(t)
	_, job := yard(t)
	port := hello(t)
	canary := exec.CommandContext(t.Context(), "sleep", "600")
	if err := canary.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = canary.Process.Kill(), canary.Wait() }()
	says(t, l, job, fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d && echo reached || echo no", port), "no")
	line := fmt.Sprintf("kill -9 %d && echo killed || echo no; kill -0 $PPID && echo there || echo no", canary.Process.Pid)
	says(t, l, job, line, "no no")
	says(t, l, job, `python3 -c '
import socket, os, ctypes
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, socket.AF_PACKET):
    try: socket.socket(family, socket.SOCK_DGRAM); print("socket", family)
    except OSError: print("no")
libc = ctypes.CDLL(None, use_errno=True)
print("unshared" if libc.unshare(0x10000000) == 0 else "no")
print("traced" if libc.ptrace(16, `+fmt.Sprint(canary.Process.Pid)+`, 0, 0) == 0 else "no")
for name, call in (("utime", lambda: os.utime(os.environ["OUTSIDE"])), ("chmod", lambda: os.chmod(os.environ["OUTSIDE"], 0o777)),
    ("xattr", lambda: os.setxattr(os.environ["OUTSIDE"], "user.x", b"x"))):
    try: call(); print(name)
    except OSError: print("no")'`, "no no no no no no no no no no")
}

func TestWhatAReducedJobMakesOfGitsHooksAndConfigurationIsPutBackAndNamed(t *testing.T) {
	t.Parallel()
	l := bare(t)
	dir, job := yard(t)
	r := says(t, l, job, `echo evil > .git/hooks/pre-commit; echo evil > .git/hooks/post-commit
printf '[core]\n\tpager = evil\n' > .git/config
echo ../x > .git/commondir; echo data > .git/objects/y; echo over`, "over")
	for name, want := range map[string]string{
		"hooks/pre-commit": "#!/bin/sh\n", "hooks/post-commit": "", "config": "[core]\n\tbare = false\n", "commondir": "",
		"objects/y": "data\n",
	} {
		got, err := os.ReadFile(filepath.Join(dir, ".git", name))
		if string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
		if named := strings.Contains(strings.Join(r.Changed, " "), filepath.Join(dir, ".git", name)); named != (name != "objects/y") {
			t.Errorf("%s is named: %v", name, r.Changed)
		}
	}
	// It may be ended in the middle, when what is covered moves.
	for _, line := range []string{
		"mv .git .g && cp -r .g .git && echo evil > .git/hooks/pre-commit && rm -r .g/hooks",
		"mv .git/hooks .git/h && mkdir .git/hooks && echo evil > .git/hooks/pre-commit",
		"printf '[core]\n\tpager = evil\n' > c; rm .git/config && ln -s ../c .git/config",
		"rm -rf .git && mkdir -p .git/hooks && printf '[core]\n\tpager = evil\n' > .git/config && echo evil > .git/hooks/pre-commit",
	} {
		dir, job := yard(t)
		was, err := os.Lstat(filepath.Join(dir, ".git"))
		if err != nil {
			t.Fatal(err)
		}
		job.Argv = []string{"bash", "-c", line}
		r := run(t.Context(), t, l, job)
		for _, git := range []string{".git", ".g"} {
			if got, err := os.ReadFile(filepath.Join(dir, git, "hooks/pre-commit")); err == nil && string(got) != "#!/bin/sh\n" {
				t.Errorf("%s: %s: a hook holds %q", line, git, got)
			}
		}
		if got, err := os.ReadFile(filepath.Join(dir, ".git/config")); err == nil && strings.Contains(string(got), "evil") {
			t.Errorf("%s: the configuration holds %q", line, got)
		}
		now, err := os.Lstat(filepath.Join(dir, ".git"))
		moved := err != nil || !os.SameFile(was, now)
		if moved && !strings.Contains(strings.Join(r.Changed, " "), filepath.Join(dir, ".git")) {
			t.Errorf("%s: named: %v", line, r.Changed)
		}
	}
}

func TestAFileOfGitsThatIsTooLargeToBePutBackKeepsAReducedJobFromRunning(t *testing.T) {
	t.Parallel()
	dir, job := yard(t)
	hook := filepath.Join(dir, ".git/hooks/large")
	if err := os.WriteFile(hook, make([]byte, mostKeptBytes+2), 0o755); err != nil {
		t.Fatal(err)
	}
	job.Argv = []string{"bash", "-c", "echo evil > .git/hooks/large"}
	if _, err := bare(t).Run(t.Context(), job); core.KindOf(err) != core.TooLarge {
		t.Errorf("it ran: %v", err)
	}
	if info, err := os.Stat(hook); err != nil || info.Size() != mostKeptBytes+2 {
		t.Errorf("what is left of it: %v, %v", info, err)
	}
}

func TestWithoutNamespacesNothingIsLeftOfAJob(t *testing.T) {
	t.Parallel()
	l := bare(t)
	_, job := yard(t)
	mark := fmt.Sprint("8", time.Now().UnixNano())
	line := "(setsid sleep " + mark + " &) ; " +
		"setsid bash -c 'sleep " + mark + " & sleep " + mark + " & disown -a; exit' & sleep 0.2; echo over"
	says(t, l, job, line, "over")
	if n := running(t, mark); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	job.Argv = []string{"bash", "-c", "(setsid sleep " + mark + " &); sleep " + mark}
	ended := make(chan core.JobResult, 1)
	go func() {
		r, _ := l.Run(ctx, job)
		ended <- r
	}()
	coretest.Until(t, "both run", func() bool { return running(t, mark) == 2 })
	cancel()
	if r := <-ended; r.Ended != core.JobCancelled || running(t, mark) != 0 {
		t.Errorf("%s, and %d are left", r.Ended, running(t, mark))
	}
	job.Argv, job.Limits.Wall = []string{"sleep", "100"}, 200*time.Millisecond
	if r := run(t.Context(), t, l, job); r.Ended != core.JobTimedOut {
		t.Errorf("it ended: %s", r.Ended)
	}
}

// TestWhatIsMissingIsFoundByTryingAll asks for a sandbox where there can be no namespaces: in one of ours.
func TestWhatIsMissingIsFoundByTryingAll(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	job := core.Job{
		Profile: core.JobShell, Argv: []string{"/tests/program"}, Env: []string{path, probe + "=reduced", "TMPDIR=/tmp"},
		Mounts: []core.JobMount{{Source: program, Target: "/tests/program"}},
	}
	r := run(t.Context(), t, local(t), job)
	for _, said := range []string{"Level:reduced", "reduced: no namespaces", "Landlock", "seccomp"} {
		if !strings.Contains(string(r.Stdout.Kept), said) {
			t.Errorf("%q is missing in: %s%s", said, r.Stdout.Kept, r.Stderr.Kept)
		}
	}
}

func TestALevelIsNotRememberedOfATryThatWasGivenUp(t *testing.T) {
	t.Parallel()
	l := reducedTo(t, lacking{})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	l.Level(gone)
	if level := l.Level(t.Context()); level != LevelFull {
		t.Errorf("it is %s", level)
	}
}

func TestWhatAMachineCouldNotDoOnceIsTriedAgain(t *testing.T) {
	t.Parallel()
	for until, reduced := range map[time.Time]bool{time.Now().Add(time.Hour): true, time.Now().Add(-time.Second): false} {
		l := reducedTo(t, lacking{namespaces: true, until: until})
		l.level = LevelReduced
		_, job := yard(t)
		r := says(t, l, job, "echo here", "here")
		if got := slices.Contains(r.Layers, frame.LayerReduced); got != reduced {
			t.Errorf("tried again after %s: %v", until, r.Layers)
		}
		if level := l.Level(t.Context()); (level == LevelReduced) != reduced {
			t.Errorf("it is said to be %s", level)
		}
	}
	if k := (lacking{}).with("root"); k.until.IsZero() {
		t.Error("one failed step counts for good")
	}
}

func TestAPipeAmongHooksHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"hooks", "hooks/sub"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"hooks/pre-commit", "hooks/sub/pipe", "config"} {
		if err := unix.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := remember(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer actedFolders{a}.close()
	if f := a.files["hooks/sub/pipe"]; f.mode.IsRegular() || len(a.files) != 5 {
		t.Errorf("remembered: %+v", a.files)
	}
	if _, err := a.head("hooks/pre-commit"); err == nil { // where a file was when it was looked at
		t.Error("a pipe is read as a file")
	}
	if changed := (actedFolders{a}).restore(); len(changed) != 0 {
		t.Errorf("changed: %v", changed)
	}
}

func TestWhatIsInThePlaceOfAGitFolderIsMovedAsideOrNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := filepath.Join(dir, ".git")
	for _, name := range []string{git, git + ".replaced", git + ".replaced/x"} { // a job can take the name
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := moveAside(git); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(git); err == nil {
		t.Error("it stands there still")
	}
	if err := os.Mkdir(git, 0o700); err != nil {
		t.Fatal(err)
	}
	a, err := remember(git)
	if err != nil {
		t.Fatal(err)
	}
	defer actedFolders{a}.close()
	a.was, _ = os.Lstat(dir) // as if another one were in its place
	a.path = "/proc/self/task"
	if changed := strings.Join((actedFolders{a}).restore(), " "); !strings.Contains(changed, "could not be moved aside: ") {
		t.Errorf("what could not be done is not said: %q", changed)
	}
}

func TestWhatTwoJobsFindMissingAtOnceIsLeftOutOnce(t *testing.T) {
	t.Parallel()
	got := lacking{}.with(frame.LayerLandlock).with(frame.LayerLandlock).with("root")
	if len(got.layers) != 1 || !got.namespaces {
		t.Errorf("%+v", got)
	}
}

func TestWhatAMachineLacksIsLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	_, job := yard(t)
	for _, layer := range []string{"Landlock", "seccomp"} {
		r := says(t, reducedTo(t, lacking{layers: []string{layer}}), job, "cat src/a.txt; cat $OUTSIDE/secret || echo no", "a no")
		all := strings.Join(r.Layers, ", ")
		twice := strings.Contains(strings.TrimPrefix(all, r.Layers[0]), layer)
		if r.Layers[0] != "reduced: no "+layer || twice || !strings.Contains(all, "namespaces") {
			t.Errorf("without %s: %s", layer, all)
		}
	}
	r := says(t, reducedTo(t, lacking{}), job, "cat src/a.txt", "a")
	if strings.Contains(strings.Join(r.Layers, " "), "reduced") {
		t.Errorf("where nothing is missing: %q", r.Layers)
	}
	job.Argv = []string{"true"}
	_, err := reducedTo(t, lacking{layers: []string{"Landlock"}, namespaces: true}).Run(t.Context(), job)
	if core.KindOf(err) != core.Unavailable || !strings.Contains(err.Error(), "nothing would confine a program") {
		t.Errorf("without both: %v", err)
	}
}
