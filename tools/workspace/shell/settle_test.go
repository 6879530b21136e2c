//go:build linux

package shell_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
	"loci/core/jobs"
	"loci/core/permission"
	"loci/tools/workspace/shell"
)

// here is a person who can be asked, and keeps nothing.
type here struct{}

func (here) Attends(core.Client) bool                                { return true }
func (here) Allowed(core.Client, string) bool                        { return false }
func (here) Keep(core.Client, core.Client, string, jobs.Scope) error { return nil }
func (here) Opens(core.Client, core.Opening) bool                    { return false }
func (here) KeepOpen(core.Client, core.Client, core.Opening, jobs.Scope) error {
	return nil
}

// attended is a project with a repository, where somebody can be asked.
func attended(t *testing.T, rules ...string) *place {
	t.Helper()
	p := open(t)
	p.attend()
	p.says(p.line("git init -q . && git config user.name Ada && git config user.email ada@example.com"), "Exit code 0.")
	set, err := permission.ParseList(permission.List{Allow: rules}, permission.FromSession)
	if err != nil {
		t.Fatal(err)
	}
	p.env.Workspace.Settings = permission.Set(set).Settings(permission.Place{Mode: core.ModeAsk, Root: p.dir})
	return p
}

// attend lets somebody be there who can be asked.
func (p *place) attend() {
	p.Helper()
	p.jobs = jobs.New(jobs.Config{Clock: time.Now, Logger: slog.New(slog.DiscardHandler), Person: here{}})
	p.Cleanup(p.jobs.Close)
	p.shell = shell.New(shell.Config{
		Sandbox: p.box, Jobs: p.jobs, Caches: filepath.Join(p.ours, "caches"), Home: p.home, Hidden: []string{p.ours},
	})
}

func (p *place) config() string {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, ".git/config"))
	if err != nil {
		p.Fatal(err)
	}
	return string(text)
}

// answered runs a line and answers what it asks.
func (p *place) answered(command string, scope jobs.Scope, before func(q jobs.Question)) core.ToolResult {
	p.Helper()
	done := make(chan core.ToolResult, 1)
	go func() { done <- p.call(p.Context(), shell.Args{Command: command}) }()
	coretest.Until(p, "the question", func() bool { return len(p.jobs.Questions("")) == 1 })
	q := p.jobs.Questions("")[0]
	if before != nil {
		before(q)
	}
	if err := p.jobs.Answer(q.ID, scope, core.Client{}); err != nil {
		p.Error(err)
	}
	return <-done
}

func told(r core.ToolResult) string {
	var all []string
	for _, n := range r.Tells {
		all = append(all, n.Kind+": "+n.Text)
	}
	return strings.Join(all, "\n")
}

func TestAPersonIsAskedForSettingsOfGitThatAreNotSafe(t *testing.T) {
	t.Parallel()
	p := attended(t)
	before := p.config()
	const line = "git config core.pager 'less -F'; git config --remove-section user; git config pull.rebase true"
	r := p.answered(line, jobs.ScopeNo, func(q jobs.Question) {
		var asked []string
		for _, s := range q.Settings {
			asked = append(asked, s.Name+"="+strings.Join(s.Values, ",")+" was "+strings.Join(s.Was, ",")+", "+s.May)
		}
		p.is(strings.Join(asked, "\n"), "core.pager=less -F was , is a program that git runs\n"+
			"user.name= was Ada, says who you are in what is committed here\n"+
			"user.email= was ada@example.com, says who you are in what is committed here")
		p.says(p.config(), "rebase = true") // what is safe doesn't wait
	})
	p.says(r.Text, "Exit code 0.", "core.pager (the person does not allow it); user.name (the person does not allow it)")
	p.is(p.config(), before+"[pull]\n\trebase = true\n")
	p.is(told(r), "git: A line changed the project's git configuration: pull.rebase = true.")
	if strings.Contains(r.Text, "What helps") {
		t.Errorf("it is told how to do what was denied: %s", r.Text)
	}

	r = p.answered(line, jobs.ScopeOnce, nil)
	p.says(r.Text, "(Written to the project's git configuration: ", "core.pager = less -F", "user.name (removed)")
	if got := p.config(); !strings.Contains(got, "pager = less -F") || strings.Contains(got, "Ada") {
		t.Error(got)
	}
	p.says(told(r), "core.pager = less -F; user.name (was Ada) removed; user.email (was ada@example.com) removed.")
}

func TestWhatThePersonChangesWhileTheyAreAskedStays(t *testing.T) {
	t.Parallel()
	p := attended(t)
	r := p.answered("git config core.pager x; git config alias.st status", jobs.ScopeOnce, func(jobs.Question) {
		text := p.config() + "[core]\n\tpager = mine\n"
		if err := os.WriteFile(filepath.Join(p.dir, ".git/config"), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	})
	p.says(r.Text, "alias.st = status", "core.pager (it was changed outside meanwhile)")
	got := p.config()
	if !strings.Contains(got, "pager = mine") || strings.Contains(got, "pager = x") || !strings.Contains(got, "st = status") {
		t.Error(got)
	}
}

func TestARuleAllowsSettingsOfGitWithoutAQuestion(t *testing.T) {
	t.Parallel()
	p := attended(t, "git_config(core.pager=less -F)")
	p.says(p.line("git config core.pager 'less -F'"), "(Written to the project's git configuration: core.pager = less -F.)")
	p.says(p.config(), "pager = less -F")
}

// TestWhereNobodyIsThereTheFlagThatAllowsASettingIsNamed denies in a script what would be asked.
func TestWhereNobodyIsThereTheFlagThatAllowsASettingIsNamed(t *testing.T) {
	t.Parallel()
	p := attended(t)
	p.env.Client.Unattended = true
	before := p.config()
	r := p.call(t.Context(), shell.Args{Command: "git config core.pager 'less -F'; git config --unset user.name"})
	p.is(p.config(), before)
	p.says(r.Text, "git config core.pager 'less -F'", "git config --unset-all user.name")
	p.says(told(r), "denied: shell: the project's git configuration was not changed, since nobody is there to be asked: "+
		"core.pager = less -F, which is a program that git runs; user.name (was Ada) removed, which says who you are",
		"It would have been with --allow 'git_config(core.pager=less -F)' --allow 'git_config(user.name)'.")
	flags, _ := r.Tells[0].Data["flags"].([]string)
	p.is(strings.Join(flags, " "), "--allow 'git_config(core.pager=less -F)' --allow 'git_config(user.name)'")
}

func TestMoreThanAPersonCanSeeAtOnceIsNotAsked(t *testing.T) {
	t.Parallel()
	p := attended(t)
	before := p.config()
	r := p.call(t.Context(), shell.Args{Command: "git config core.pager \"$(head -c 400 /dev/zero | tr '\\0' x)\""})
	p.is(p.config(), before)
	p.says(r.Text, "git config --edit")
	p.says(told(r), "git: The project's git configuration was not changed as a line wanted it: core.pager = xxx")
}

func TestWhatARuleForbidsIsNotSaidHowToDo(t *testing.T) {
	t.Parallel()
	p := attended(t)
	set, err := permission.ParseList(permission.List{Deny: []string{"git_config(alias.*)"}}, permission.FromSession)
	if err != nil {
		t.Fatal(err)
	}
	p.env.Workspace.Settings = permission.Set(set).Settings(permission.Place{Mode: core.ModeAsk, Root: p.dir})
	before := p.config()
	r := p.call(t.Context(), shell.Args{Command: "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do git config alias.a$i '!make'; done"})
	p.is(p.config(), before)
	p.says(r.Text, "alias.a1 (the rule git_config(alias.*) of this session forbids it)", "and 2 more.)")
	for _, not := range []string{"What helps", "settings were changed", "Written"} {
		if strings.Contains(r.Text, not) {
			t.Errorf("%q is said: %s", not, r.Text)
		}
	}
}

func TestThePersonIsToldOnceOfWhatALineInTheBackgroundLeftInGit(t *testing.T) {
	t.Parallel()
	p := attended(t, "git_config(core.pager=less -F)")
	id := p.behind("git config core.pager 'less -F'")
	wait := 60
	r := p.job(shell.JobArgs{ID: id, Wait: &wait})
	p.is(told(r), "git: A line changed the project's git configuration: core.pager = less -F.")
	if again := told(p.job(shell.JobArgs{ID: id})); again != "" {
		t.Errorf("told again: %s", again)
	}
}
