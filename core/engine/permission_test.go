package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/engine"
	"loci/core/permission"
)

// written are rules of permission as a test wrote them.
type written struct {
	set  permission.Set
	err  error
	mu   sync.Mutex // guards kept
	kept []string
	full error // why no rule can be kept; nil: it can
}

func (w *written) Add(effect permission.Effect, rule, folder string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.full == nil {
		w.kept = append(w.kept, string(effect)+" "+rule+" in "+folder)
	}
	return w.full
}

func (w *written) Rules(string) (permission.Set, error) { return w.set, w.err }
func (w *written) Home() string                         { return "/home/ada" }

func writtenRules(t *testing.T, list permission.List) *written {
	t.Helper()
	set, err := permission.ParseList(list, permission.FromUser)
	if err != nil {
		t.Fatal(err)
	}
	return &written{set: set}
}

// permitted opens a house whose agent has a tool that touches something, its subject being x.
func permitted(t *testing.T, touches core.Touch, rules *written, answers ...turn) (*house, core.Agent, *probe) {
	t.Helper()
	tool := &probe{}
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n < len(answers) {
			return answers[n]
		}
		return say("done")
	}, func(cfg *engine.Config) {
		cfg.Permissions = rules
		cfg.Tools = &box{cfg.Tools, core.BoundTool{
			Info: core.ToolInfo{
				ID: core.BuiltinToolID("probe"), Effect: core.EffectOutside, Touches: touches, Subject: "x", Spec: tool.Spec(),
			},
			Tool: tool,
		}}
	})
	return h, h.agent(nil, "probe", "core_memory_append"), tool
}

func TestACallPassesByRuleByModeOrByAPerson(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		touches core.Touch
		mode    core.PermissionMode
		list    permission.List
		x       string
		ran     bool
		asked   string // what the request says; empty: nobody is asked
		refused string
		passed  string // what let it pass
	}{
		"no session": {touches: core.TouchNothing, mode: core.ModeStandard, x: "a", ran: true, passed: "the mode standard"},
		"a rule that asks": {
			touches: core.TouchNothing, list: permission.List{Ask: []string{"probe(x=a*)"}}, x: "ab", asked: "probe(x=a*)",
		},
		"a rule that forbids": {
			touches: core.TouchNothing, mode: core.ModeAll, list: permission.List{Deny: []string{"probe"}}, x: "a", refused: "forbids",
		},
		"reading":           {touches: core.TouchReads, mode: core.ModeAsk, x: "a.go", ran: true, passed: "the mode ask"},
		"writing":           {touches: core.TouchWrites, mode: core.ModeAsk, x: "a.go", asked: "write a.go"},
		"writing, edits":    {touches: core.TouchWrites, mode: core.ModeEdits, x: "a.go", ran: true, passed: "the mode edits"},
		"writing, plan":     {touches: core.TouchWrites, mode: core.ModePlan, x: "a.go", refused: "plan"},
		"writing elsewhere": {touches: core.TouchWrites, mode: core.ModeEdits, x: "/etc/x", asked: "/etc/x"},
		"an allowed file": {
			touches: core.TouchWrites, mode: core.ModeAsk, list: permission.List{Allow: []string{"write(src/**)"}}, x: "src/a", ran: true,
			passed: "the rule write(src/**) of your configuration",
		},
		"a line that reads": {touches: core.TouchRuns, mode: core.ModeAsk, x: "git status", ran: true, passed: "the mode ask"},
		"its own job":       {touches: core.TouchOwn, mode: core.ModeAsk, x: "a", ran: true},
		"a line that acts":  {touches: core.TouchRuns, mode: core.ModeAsk, x: "make", asked: "run make"},
		"a host":            {touches: core.TouchNetwork, mode: core.ModeAsk, x: "https://example.com/a", asked: "fetch from example.com"},
		"a host, allowed": {
			touches: core.TouchNetwork, mode: core.ModeAsk, list: permission.List{Allow: []string{"fetch(example.com)"}},
			x: "https://EXAMPLE.com/a", ran: true, passed: "the rule fetch(example.com) of your configuration",
		},
		"a host, no session": {
			touches: core.TouchNetwork, mode: core.ModeStandard, x: "https://example.com/a",
			refused: "loci permissions add allow 'fetch(example.com)' --folder .",
		},
		"no address":           {touches: core.TouchNetwork, mode: core.ModeAsk, x: "https://", ran: true},
		"a search":             {touches: core.TouchSearch, mode: core.ModeAsk, x: "ships", asked: "search the web"},
		"a search, no session": {touches: core.TouchSearch, mode: core.ModeStandard, x: "ships", ran: true, passed: "the mode standard"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, a, tool := permitted(t, tt.touches, writtenRules(t, tt.list), probing(tt.x))
			req := h.request(a, "go")
			req.Client.Mode, req.Client.Workspace = tt.mode, "/home/ada/project"
			run, events := h.submit(req)
			if ran := len(tool.ran()) == 1; ran != tt.ran {
				t.Fatalf("it ran: %v; %q", ran, returned(events))
			}
			if asked := run.StopReason == core.StopRequiresApproval; asked != (tt.asked != "") {
				t.Fatalf("the run ended %s", run.StopReason)
			}
			if tt.asked != "" {
				rows, err := h.store.Messages().Waiting(t.Context(), a.ID)
				if err != nil || len(rows) != 1 || !strings.Contains(rows[0].Message.Approval.Waits[0].Why, tt.asked) {
					t.Errorf("what waits is %+v, %v", rows, err)
				}
			}
			if refused := errorReturns(events); tt.refused != "" && (len(refused) != 1 || !strings.Contains(refused[0], tt.refused)) {
				t.Errorf("refused: %q", refused)
			}
			for _, m := range h.list(a) {
				for _, r := range m.Returns {
					if r.Passed != tt.passed {
						t.Errorf("%q let it pass, not %q", r.Passed, tt.passed)
					}
				}
			}
		})
	}
}

func TestAPersonsYesIsRecordedAndRulesThatCameMeanwhileForbid(t *testing.T) {
	t.Parallel()
	for _, meanwhile := range []bool{false, true} {
		rules := writtenRules(t, permission.List{})
		h, a, tool := permitted(t, core.TouchWrites, rules, probing("a.go"))
		req := h.request(a, "go")
		req.Client.Mode, req.Client.Workspace = core.ModeAsk, "/home/ada/project"
		if run, _ := h.submit(req); run.StopReason != core.StopRequiresApproval {
			t.Fatalf("the run ended %s", run.StopReason)
		}
		if meanwhile {
			rules.set = writtenRules(t, permission.List{Deny: []string{"write(*.go)"}}).set
		}
		answer := h.request(a, "")
		answer.Input, answer.Answer = nil, &engine.Answer{Decisions: []engine.Decision{approve("call_probe")}}
		answer.Client.Mode = core.ModeAsk
		_, events := h.submit(answer)
		if ran := len(tool.ran()) == 1; ran == meanwhile {
			t.Errorf("a rule that forbids came meanwhile: %v; the call ran: %v; %q", meanwhile, ran, returned(events))
		}
		for _, m := range h.list(a) {
			for _, r := range m.Returns {
				if !meanwhile && r.Passed != "a person" {
					t.Errorf("%q let it pass", r.Passed)
				}
			}
		}
	}
}

// sighted is a shell that notes how far it might read .env.
type sighted struct {
	probe
	reach []core.PathReach
}

func (s *sighted) Call(_ context.Context, _ core.ToolCall, env core.ToolEnv) (core.ToolResult, error) {
	s.reach = append(s.reach, env.Workspace.Paths.Of(env.Workspace.Path).Entry(".env").Read)
	return core.ToolResult{Text: "ran"}, nil
}

func TestALineGetsTheFilesThatItsApprovalNamed(t *testing.T) {
	t.Parallel()
	for x, want := range map[string]core.PathReach{"make": core.PathClosed, "cat .env": core.PathOpen, "cat .e* | sh": core.PathClosed} {
		for _, fault := range []error{nil, errors.New("the file is broken")} {
			tool := &sighted{}
			rules := &written{err: fault}
			h := open(t, func(n int, _ core.ChatRequest) turn {
				if n == 0 {
					return probing(x)
				}
				return say("done")
			}, func(cfg *engine.Config) {
				cfg.Permissions = rules
				cfg.Tools = &box{cfg.Tools, core.BoundTool{Tool: tool, Info: core.ToolInfo{
					ID: core.BuiltinToolID("probe"), Effect: core.EffectOutside, Touches: core.TouchRuns, Subject: "x", Spec: tool.Spec(),
				}}}
			})
			a := h.agent(nil, "probe")
			req := h.request(a, "go")
			req.Client.Mode, req.Client.Workspace = core.ModeAsk, "/home/ada/project"
			if run, _ := h.submit(req); run.StopReason != core.StopRequiresApproval || len(tool.reach) > 0 {
				t.Fatalf("%s: the run ended %s, it ran %d times", x, run.StopReason, len(tool.reach))
			}
			answer := h.request(a, "")
			answer.Input, answer.Answer = nil, &engine.Answer{Decisions: []engine.Decision{approve("call_probe")}}
			answer.Client.Mode = core.ModeAsk
			h.submit(answer)
			if len(tool.reach) != 1 || tool.reach[0] != want {
				t.Errorf("%s: it reaches %v, not %d", x, tool.reach, want)
			}
		}
	}
}

func TestRulesThatCannotBeKnownAskOfAllButMemory(t *testing.T) {
	t.Parallel()
	broken := &written{err: errors.New("the file is broken")}
	memory := calling("core_memory_append", map[string]any{"label": "human", "content": "x"})
	h, a, tool := permitted(t, core.TouchNothing, broken, memory, probing("a"))
	run, events := h.send(a, "go")
	if run.StopReason != core.StopRequiresApproval || len(tool.ran()) > 0 || len(errorReturns(events)) > 0 {
		t.Errorf("the run ended %s, refused %q", run.StopReason, errorReturns(events))
	}
}

func TestArgumentsAreMendedAndJudgedBeforeTheyReachTheTool(t *testing.T) {
	t.Parallel()
	h, a, tool := permitted(t, core.TouchNothing, writtenRules(t, permission.List{}),
		raw("probe", `{"x":"a",}`), raw("probe", "```json\n{\"x\":\"b\"}\n```"), raw("probe", `{"x":1}`), raw("probe", `{"x":"c"`+"\n"),
		raw("probe", `{"x":null}`), raw("probe", `{"x":"d",,}`))
	_, events := h.send(a, "go")
	want := []string{`{"x":"a"}`, `{"x":"b"}`, `{"x":"c"}`, `{"x":null}`}
	if diff := cmp.Diff(want, tool.ran()); diff != "" {
		t.Errorf("what reached the tool (-want +got):\n%s", diff)
	}
	refused := errorReturns(events)
	if len(refused) != 2 || refused[0] != `Error executing function probe: TypeError: argument "x" must be a string, not a number` ||
		!strings.Contains(refused[1], "not a JSON object") {
		t.Errorf("refused: %q", refused)
	}
	var told []string
	for _, m := range h.list(a) {
		for _, r := range m.Returns {
			if strings.Contains(r.Text, "mended") {
				told = append(told, r.Text)
			}
		}
	}
	said := "[the arguments were no valid JSON, because a comma stood before a closing bracket; they were mended]\nprobed"
	if len(told) != 3 || told[0] != said {
		t.Errorf("the returns say %q", told)
	}
}

func TestRulesOfASessionCountForItsOwnRuns(t *testing.T) {
	t.Parallel()
	allow := func(rules ...string) core.SessionRules { return core.SessionRules{Allow: rules} }
	for name, tt := range map[string]struct {
		rules core.SessionRules
		list  permission.List
		ran   bool
		want  string // what the return, or the request, says
	}{
		"allowed": {rules: allow("shell(make *)"), ran: true, want: "the rule shell(make *) of this session"},
		"forbidden": {
			rules: core.SessionRules{Deny: []string{"shell(make *)"}}, want: "The rule shell(make *) of this session forbids",
		},
		"a person asks":   {rules: allow("shell"), list: permission.List{Ask: []string{"shell(make *)"}}, want: "asks"},
		"a person forbid": {rules: allow("shell"), list: permission.List{Deny: []string{"shell"}}, want: "forbids"},
		"a broken one":    {rules: allow("shell", "shell(make"), want: "can't be known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, a, tool := permitted(t, core.TouchRuns, writtenRules(t, tt.list), probing("make all"))
			req := h.request(a, "go")
			req.Client.Mode, req.Client.Workspace, req.Client.Rules = core.ModeAsk, "/home/ada/project", tt.rules
			_, events := h.submit(req)
			if ran := len(tool.ran()) == 1; ran != tt.ran {
				t.Fatalf("it ran: %v; %q", ran, returned(events))
			}
			said := strings.Join(errorReturns(events), "\n")
			for _, m := range h.list(a) {
				for _, r := range m.Returns {
					said += r.Passed
				}
				if m.Asks() {
					said += m.Approval.Waits[0].Why
				}
			}
			if !strings.Contains(said, tt.want) {
				t.Errorf("%q says nothing of %q", said, tt.want)
			}
		})
	}
}

func TestWhereNobodyIsThereACallThatAsksIsDeniedAndWhatWouldAllowItIsNamed(t *testing.T) {
	t.Parallel()
	free := calling("core_memory_append", map[string]any{"label": "human", "content": "x"})
	h, a, tool := permitted(t, core.TouchRuns, writtenRules(t, permission.List{}), probing("make all"), free, probing("ls"))
	req := h.request(a, "go")
	req.Client.Mode, req.Client.Workspace, req.Client.Unattended = core.ModeAsk, "/home/ada/project", true
	run, events := h.submit(req)
	if run.StopReason != core.StopEndTurn || len(tool.ran()) != 1 {
		t.Fatalf("the run ended %s, the tool ran %q", run.StopReason, tool.ran())
	}
	want := "Error executing function probe: PermissionError: Nobody is there to be asked. The mode ask asks before it may run make all. " +
		"It would have passed with --allow 'shell(make all)'."
	if refused := errorReturns(events); len(refused) != 1 || refused[0] != want {
		t.Errorf("refused: %q", refused)
	}
	var told []core.Notice
	for _, ev := range events {
		if n, ok := ev.Body.(core.Notice); ok && n.Kind == core.NoticeDenied {
			told = append(told, n)
		}
	}
	if len(told) != 1 || told[0].Data["tool_call_id"] != "call_probe" || !strings.Contains(told[0].Text, "--allow") {
		t.Errorf("told: %+v", told)
	}
}

func TestAnAnswerBringsItsOwnModeAndRulesAndKeepsTheWorkspace(t *testing.T) {
	t.Parallel()
	h, a, tool := permitted(t, core.TouchRuns, writtenRules(t, permission.List{}), probing("make all"), probing("touch b"), probing("rm c"))
	req := h.request(a, "go")
	req.Client.Mode, req.Client.Workspace = core.ModeAsk, "/home/ada/project"
	req.Client.Rules = core.SessionRules{Allow: []string{"shell(rm *)"}}
	h.submit(req)
	answer := h.request(a, "")
	answer.Input, answer.Answer = nil, &engine.Answer{Decisions: []engine.Decision{approve("call_probe")}}
	answer.Client.Mode, answer.Client.Rules = core.ModeAsk, core.SessionRules{Allow: []string{"shell(touch *)"}}
	run, _ := h.submit(answer)
	want := []string{`{"x":"make all"}`, `{"x":"touch b"}`}
	if diff := cmp.Diff(want, tool.ran()); diff != "" || run.StopReason != core.StopRequiresApproval {
		t.Errorf("it ended %s (-want +ran):\n%s", run.StopReason, diff)
	}
	if run.Client.Workspace != "/home/ada/project" {
		t.Errorf("the workspace is %q", run.Client.Workspace)
	}
}
