package engine_test

import (
	"path"
	"strings"
	"sync"
	"testing"

	"loci/core"
	"loci/core/engine"
)

// trusting is what a person trusts of a folder, by the paths of files.
type trusting struct {
	mu     sync.Mutex
	folder string
	texts  map[string]string
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
