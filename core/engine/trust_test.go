package engine_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/engine"
)

// trusting is what a person trusts of a folder, by the paths of files.
type trusting struct {
	mu     sync.Mutex
	folder string
	texts  map[string]string
	waits  map[string][]string // instructions that nobody trusts, by their folders
}

func (s *trusting) say(file, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts[file] = text
}

func (s *trusting) Instructions(folder, dir string) []core.Instructions {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := path.Join(dir, "AGENTS.md")
	if text := s.texts[name]; folder == s.folder && text != "" {
		return []core.Instructions{{Path: name, Text: text}}
	}
	return nil
}

func (s *trusting) Trusted(folder, file string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.texts[file]
	return text, ok && folder == s.folder
}

func (s *trusting) Waits(_, dir string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waits[dir]
}

// office is an agent with hands in a folder that says how to work in it.
func office(t *testing.T, answers ...turn) (*desk, *trusting) {
	t.Helper()
	s := &trusting{texts: map[string]string{}}
	d := openDesk(t, answers...)
	d.stop()
	d.cfg.Trust, s.folder = s, d.dir
	d.engine = engine.New(d.cfg)
	return d, s
}

func TestTrustedInstructionsJoinThePinAndMoveItOnlyWhenTheyChange(t *testing.T) {
	t.Parallel()
	d, s := office(t)
	d.tell("before")
	s.say("AGENTS.md", "Use tabs.\n")
	d.tell("one")
	d.tell("two")
	d.send(d.agent, "from nowhere")
	s.say("AGENTS.md", "Use spaces.\n")
	d.tell("three")
	s.say("AGENTS.md", "")
	d.tell("four")
	sent := d.model.sent()
	for i, want := range []string{"", "Use tabs.", "Use tabs.", "Use tabs.", "Use spaces.", ""} {
		if has := strings.Contains(sent[i].System, "<instructions>"); has != (want != "") || !strings.Contains(sent[i].System, want) {
			t.Errorf("request %d: %q is not in\n%s", i, want, sent[i].System)
		}
	}
	if sent[1].System != sent[2].System || sent[2].System != sent[3].System {
		t.Error("the prompt changed although nothing did")
	}
	if !strings.Contains(sent[1].System, d.dir) || !strings.Contains(sent[1].System, "not the person speaking") {
		t.Errorf("it isn't said whose words they are:\n%s", sent[1].System)
	}
}

func TestInstructionsAreForAgentsThatWorkInTheFolder(t *testing.T) {
	t.Parallel()
	d, s := office(t)
	s.say("AGENTS.md", "Use tabs.")
	d.agent = d.house.agent(nil)
	d.tell("hello")
	req := d.request(d.agent, "hello")
	req.Client = core.Client{Kind: core.ClientChat, Workspace: t.TempDir()}
	d.submit(req)
	for i, r := range d.model.sent() {
		if strings.Contains(r.System, "Use tabs.") {
			t.Errorf("request %d:\n%s", i, r.System)
		}
	}
}

func TestLongInstructionsAreCutAtALineAndThatIsSaid(t *testing.T) {
	t.Parallel()
	d, s := office(t)
	d.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: 8000, Tools: true}
	d.tell("what window?")
	s.say("AGENTS.md", strings.Repeat("Always run the tests.\n", 1000))
	run, _ := d.tell("go")
	system := d.last().System
	if run.StopReason != core.StopEndTurn || strings.Count(system, "Always run the tests.\n") != 181 ||
		!strings.Contains(system, "of its 21999 characters; read the file for the rest.]") {
		t.Errorf("the run ended %s with a prompt of %d characters:\n%.3000s", run.StopReason, len(system), system)
	}
}

func TestInstructionsOfAFolderWithinComeOnceAfterItWasTouched(t *testing.T) {
	t.Parallel()
	read := func(name string) turn { return calling("read", map[string]any{"path": name}) }
	d, s := office(t, read("a.txt"), read("sub/deep/b.txt"), read("sub/b.txt"), say("one"), read("sub/b.txt"), say("two"),
		read("gone/b.txt"), read("sub/b.txt"), say("three"))
	for _, name := range []string{"sub/deep/b.txt", "sub/b.txt"} {
		if err := os.MkdirAll(filepath.Join(d.dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte("b"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.say("sub/AGENTS.md", "Use tabs.\n")
	s.say("sub/deep/AGENTS.md", "Use nothing.\n")
	s.say("gone/AGENTS.md", "Never said.\n")
	d.tell("go")
	d.restart()
	d.tell("again")
	s.say("sub/AGENTS.md", "Use spaces.\n")
	run, _ := d.tell("and again")
	var got []string
	sent := d.last().Messages
	for i, m := range sent {
		for _, text := range []string{"Use tabs.", "Use nothing.", "Use spaces.", "Never said."} {
			if strings.Contains(m.Text, text) {
				got = append(got, fmt.Sprintf("%d %s %s", i, m.Role, text))
			}
		}
	}
	// 0 go, 1-2 a.txt, 3-4 deep, 7-8 sub, 9 one, 10 again, 11-12 sub, 13 two, 14 and again, 15-16 gone, 17-18 sub
	want := []string{"5 reminder Use tabs.", "6 reminder Use nothing.", "19 reminder Use spaces."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, m := range d.list(d.agent) {
		if strings.Contains(m.PlainText(), "Use ") {
			t.Errorf("a list shows %q", m.PlainText())
		}
	}
	requests := d.model.sent()
	for i := 1; i < len(requests); i++ {
		if diff := cmp.Diff(requests[i-1].Messages, requests[i].Messages[:len(requests[i-1].Messages)]); diff != "" {
			t.Errorf("request %d does not begin with the one before:\n%s", i, diff)
		}
	}
	if again, err := d.past().Reproduce(t.Context(), d.firstStep(run).ID); err != nil || !cmp.Equal(again.Messages, requests[6].Messages) {
		t.Errorf("it is not reproduced: %v", err)
	}
}

func TestAnApprovedCallBringsTheInstructionsOfItsFolder(t *testing.T) {
	t.Parallel()
	d, s := office(t, calling("write", map[string]any{"path": "sub/new.txt", "content": "x"}))
	s.say("sub/AGENTS.md", "Use tabs.\n")
	if run, _ := d.tell("go"); run.StopReason != core.StopRequiresApproval {
		t.Fatalf("the run ended %s", run.StopReason)
	}
	d.tell("", approve("call_write"))
	sent := d.last().Messages
	if m := sent[len(sent)-1]; m.Role != core.ChatReminder || !strings.Contains(m.Text, "Use tabs.") {
		t.Errorf("behind the return stands %s %q", m.Role, m.Text)
	}
}

func TestAToolThatAFolderBringsRunsOnceAPersonTrustsIt(t *testing.T) {
	t.Parallel()
	tool := &probe{}
	d, s := office(t, raw("probe", "{}"), say("one"), raw("probe", "{}"), say("two"), raw("probe", "{}"))
	d.stop()
	info := core.ToolInfo{ID: core.BuiltinToolID("probe"), Effect: core.EffectFacts, Spec: tool.Spec(), Brought: ".loci/tools/probe.py"}
	d.cfg.Tools = &box{d.cfg.Tools, core.BoundTool{Info: info, Tool: tool}}
	d.engine = engine.New(d.cfg)
	d.agent = d.house.agent(nil, "probe")
	_, got := d.tell("go")
	if text := got["call_probe"]; !strings.Contains(text, "brings this tool along in .loci/tools/probe.py, and no person trusts") {
		t.Errorf("untrusted: %q", text)
	}
	s.say(".loci/tools/probe.py", "print(1)")
	if _, got := d.tell("go"); got["call_probe"] != "probed" {
		t.Errorf("trusted: %q", got)
	}
	req := d.request(d.agent, "go")
	req.Client = core.Client{Kind: core.ClientChat, Workspace: t.TempDir()}
	if d.submit(req); len(tool.ran()) != 1 {
		t.Errorf("it ran %d times", len(tool.ran()))
	}
}

func TestThePersonIsToldOfInstructionsInAFolderThatACallTouched(t *testing.T) {
	t.Parallel()
	read := calling("read", map[string]any{"path": "a.txt"})
	d, s := office(t, read, read)
	s.waits = map[string][]string{"a.txt": {"a.txt/AGENTS.md"}}
	req := d.request(d.agent, "go")
	req.Client = core.Client{Kind: core.ClientChat, Workspace: d.dir}
	_, events := d.submit(req)
	told := 0
	for _, e := range events {
		if n, ok := e.Body.(core.Notice); ok && n.Kind == engine.NoticeTrust && n.Data["path"] == "a.txt/AGENTS.md" {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}
