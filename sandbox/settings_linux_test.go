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

// configOf is the text of a repository's configuration.
func configOf(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, ".git/config"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// told are the settings that a job changed, with why they were not written.
func told(r core.JobResult) map[string]string {
	out := map[string]string{}
	for _, s := range r.Settings {
		out[s.Name+"="+strings.Join(s.Values, ",")] = s.Why
	}
	return out
}

func TestSettingsThatAreSafeAreWrittenAfterTheLine(t *testing.T) {
	t.Parallel()
	l := local(t)
	for line, want := range map[string]string{
		"git remote add up https://example.com/a.git": "[remote \"up\"]\n\turl = https://example.com/a.git\n" +
			"\tfetch = +refs/heads/*:refs/remotes/up/*\n",
		"git config user.name 'Ada \"L\"'; git config user.email a@b":    "[user]\n\tname = Ada \\\"L\\\"\n\temail = a@b\n",
		"git config pull.rebase true && git config --get pull.rebase":    "[pull]\n\trebase = true\n",
		"git switch -q -c side --track main":                             "[branch \"side\"]\n\tremote = .\n\tmerge = refs/heads/main\n",
		"git branch -q a; git branch --set-upstream-to=main a":           "[branch \"a\"]\n\tremote = .\n\tmerge = refs/heads/main\n",
		"git config push.autoSetupRemote true; git branch -q -m main m2": "[push]\n\tautoSetupRemote = true\n",
	} {
		dir := repository(t)
		before := configOf(t, dir)
		r := run(t.Context(), t, l, in(dir, line))
		if got := configOf(t, dir); r.ExitCode != 0 || got != before+want {
			t.Errorf("%s: %d %s\n%s\n%+v", line, r.ExitCode, r.Stderr.Kept, got, r.Settings)
		}
		if len(r.Settings) == 0 || slices.ContainsFunc(r.Settings, func(s core.JobSetting) bool { return s.Why != "" }) {
			t.Errorf("%s: %+v", line, r.Settings)
		}
		git(t, dir, "status")
	}
}

func TestSettingsThatCouldRunSomethingAreRefusedAndNamed(t *testing.T) {
	t.Parallel()
	l := local(t)
	for line, want := range map[string]string{
		"git config core.fsmonitor /x":                                           "core.fsmonitor=/x",
		"git config alias.x '!sh'":                                               "alias.x=!sh",
		"git config core.hooksPath h":                                            "core.hookspath=h",
		"git config include.path ../x":                                           "include.path=../x",
		"git remote add up 'ext::sh -c x'":                                       "remote.up.url=ext::sh -c x",
		"git remote add up ../x":                                                 "remote.up.url=../x",
		"git config branch.main.remote folder":                                   "branch.main.remote=folder",
		"printf '[core]\\n\\tpager = x' >> .git/config":                          "core.pager=x",
		"git config --unset core.logallrefupdates":                               "core.logallrefupdates=",
		"git config credential.helper '!x'; git config a.b c":                    "credential.helper=!x",
		`python3 -c 'open(".git/config","w").write("[core]\nsshCommand = x\n")'`: "core.sshcommand=x",
	} {
		dir := repository(t)
		before := configOf(t, dir)
		r := run(t.Context(), t, l, in(dir, line))
		if why, named := told(r)[want]; !named || why == "" {
			t.Errorf("%s: %d %s %+v", line, r.ExitCode, r.Stderr.Kept, r.Settings)
		}
		if got := strings.ReplaceAll(configOf(t, dir), "[remote \"up\"]\n\tfetch = +refs/heads/*:refs/remotes/up/*\n", ""); got != before {
			t.Errorf("%s:\n%s", line, got)
		}
	}
}

func TestACopyThatIsBrokenLargeOrGoneChangesNothing(t *testing.T) {
	t.Parallel()
	l := local(t)
	for _, line := range []string{
		"echo '[[' > .git/config", "head -c 2000000 /dev/zero > .git/config", "rm /gitconfig/0/config", "rm -r /gitconfig/*",
		"rm /gitconfig/0/config; ln -s /etc/passwd /gitconfig/0/config", "rm /gitconfig/0/config; mkfifo /gitconfig/0/config",
		"chmod 0 /gitconfig/0", "git config user.name x; rm /gitconfig/0/config; mkdir /gitconfig/0/config",
		"rm -f .git/config; mv .git/config x; ln -sf x .git/config; true",
	} {
		dir := repository(t)
		before := configOf(t, dir)
		r := run(t.Context(), t, l, in(dir, line))
		said := len(r.Settings) == 1 && r.Settings[0].Name == "config" && r.Settings[0].Why != ""
		silent := strings.HasPrefix(line, "chmod") || strings.HasPrefix(line, "rm -f .git") // the copy stays as it is
		if r.ExitCode != 0 || !said && !silent || configOf(t, dir) != before {
			t.Errorf("%s: %d %s %+v\n%s", line, r.ExitCode, r.Stderr.Kept, r.Settings, configOf(t, dir))
		}
	}
}

func TestTheLockOfAConfigurationIsRespected(t *testing.T) {
	t.Parallel()
	dir, l := repository(t), local(t)
	before := configOf(t, dir)
	write(t, filepath.Join(dir, ".git/config.lock"), "")
	r := run(t.Context(), t, l, in(dir, "git config user.name x"))
	if why := told(r)["user.name=x"]; !strings.Contains(why, "another program holds") || configOf(t, dir) != before {
		t.Errorf("%+v\n%s", r.Settings, configOf(t, dir))
	}
	if _, err := os.Stat(filepath.Join(dir, ".git/config.lock")); err != nil {
		t.Error("the lock of another program is gone")
	}
}

func TestWhatAPersonChangedMeanwhileIsNotOverwritten(t *testing.T) {
	t.Parallel()
	dir, l := repository(t), local(t)
	job := in(dir, "git config user.name Agent; git config user.email a@b; echo ready; until [ -e done ]; do sleep 0.02; done")
	r := meanwhile(t, l, job, func() {
		text := configOf(t, dir) // over the file: a new one would end the line
		if err := os.WriteFile(filepath.Join(dir, ".git/config"), []byte(text+"[user]\n\tname = Ada\n"), 0o600); err != nil {
			t.Error(err)
		}
		write(t, filepath.Join(dir, "done"), "")
	})
	if got := configOf(t, dir); !strings.HasSuffix(got, "[user]\n\tname = Ada\n\temail = a@b\n") || told(r)["user.name=Agent"] == "" {
		t.Errorf("%s %+v\n%s", r.Ended, r.Settings, got)
	}
}

func TestAPlanAndAToolChangeNoSettings(t *testing.T) {
	t.Parallel()
	dir, l := repository(t), local(t)
	plan, tool := in(dir, "git config user.name x"), in(dir, "git config user.name x")
	plan.Project.Writable, tool.Profile = false, core.JobTool
	closed := in(dir, "git config user.name x")
	closed.Project.ReadOnly = []string{".git/config"}
	masked := in(dir, "git config user.name x")
	masked.Project.Masked = []string{".git"}
	for _, job := range []core.Job{plan, tool, closed, masked} {
		if r := run(t.Context(), t, l, job); r.ExitCode == 0 || len(r.Settings) != 0 {
			t.Errorf("%d %+v", r.ExitCode, r.Settings)
		}
	}
}

func TestGitMakesRepositoriesWorktreesAndSubmodules(t *testing.T) {
	t.Parallel()
	dir, l := repository(t), local(t)
	r := run(t.Context(), t, l, in(dir, `exec 2>&1; set -e
		git init -q new; cd new; git config user.name x; git commit -q --allow-empty -m a; cd ..
		git clone -q new copy; git -C copy log --format=%s
		git init -q --bare bare.git; git -C copy push -q ../bare.git HEAD:refs/heads/x
		git worktree add -q tree -b side; cd tree; echo x > y; git add y; git commit -qm tree; cd ..; git worktree list | wc -l
		git -c protocol.file.allow=always submodule --quiet add ./new sub; git submodule status | wc -l; git commit -qm sub`))
	if got := string(r.Stdout.Kept); r.ExitCode != 0 || got != "a\n2\n1\n" {
		t.Errorf("%d %q %+v", r.ExitCode, got, r.Settings)
	}
	for _, want := range []string{
		"new/.git", "copy/.git", "bare.git/config", "tree/.git", ".git/worktrees/tree/commondir", ".git/modules/sub/config", "sub/.git",
	} {
		if !slices.Contains(r.Changed, filepath.Join(dir, want)) {
			t.Errorf("%s is not named: %q", want, r.Changed)
		}
	}
	// From the next line on, what git would run in the submodule can't be written either, and its settings are judged.
	r = run(t.Context(), t, l, in(dir, `echo x > .git/modules/sub/hooks/post-checkout; git -C sub config core.fsmonitor /x
		git -C sub config user.name Ada`))
	text, err := os.ReadFile(filepath.Join(dir, ".git/modules/sub/config"))
	if err != nil || strings.Contains(string(text), "fsmonitor") || !strings.Contains(string(text), "name = Ada") ||
		!strings.Contains(string(r.Stderr.Kept), "Read-only") {
		t.Errorf("%s %+v %v\n%s", r.Stderr.Kept, r.Settings, err, text)
	}
	// And git works in the submodule as a project of its own.
	sub := filepath.Join(dir, "sub")
	r = run(t.Context(), t, l, in(sub, "echo x > z; git add z; git commit -qm in-sub; git log --format=%s; git config core.pager /x"))
	if string(r.Stdout.Kept) != "in-sub\na\n" || told(r)["core.pager=/x"] == "" {
		t.Errorf("%q %q %+v", r.Stdout.Kept, r.Stderr.Kept, r.Settings)
	}
}

func TestABareRepositoryIsGuardedToo(t *testing.T) {
	t.Parallel()
	need(t, "git")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", "--bare")
	r := run(t.Context(), t, local(t), in(dir, `echo x > hooks/post-update; mv hooks h; git config core.fsmonitor /x
		git config user.name Ada; git branch -a`))
	text, err := os.ReadFile(filepath.Join(dir, "config"))
	if err != nil || strings.Contains(string(text), "fsmonitor") || !strings.Contains(string(text), "name = Ada") {
		t.Errorf("%v %s", err, text)
	}
	if strings.Count(string(r.Stderr.Kept), "Read-only")+strings.Count(string(r.Stderr.Kept), "busy") != 2 {
		t.Errorf("%q", r.Stderr.Kept)
	}
}

func TestSettingsOfAWorktreeAreThoseOfItsRepository(t *testing.T) {
	t.Parallel()
	dir, l := repository(t), local(t)
	tree := filepath.Join(filepath.Dir(dir), filepath.Base(dir)+"-tree")
	t.Cleanup(func() { _ = os.RemoveAll(tree) })
	git(t, dir, "worktree", "add", "-q", tree, "-b", "side")
	r := run(t.Context(), t, l, in(tree, "git remote add up git@example.com:a/b.git; git config core.fsmonitor /x; git remote"))
	if got := configOf(t, dir); string(r.Stdout.Kept) != "up\n" || !strings.Contains(got, "git@example.com:a/b.git") ||
		strings.Contains(got, "fsmonitor") {
		t.Errorf("%q %q\n%s", r.Stdout.Kept, r.Stderr.Kept, got)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "-C", tree, "remote").Output(); err != nil || string(out) != "up\n" {
		t.Errorf("%s %v", out, err)
	}
}
