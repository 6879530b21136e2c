//go:build linux

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loci/daemon/api"
	"loci/providers/providertest"
)

// piped is a one-shot command that reads and writes lines of JSON.
type piped struct {
	testing.TB
	env    []string
	exe    string
	folder string
	in     io.WriteCloser
	out    *bufio.Scanner
	cmd    *exec.Cmd
}

func newPiped(t *testing.T) *piped {
	t.Helper()
	dir, err := os.MkdirTemp("", "lq") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	model := providertest.NewServer(t)
	p := &piped{TB: t, exe: build(t), folder: t.TempDir(), env: append(os.Environ(),
		"LOCI_HOME="+filepath.Join(dir, "h"), "OPENAI_API_KEY=sk", "OPENAI_BASE_URL="+model.V1(), "OLLAMA_HOST=127.0.0.1:1")}
	t.Cleanup(func() {
		_ = p.command("daemon", "stop").Run() // it may be stopped already
		_ = os.RemoveAll(dir)
	})
	if out, err := p.command("doctor", "--json").Output(); strings.Contains(string(out), "cannot confine") {
		t.Skip("this machine cannot confine programs", err)
	}
	return p
}

func (p *piped) command(args ...string) *exec.Cmd {
	c := exec.Command(p.exe, args...)
	c.Env, c.Dir = p.env, p.folder
	return c
}

// start starts the command with a first message.
func (p *piped) start(message string, flags ...string) {
	p.Helper()
	p.cmd = p.command(append([]string{"-p", "--input-format", "stream-json", "--output-format", "stream-json"}, flags...)...)
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		p.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	p.out.Buffer(nil, 8<<20)
	if err := p.cmd.Start(); err != nil {
		p.Fatal(err)
	}
	p.send(map[string]any{"type": api.InputMessage, "content": message})
}

func (p *piped) send(v any) {
	p.Helper()
	if err := json.NewEncoder(p.in).Encode(v); err != nil {
		p.Fatal(err)
	}
}

// next is the next line of a type, or one of the others that end the wait.
func (p *piped) next(kind string) string {
	p.Helper()
	for p.out.Scan() {
		if line := p.out.Text(); strings.HasPrefix(line, `{"type":"`+kind+`"`) {
			return line
		}
	}
	p.Fatalf("no line of the type %s came: %v", kind, p.out.Err())
	return ""
}

func (p *piped) question() api.Question {
	p.Helper()
	var q api.Question
	if err := json.Unmarshal([]byte(p.next("question")), &q); err != nil {
		p.Fatal(err)
	}
	return q
}

func (p *piped) end() {
	p.Helper()
	p.next("result")
	_ = p.in.Close() // nothing more is said
	for p.out.Scan() {
	}
	_ = p.cmd.Wait() // its code is that of the run
}

// returned is what the model reads of its last line.
func (p *piped) returned() string {
	p.Helper()
	for p.out.Scan() {
		if line := p.out.Text(); strings.Contains(line, `"message_type":"tool_return_message"`) {
			return line
		}
	}
	p.Fatal("the line returned nothing")
	return ""
}

const lookUp = "CALL shell {\"command\": \"getent hosts one.example >/dev/null && echo reached\"}\nSAY done"

func TestAScriptAnswersWhatALineAsksWhileItRuns(t *testing.T) {
	t.Parallel()
	p := newPiped(t)
	p.start(lookUp, "--allow", "shell")
	q := p.question()
	if q.Host != "one.example" || q.Folder == "" || !strings.Contains(q.Command, "getent") || len(q.Scopes) != 3 {
		t.Errorf("asked %+v", q)
	}
	p.send(map[string]string{"type": "answer", "question_id": "question-other", "allow": "once"})
	if line := p.next("answer"); !strings.Contains(line, `"conflict"`) {
		t.Errorf("an answer to nothing: %s", line)
	}
	p.send(map[string]string{"type": "answer", "question_id": q.ID, "allow": "session"})
	if got := p.returned(); !strings.Contains(got, "reached") {
		t.Errorf("the line returned %s", got)
	}
	p.next("result")
	// The session has the rule by now: the same line asks nothing.
	p.send(map[string]any{"type": api.InputMessage, "content": lookUp})
	if got := p.returned(); !strings.Contains(got, "reached") {
		t.Errorf("the second line returned %s", got)
	}
	p.end()
	if out, err := p.command("permissions").CombinedOutput(); err != nil || strings.Contains(string(out), "one.example") {
		t.Errorf("kept beyond the session: %s %v", out, err)
	}
}

func TestWhatAPersonAllowsForTheFolderIsKept(t *testing.T) {
	t.Parallel()
	p := newPiped(t)
	p.start(lookUp, "--allow", "shell")
	p.send(map[string]string{"type": "answer", "question_id": p.question().ID, "allow": "folder"})
	if got := p.returned(); !strings.Contains(got, "reached") {
		t.Errorf("the line returned %s", got)
	}
	p.end()
	if out, err := p.command("permissions").CombinedOutput(); err != nil || !strings.Contains(string(out), "fetch(one.example)") {
		t.Errorf("kept: %s %v", out, err)
	}
}

func TestADeniedHostIsNeverAsked(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{
		{"--allow", "shell", "--deny", "fetch(*.example)"}, {"--permission-mode", "all"},
	} {
		p := newPiped(t)
		p.start(lookUp, flags...)
		got := p.returned()
		if strings.Contains(got, "reached\\n") || !strings.Contains(got, "Hosts that it did not reach: one.example") {
			t.Errorf("%v: the line returned %s", flags, got)
		}
		if out, err := p.command("jobs", "list").CombinedOutput(); err != nil {
			t.Error(fmt.Sprint(string(out), err))
		}
		p.end()
	}
}

func TestAScriptThatSaysNoIsHeard(t *testing.T) {
	t.Parallel()
	p := newPiped(t)
	p.start(lookUp, "--allow", "shell")
	p.send(map[string]string{"type": "answer", "question_id": p.question().ID, "allow": "no"})
	got := p.returned()
	if !strings.Contains(got, "one.example: the person does not allow it") || strings.Contains(got, "permissions add") {
		t.Errorf("the line returned %s", got)
	}
	p.end()
}

// TestAScriptIsAskedForGitSettingsThatAreNotSafe answers the question of a real daemon, twice, and looks at the repository.
func TestAScriptIsAskedForGitSettingsThatAreNotSafe(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"once": "sh x", "no": ""} {
		p := newPiped(t)
		if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", p.folder).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
		p.start("CALL shell {\"command\": \"git config core.pager 'sh x'; git config pull.rebase true\"}\nSAY done", "--allow", "shell")
		q := p.question()
		if len(q.Settings) != 1 || q.Settings[0].Name != "core.pager" || strings.Join(q.Settings[0].Values, "") != "sh x" ||
			q.Settings[0].May != "is a program that git runs" || q.Host != "" || strings.Join(q.Scopes, " ") != api.ScopeOnce {
			t.Errorf("asked %+v", q)
		}
		p.send(map[string]string{"type": "answer", "question_id": q.ID, "allow": answer})
		got := p.returned()
		if !strings.Contains(got, "pull.rebase = true") || strings.Contains(got, "core.pager = sh x") != (answer == "once") {
			t.Errorf("%s: the line returned %s", answer, got)
		}
		p.end()
		out, _ := exec.CommandContext(t.Context(), "git", "-C", p.folder, "config", "--local", "core.pager").Output()
		if strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: the pager is %s", answer, out)
		}
	}
}
