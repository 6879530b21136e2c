//go:build linux

package shell_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"loci/core"
	"loci/core/coretest"
	"loci/tools/workspace/shell"
)

// behind starts a line in the background and returns its id.
func (p *place) behind(command string) string {
	p.Helper()
	r := p.call(p.Context(), shell.Args{Command: command, Background: true})
	id := regexp.MustCompile(`job-\w+`).FindString(r.Text)
	if r.IsError || id == "" || r.Dir != "" {
		p.Fatalf("it is not in the background: %+v", r)
	}
	return id
}

func (p *place) job(args shell.JobArgs) core.ToolResult {
	p.Helper()
	r, err := p.shell.Job(p.Context(), args, p.env)
	if err != nil {
		return core.ToolError("error: " + err.Error())
	}
	return r
}

func TestALineInTheBackgroundIsSeenWhileItRunsAndWhenItHasEnded(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.env.Conversation = "conv-1"
	id := p.behind("echo begun; until test -e go; do sleep 0.01; done; echo over; exit 3")
	coretest.Until(t, "its first row", func() bool { return strings.HasSuffix(p.job(shell.JobArgs{ID: id}).Text, "\nbegun") })
	if r := p.job(shell.JobArgs{ID: id}); r.IsError || !strings.HasPrefix(r.Text, id+" still runs, since ") {
		t.Errorf("while it runs: %+v", r)
	}
	p.is(p.line("echo another line"), "Exit code 0.\nanother line")
	p.file(filepath.Join(p.dir, "go"), "")
	r := p.job(shell.JobArgs{ID: id, Wait: new(60)})
	p.says(r.Text, id+" has ended after ", "Exit code 3.\nbegun\nover")
	for name, call := range map[string]func() core.ToolResult{
		"no such job":     func() core.ToolResult { return p.job(shell.JobArgs{ID: "job-none"}) },
		"a negative wait": func() core.ToolResult { return p.job(shell.JobArgs{ID: id, Wait: new(-1)}) },
		"another conversation's": func() core.ToolResult {
			p.env.Conversation = "conv-2"
			return p.job(shell.JobArgs{ID: id})
		},
	} {
		if r := call(); !r.IsError {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestAStoppedLineLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	p := open(t)
	id := p.behind("sleep 4711.25 & sleep 4711.5")
	coretest.Until(t, "both to run", func() bool { return running("4711.25") && running("4711.5") })
	r := p.job(shell.JobArgs{ID: id, Stop: true})
	if r.IsError || !strings.Contains(r.Text, "It was cancelled, with all that it had started.") {
		t.Errorf("stopped: %+v", r)
	}
	if running("4711.25") || running("4711.5") {
		t.Error("a process of it is left")
	}
}

// running reports whether there is a process with an argument.
func running(argument string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "\x00"+argument+"\x00") {
			return true
		}
	}
	return false
}

func TestALineThatAPersonSendsToTheBackgroundGoesOn(t *testing.T) {
	t.Parallel()
	p := open(t)
	returned := make(chan core.ToolResult, 1)
	go func() {
		line := "echo begun; until test -e go; do sleep 0.01; done; cd /tmp; echo over"
		returned <- p.call(p.Context(), shell.Args{Command: line, Timeout: new(30)})
	}()
	coretest.Until(t, "what it writes", func() bool {
		all := p.jobs.List("")
		return len(all) == 1 && all[0].Tail(5) == "begun"
	})
	id := p.jobs.List("")[0].ID
	if _, err := p.jobs.Behind(id); err != nil {
		t.Fatal(err)
	}
	r := <-returned
	p.says(r.Text, "The person sent it to the background, where it goes on as "+id, "\nbegun")
	p.file(filepath.Join(p.dir, "go"), "")
	p.says(p.job(shell.JobArgs{ID: id, Wait: new(60)}).Text, "Exit code 0.", "begun\nover")
}

func TestTheTailOfALineIsBoundedInRowsAndWidth(t *testing.T) {
	t.Parallel()
	p := open(t)
	id := p.behind(`seq 1 9; printf 'wide%.0s' {1..1000}; printf '\n\033[31mred\a\n'; until test -e go; do sleep 0.01; done`)
	tail := ""
	coretest.Until(t, "its last row", func() bool {
		j, err := p.jobs.Get(id)
		tail = j.Tail(3)
		return err == nil && strings.HasSuffix(tail, "red")
	})
	rows := strings.Split(tail, "\n")
	if len(rows) != 3 || rows[0] != "9" || !strings.HasSuffix(rows[1], "wide…") || len(rows[1]) > 510 || rows[2] != "red" {
		t.Errorf("got %q", tail)
	}
	p.file(filepath.Join(p.dir, "go"), "")
}
