//go:build linux

package shell_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
	"loci/core/jobs"
	"loci/core/permission"
	"loci/sandbox"
	"loci/sandbox/stage"
	"loci/tools/workspace/shell"
)

// TestMain lets the tests' own program be launcher and first process of sandboxes, as the daemon's is.
func TestMain(m *testing.M) {
	if code, ours := stage.Main(os.Args); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// place is a project with a person's home and ours.
type place struct {
	testing.TB
	dir, home, ours string
	shell           *shell.Shell
	box             core.Sandbox
	jobs            *jobs.Registry
	env             core.ToolEnv
	rules           permission.Set
}

func open(tb testing.TB) *place {
	tb.Helper()
	base, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	p := &place{TB: tb, dir: filepath.Join(base, "project"), home: filepath.Join(base, "home"), ours: filepath.Join(base, "ours")}
	for _, dir := range []string{p.dir, p.home, p.ours} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	box := sandbox.New(sandbox.Config{Mode: sandbox.Full, Scratch: filepath.Join(base, "jobs")})
	tb.Cleanup(box.Close)
	if r := box.Probe(tb.Context()); r.Level != sandbox.LevelFull {
		tb.Skip("this machine cannot confine programs: " + r.Detail)
	}
	p.jobs = registry(tb)
	p.box = box
	p.shell = shell.New(shell.Config{
		Sandbox: box, Jobs: p.jobs, Caches: filepath.Join(p.ours, "caches"), Home: p.home, Hidden: []string{p.ours},
	})
	p.env.Workspace = core.WorkspaceEnv{Path: p.dir, Mode: core.ModeAsk}
	return p
}

// registry is one that tells nobody of an end.
func registry(tb testing.TB) *jobs.Registry {
	tb.Helper()
	r := jobs.New(jobs.Config{Clock: time.Now, Logger: slog.New(slog.DiscardHandler)})
	tb.Cleanup(r.Close)
	return r
}

func (p *place) file(path, text string) {
	p.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		p.Fatal(err)
	}
}

func (p *place) call(ctx context.Context, args shell.Args) core.ToolResult {
	p.Helper()
	env := p.env // lines run side by side
	at := permission.Place{Mode: env.Workspace.Mode, Root: env.Workspace.Path, Dir: env.Workspace.Dir, Home: p.home, Real: permission.Real}
	env.Workspace.Paths = p.rules.Paths(permission.Call{Tool: "shell", Does: permission.DoesShell, Line: args.Command}, at)
	r, err := p.shell.Run(ctx, args, env)
	if err != nil {
		return core.ToolError("error: " + err.Error())
	}
	return r
}

// line runs a line as the next one of the conversation.
func (p *place) line(command string) string {
	p.Helper()
	r := p.call(p.Context(), shell.Args{Command: command})
	p.env.Workspace.Dir = r.Dir
	return r.Text
}

func (p *place) is(got, want string) {
	p.Helper()
	if got != want {
		p.Errorf("got  %q\nwant %q", got, want)
	}
}

func (p *place) says(got string, words ...string) {
	p.Helper()
	for _, w := range words {
		if !strings.Contains(got, w) {
			p.Errorf("%q does not say %q", got, w)
		}
	}
}

func TestALineRunsInTheFolderAndTellsHowItEnded(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.is(p.line(`echo hello | tee made; pwd; echo oops >&2; exit 3`), "Exit code 3.\nhello\n"+p.dir+"\noops")
	if text, err := os.ReadFile(filepath.Join(p.dir, "made")); err != nil || string(text) != "hello\n" {
		t.Errorf("%q %v", text, err)
	}
	p.is(p.line(`printf '\033[31mred\033[0m\033]0;title\a\n10%%\r100%%\n'`), "Exit code 0.\nred\n100%")
	p.says(p.line("kill -9 $$"), "ended by the signal SIGKILL")
	p.is(p.line("true\necho )"), "Exit code 2.\nbash: eval: line 2: syntax error near unexpected token `)'\nbash: eval: line 2: `echo )'")
	p.is(p.line("env | grep -c LOCI"), "Exit code 1.\n0")
	p.is(p.line(`echo $HOME $TERM $LANG $NO_COLOR; shopt -q login_shell || echo plain; echo "$0:$#"`),
		"Exit code 0.\n/work dumb C.UTF-8 1\nplain\nbash:0")
}

func TestAFolderHoldsForTheNextLineAndNeverLeadsOut(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.is(p.line("mkdir -p a/b && cd a/b"), "Exit code 0. The next line begins in a/b.")
	p.is(p.line("pwd; cd ..; exit 1"), "Exit code 1. The next line begins in a.\n"+p.dir+"/a/b")
	p.is(p.line("cd /usr; pwd"), "Exit code 0. The next line begins in a.\n/usr")
	const forge = `f=$XDG_CACHE_HOME/$(trap -p EXIT | grep -o '.loci-end-[a-z0-9]*'); trap - EXIT; `
	for _, with := range []string{`echo /etc >"$f"`, `mkfifo "$f"`, `ln -s /etc/passwd "$f"`, `ln -s "$HOME" "$f"`, `mkdir "$f"`} {
		p.is(p.line(forge+with), "Exit code 0. The next line begins in a.")
	}
	p.is(p.line("cd ..; rm -r a; ln -s /usr out; cd out"), "Exit code 0.")
	p.is(p.line("pwd"), "Exit code 0.\n"+p.dir)
}

func TestAPlanChangesNothing(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.file(filepath.Join(p.dir, "a"), "one")
	p.env.Workspace.Mode = core.ModePlan
	p.says(p.line("cat a; echo two >a; rm a"), "one", "Read-only file system")
}

func TestNothingOfOursOrOfThePersonsSecretsIsInside(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.file(filepath.Join(p.ours, "loci.db"), "facts")
	p.file(filepath.Join(p.home, ".ssh", "id_rsa"), "key")
	p.says(p.line("cat "+p.ours+"/loci.db "+p.home+"/.ssh/id_rsa"), "Exit code 1.", "No such file")
	p.env.Workspace = core.WorkspaceEnv{Path: filepath.Dir(p.ours), Mode: core.ModeAsk} // our home is in the project
	p.is(p.line("ls ours; cat ours/loci.db"),
		"Exit code 1.\nls: cannot open directory 'ours': Permission denied\ncat: ours/loci.db: Permission denied\n"+
			"(Closed by rules of permission, to read: home/.ssh. A line that names such a file asks the person.)")
	p.env.Workspace.Path = p.ours
	p.says(p.line("ls"), "Nothing was run", "belongs to Loci itself")
}

func TestToolchainsOfTheHomeAreThereAndCannotBeChanged(t *testing.T) {
	t.Parallel()
	p := open(t)
	tool := filepath.Join(p.home, ".cargo", "bin", "ours-rustc")
	p.file(tool, "#!/bin/sh\necho compiled\n")
	p.file(filepath.Join(p.home, ".nvm/versions/node/v1/bin/ours-node"), "#!/bin/sh\necho node\n")
	p.is(p.line("ours-rustc && ours-node && touch $XDG_CACHE_HOME/kept"), "Exit code 0.\ncompiled\nnode")
	p.says(p.line("echo x >"+tool), "Read-only file system")
	p.is(p.line("ls $XDG_CACHE_HOME"), "Exit code 0.\nkept")
}

func TestALineIsStoppedWithAllThatItStarted(t *testing.T) {
	t.Parallel()
	p := open(t)
	mark := strconv.Itoa(2_000_000 + os.Getpid())
	line := "setsid sleep " + mark + " & sleep " + mark + " & echo begun; wait"
	second := 1
	r := p.call(t.Context(), shell.Args{Command: line, Timeout: &second})
	if !r.IsError {
		t.Error("a line that was stopped is no error")
	}
	p.says(r.Text, "stopped after 1s", "up to 600 seconds")
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { p.says(p.call(ctx, shell.Args{Command: line}).Text, "cancelled") })
	coretest.Until(t, "both run", func() bool { return sleeping(t, mark) == 2 })
	cancel()
	done.Wait()
	p.is(p.line("sleep "+mark+" & echo left"), "Exit code 0.\nleft")
	coretest.Until(t, "none is left", func() bool { return sleeping(t, mark) == 0 })
}

// sleeping counts the processes of this machine that sleep so long.
func sleeping(t *testing.T, mark string) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && strings.HasPrefix(string(text), "sleep\x00"+mark) {
			n++
		}
	}
	return n
}

func TestMuchOutputIsCutInTheMiddle(t *testing.T) {
	t.Parallel()
	p := open(t)
	got := p.line("echo first; seq 100000; echo last >&2")
	p.says(got, "Exit code 0.\nfirst\n1\n2\n", "bytes are left out here", "$XDG_CACHE_HOME", "\n100000\nlast")
	if len(got) > 40<<10 {
		t.Errorf("%d bytes are shown", len(got))
	}
}

func TestWhatOtherProgramsActOnIsNamed(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is not installed:", err)
	}
	p := open(t)
	p.file(filepath.Join(p.home, ".gitconfig"), "[core]\n\tname = no\n[user]\n\tname = \"Ada L\" # hers\n\temail = ada@example.org\n")
	commit := "git init -q . && echo one >a && git add a && git commit -qm one && "
	p.says(p.line(commit+"git log --format='%an <%ae>'"), "Ada L <ada@example.org>")
	p.says(p.line("mv .git .g; echo 'x' >.git/hooks/pre-commit; git config core.fsmonitor x; echo x >.envrc; mkdir -p sub/.git"),
		"busy", "Read-only", "Other programs act on what was changed here; tell the person: .envrc, sub/.git")
}

func TestWhatCannotRunIsRefusedInASentence(t *testing.T) {
	t.Parallel()
	p := open(t)
	zero := 0
	p.says(p.call(t.Context(), shell.Args{Command: " "}).Text, "command is empty")
	p.says(p.call(t.Context(), shell.Args{Command: "a\x00b"}).Text, "zero byte")
	p.says(p.call(t.Context(), shell.Args{Command: "ls", Timeout: &zero}).Text, "from 1 to 600")
	p.says(p.call(t.Context(), shell.Args{Command: strings.Repeat("x", 70_000)}).Text, "Write a script")
	p.env.Workspace.Path = p.dir + "/gone"
	p.says(p.line("ls"), "Nothing was run", "can't be opened")
	p.env.Workspace.Path = ""
	p.says(p.line("ls"), "No folder is open")
	p.env.Workspace.Path = p.dir
	p.shell = shell.New(shell.Config{Sandbox: broken{}, Jobs: registry(t), Caches: p.ours})
	p.is(p.line("ls"), "Nothing was run: no namespaces. What helps, and only a person can do it: turn them on.")
}

// broken is a sandbox that the machine has not.
type broken struct{}

func (broken) Run(context.Context, core.Job) (core.JobResult, error) {
	return core.JobResult{}, core.E(core.Unavailable, "no namespaces").WithHint("turn them on")
}

func TestFiftyLinesAtOnceLeaveNothing(t *testing.T) {
	t.Parallel()
	p := open(t)
	mark := strconv.Itoa(3_000_000 + os.Getpid())
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			r := p.call(t.Context(), shell.Args{Command: "sleep " + mark + " & echo " + strconv.Itoa(i)})
			if want := "Exit code 0.\n" + strconv.Itoa(i); r.Text != want {
				t.Errorf("%q, want %q", r.Text, want)
			}
		})
	}
	all.Wait()
	coretest.Until(t, "none is left", func() bool { return sleeping(t, mark) == 0 })
	for _, dir := range []string{filepath.Join(filepath.Dir(p.ours), "jobs"), p.dir} {
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("left in %s: %v %v", dir, left, err)
		}
	}
	caches, err := filepath.Glob(filepath.Join(p.ours, "caches", "*", ".loci-end-*"))
	if err != nil || len(caches) != 0 {
		t.Errorf("left in the cache: %v %v", caches, err)
	}
}

func TestALineRunsInAFolderThatHoldsFoldersOfOursWithinEachOther(t *testing.T) {
	t.Parallel()
	p := open(t)
	inner := filepath.Join(p.dir, "ours", "run")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	p.shell = shell.New(shell.Config{
		Sandbox: p.box, Jobs: p.jobs, Caches: filepath.Join(p.ours, "caches"), Home: p.home, Hidden: []string{filepath.Dir(inner), inner},
	})
	p.is(p.line("echo yes; ls ours"), "Exit code 2.\nyes\nls: cannot open directory 'ours': Permission denied")
}
