//go:build linux

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loci/core"
)

// repository is a folder with a commit, as a person has it.
func repository(t *testing.T) string {
	t.Helper()
	need(t, "git")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "main.go"), "package main\n")
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", ".")
	git(t, dir, "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "one")
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, []string{path, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v: %s", args, err, out)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// in is a line of a shell in a project.
func in(dir, script string) core.Job {
	job := sh(script)
	job.Profile, job.Project = core.JobShell, &core.JobProject{Path: dir, Writable: true}
	job.Env = append(job.Env, "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=e@x", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=e@x")
	return job
}

func TestAProjectIsWorkedInAtItsOwnPath(t *testing.T) {
	t.Parallel()
	dir, l := repository(t), local(t)
	r := run(t.Context(), t, l, in(dir, `pwd; echo changed > main.go; git add . && git commit -qm two && git log --format=%s
		echo x > /tmp/x && echo y > $HOME/y`))
	if want := dir + "\ntwo\none\n"; r.ExitCode != 0 || string(r.Stdout.Kept) != want {
		t.Errorf("%d %q %q", r.ExitCode, r.Stdout.Kept, r.Stderr.Kept)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "main.go")); err != nil || string(text) != "changed\n" {
		t.Errorf("outside: %q %v", text, err)
	}
	if len(r.Changed) != 0 {
		t.Errorf("a commit changed %q", r.Changed)
	}
	if left, err := os.ReadDir(l.cfg.Scratch); err != nil || len(left) != 0 {
		t.Errorf("left of its temporary files: %v %v", left, err)
	}
}

func TestAPlanCanReadAProjectAndChangeNothing(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	job := in(dir, "cat main.go; echo x > main.go; echo x > new; git log --format=%s; chmod 777 main.go; rm -rf .git")
	job.Project.Writable = false
	r := run(t.Context(), t, local(t), job)
	if string(r.Stdout.Kept) != "package main\none\n" || strings.Count(string(r.Stderr.Kept), "Read-only file system") < 4 {
		t.Errorf("%q %q", r.Stdout.Kept, r.Stderr.Kept)
	}
	git(t, dir, "diff", "--exit-code")
}

func TestDeniedPathsCannotBeReadOrCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	write(t, filepath.Join(dir, ".env"), "KEY=of-a-person\n")
	write(t, filepath.Join(dir, "secret/deep/id_rsa"), "of-a-person\n")
	write(t, filepath.Join(dir, "vendor/lib.go"), "package lib\n")
	if err := os.Symlink(".env", filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	job := in(dir, `cat .env alias secret/deep/id_rsa; ls secret; cp -r . /tmp/copy; grep -r of-a-person . /tmp/copy
		mv .env x; mv secret y; cat x y/deep/id_rsa; echo x > vendor/lib.go; rm -rf vendor; mv vendor v; cat vendor/lib.go`)
	job.Project.Masked, job.Project.ReadOnly = []string{"alias", "secret", "not-there"}, []string{"vendor", "nor-this"}
	r := run(t.Context(), t, local(t), job)
	if strings.Contains(string(r.Stdout.Kept), "of-a-person") || !strings.Contains(string(r.Stdout.Kept), "package lib") {
		t.Errorf("%q %q", r.Stdout.Kept, r.Stderr.Kept)
	}
	for _, name := range []string{"not-there", "nor-this"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was made in the project, as a place for a mount", name)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, ".env")); err != nil || string(text) != "KEY=of-a-person\n" {
		t.Errorf("outside: %q %v", text, err)
	}
}

func TestWhatIsHiddenIsNotStoredAsEmpty(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	write(t, filepath.Join(dir, "key.pem"), "of-a-person\n")
	write(t, filepath.Join(dir, "secret/key"), "of-a-person\n")
	git(t, dir, "add", ".")
	git(t, dir, "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "two")
	job := in(dir, "cat key.pem; ls secret; tar c . | tar t; echo x > new; git add -A; git commit -qam all; git stash; git status")
	job.Project.Masked = []string{"key.pem", "secret"}
	r := run(t.Context(), t, local(t), job)
	if strings.Count(string(r.Stderr.Kept), "Permission denied") < 4 {
		t.Errorf("%q %q", r.Stdout.Kept, r.Stderr.Kept)
	}
	for name, want := range map[string]string{"key.pem": "of-a-person\n", "secret/key": "of-a-person\n"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != want {
			t.Errorf("outside, %s: %q %v", name, text, err)
		}
		git(t, dir, "diff", "--exit-code", "HEAD", "--", name)
		git(t, dir, "cat-file", "-e", "HEAD:"+name)
	}
}

func TestAFolderThatIsFixedStaysWhereItIs(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	write(t, filepath.Join(dir, "a/b/key"), "of-a-person\n")
	write(t, filepath.Join(dir, ".git/x"), "of-a-person\n")
	job := in(dir, "mv a c; mv a/b a/c; mv .git g; echo x > .git/hooks/y; echo new > a/made; mv a/made a/b/moved; rm -rf a/b; "+
		"cat a/b/key .git/x")
	job.Project.Masked, job.Project.Fixed = []string{"a/b/key", ".git/x"}, []string{".git", "a", "a/b"}
	r := run(t.Context(), t, local(t), job)
	if strings.Contains(string(r.Stdout.Kept), "of-a-person") || strings.Count(string(r.Stderr.Kept), "busy") < 4 ||
		!strings.Contains(string(r.Stderr.Kept), "Read-only") {
		t.Errorf("%q %q", r.Stdout.Kept, r.Stderr.Kept)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a/b/key")); err != nil || string(text) != "of-a-person\n" {
		t.Errorf("outside: %q %v", text, err)
	}
}

func TestWhatGitWouldRunInAHiddenFolderKeepsNoJobFromRunning(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	job := in(dir, "cat .git/config; cat main.go")
	job.Project.Masked = []string{".git"}
	if r := run(t.Context(), t, local(t), job); string(r.Stdout.Kept) != "package main\n" {
		t.Errorf("%q %q", r.Stdout.Kept, r.Stderr.Kept)
	}
}

// TestTheGitHole is the way out that was found by hand: a hook that runs at the next commit outside.
func TestTheGitHoleIsClosed(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	r := run(t.Context(), t, local(t), in(dir, `mv .git .g; mv .git/hooks .h; mv .git/config .c
		echo x > .git/hooks/pre-commit; git config core.fsmonitor /x; ln -sf x .git/config; rm -rf .git/hooks`))
	if got := strings.Count(string(r.Stderr.Kept), "busy") + strings.Count(string(r.Stderr.Kept), "Read-only"); got < 5 {
		t.Errorf("%q", r.Stderr.Kept)
	}
	if _, err := os.Stat(filepath.Join(dir, ".git/hooks/pre-commit")); err == nil {
		t.Error("there is a hook")
	}
	git(t, dir, "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "outside", "--allow-empty")
}

func TestWhatOthersWouldActOnIsReported(t *testing.T) {
	t.Parallel()
	dir, l := repository(t), local(t)
	for script, want := range map[string]string{
		"echo ../x > .git/commondir":                                       ".git/commondir",
		"echo x > .git/config.worktree":                                    ".git/config.worktree",
		"mkdir -p .git/modules/a && echo x > .git/modules/a/config":        ".git/modules/a/config",
		"mkdir -p .git/modules/b/hooks && echo x > .git/modules/b/hooks/c": ".git/modules/b/hooks/c",
		"mkdir -p deep/er && git init -q deep/er/sub":                      "deep/er/sub/.git",
		"mkdir filed && echo 'gitdir: ../x' > filed/.git":                  "filed/.git",
		"echo x > .envrc": ".envrc",
		"mkdir -p sub/.vscode && echo x > sub/.vscode/tasks.json": "sub/.vscode/tasks.json",
		"echo x > .mcp.json":                                                      ".mcp.json",
		"mkdir .claude && echo x > .claude/settings.json":                         ".claude/settings.json",
		"mkdir -p .loci/hooks && echo x > .loci/hooks/a":                          ".loci/hooks/a",
		"mkdir made && cp main.go made/.envrc && touch -d 2001-01-01 made/.envrc": "made/.envrc",
	} {
		r := run(t.Context(), t, l, in(dir, script))
		if r.ExitCode != 0 || !slices.Contains(r.Changed, filepath.Join(dir, want)) {
			t.Errorf("%s: %d %q %q", script, r.ExitCode, r.Changed, r.Stderr.Kept)
		}
	}
	if r := run(t.Context(), t, l, in(dir, "echo y >> main.go; cat .envrc; git status; git stash; git stash pop")); len(r.Changed) != 0 {
		t.Errorf("work on files changed %q", r.Changed)
	}
	r := run(t.Context(), t, l, in(dir, "echo x > .loci/hooks/b; echo x > .loci/hooks/a"))
	if strings.Count(string(r.Stderr.Kept), "Read-only") != 2 {
		t.Errorf("what is ours can be written: %q", r.Stderr.Kept)
	}
}

func TestHooksElsewhereAreReadOnlyToo(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	git(t, dir, "config", "core.hooksPath", ".husky")
	write(t, filepath.Join(dir, ".husky/pre-commit"), "true\n")
	r := run(t.Context(), t, local(t), in(dir, "echo x > .husky/pre-commit; echo x > .husky/post-commit; mv .husky h"))
	if strings.Count(string(r.Stderr.Kept), "Read-only")+strings.Count(string(r.Stderr.Kept), "busy") != 3 {
		t.Errorf("%q", r.Stderr.Kept)
	}
}

func TestGitWorksInAWorktreeAndNoFileNamesAnotherRepository(t *testing.T) {
	t.Parallel()
	dir, l := repository(t), local(t)
	tree := filepath.Join(filepath.Dir(dir), filepath.Base(dir)+"-tree")
	t.Cleanup(func() { _ = os.RemoveAll(tree) })
	git(t, dir, "worktree", "add", "-q", tree, "-b", "side")
	r := run(t.Context(), t, l, in(tree, `echo x > main.go; git commit -qam in-tree && git log --format=%s
		echo x > `+dir+"/.git/hooks/a; ls "+dir))
	if string(r.Stdout.Kept) != "in-tree\none\n" || !strings.Contains(string(r.Stderr.Kept), "Read-only") {
		t.Errorf("%q %q", r.Stdout.Kept, r.Stderr.Kept)
	}
	if strings.Contains(string(r.Stdout.Kept), "main.go") {
		t.Errorf("the other worktree is there: %q", r.Stdout.Kept)
	}
	// A project whose .git file names a repository that doesn't know it gets nothing of that.
	liar := t.TempDir()
	write(t, filepath.Join(liar, ".git"), "gitdir: "+filepath.Join(dir, ".git/worktrees", filepath.Base(tree))+"\n")
	r = run(t.Context(), t, l, in(liar, "ls "+dir+"/.git; git log"))
	if !strings.Contains(string(r.Stderr.Kept), "No such file") || strings.Contains(string(r.Stdout.Kept), "HEAD") {
		t.Errorf("a file opened another repository: %q %q", r.Stdout.Kept, r.Stderr.Kept)
	}
}

func TestALinkThatAppearsInTheProjectMovesNoMount(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	write(t, filepath.Join(dir, "a/.env"), "KEY=1\n")
	p, err := openProject(&core.JobProject{Path: dir, Writable: true, Masked: []string{"a/.env"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/usr", filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	l, job := local(t), in(dir, "true")
	job.Mounts = nil
	job.Project = &core.JobProject{Path: p.path, Writable: true, Masked: []string{"a/bin"}} // through the link: /usr/bin
	if r := run(t.Context(), t, l, job); r.ExitCode != 0 {
		t.Errorf("a mask outside of the project hid the system's programs: %+v", r)
	}
}

func TestAFolderThatTookItsOwnRightsIsStillRemoved(t *testing.T) {
	t.Parallel()
	l := local(t)
	run(t.Context(), t, l, in(t.TempDir(), "mkdir -p /tmp/a/b && touch /tmp/a/b/c && chmod 0 /tmp/a/b /tmp/a; ln -s / /tmp/root"))
	if left, err := os.ReadDir(l.cfg.Scratch); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
}

func TestAMountIsWhereTheJobSaysAndOnlyAsWritableAsItSays(t *testing.T) {
	t.Parallel()
	lib, cache := t.TempDir(), t.TempDir()
	write(t, filepath.Join(lib, "a"), "of lib\n")
	write(t, filepath.Join(lib, "key"), "of-a-person\n")
	job := sh("cat /opt/lib/a; cat /opt/lib/key; echo x > /opt/lib/a; echo x > " + cache + "/new")
	job.Mounts = []core.JobMount{{Source: lib, Target: "/opt/lib", Masked: []string{"key"}}, {Source: cache, Writable: true}}
	r := run(t.Context(), t, local(t), job)
	if string(r.Stdout.Kept) != "of lib\n" || !strings.Contains(string(r.Stderr.Kept), "Read-only") {
		t.Errorf("%q %q", r.Stdout.Kept, r.Stderr.Kept)
	}
	if _, err := os.Stat(filepath.Join(cache, "new")); err != nil {
		t.Error(err)
	}
}
