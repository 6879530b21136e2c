package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/engine"
	"loci/core/permission"
)

// askedOnce has the agent of a house ask, and returns what waits.
func askedOnce(t *testing.T, h *house, a core.Agent) (request core.MessageID, waits core.WaitingCall) {
	t.Helper()
	req := h.request(a, "go")
	req.Client.Mode, req.Client.Workspace = core.ModeAsk, "/home/ada/project"
	if run, _ := h.submit(req); run.StopReason != core.StopRequiresApproval {
		t.Fatalf("the run ended %s", run.StopReason)
	}
	rows, err := h.store.Messages().Waiting(t.Context(), a.ID)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%v, %v", rows, err)
	}
	return rows[0].Message.ID, rows[0].Message.Approval.Waits[0]
}

// allowing is an approval that keeps rules.
func allowing(request core.MessageID, w core.WaitingCall, rules ...string) engine.Decision {
	d := approve(w.CallID)
	d.Request, d.Hash, d.Keep = request, core.HashArguments(w.Arguments), rules
	return d
}

func (h *house) answering(a core.Agent, d engine.Decision) engine.Request {
	req := h.request(a, "")
	req.Input, req.Answer = nil, &engine.Answer{Decisions: []engine.Decision{d}}
	req.Client.Mode = core.ModeAsk
	return req
}

func TestARequestOffersWhatWouldAllowItFromNowOnWhereNobodyWroteThatItAsks(t *testing.T) {
	t.Parallel()
	for x, tt := range map[string]struct {
		ask  []string
		need bool // a rule of the agent asks, too
		want string
	}{
		"make all":      {want: "shell(make all)"},
		"git push -f x": {want: "shell(git push *)"},
		"python x.py":   {},
		"make $(x)":     {},
		"make docs":     {ask: []string{"shell(make *)"}},
		"make tests":    {need: true},
	} {
		h, a, _ := permitted(t, core.TouchRuns, writtenRules(t, permission.List{Ask: tt.ask}), probing(x))
		if tt.need {
			a.ToolRules = append(a.ToolRules, core.ToolRule{Type: core.RuleRequiresApproval, Tool: "probe"})
			if err := h.store.Agents().Update(t.Context(), &a); err != nil {
				t.Fatal(err)
			}
		}
		if _, w := askedOnce(t, h, a); strings.Join(w.Always, " ") != tt.want {
			t.Errorf("%s: it offers %q", x, w.Always)
		}
	}
}

func TestARuleIsKeptForTheFolderWithTheAnswerThatWon(t *testing.T) {
	t.Parallel()
	rules := writtenRules(t, permission.List{})
	h, a, tool := permitted(t, core.TouchRuns, rules, probing("make all"))
	request, w := askedOnce(t, h, a)
	for name, wrong := range map[string]func(*engine.Decision){
		"no request":  func(d *engine.Decision) { d.Request = "" },
		"no hash":     func(d *engine.Decision) { d.Hash = "" },
		"other hash":  func(d *engine.Decision) { d.Hash = "0" },
		"a denial":    func(d *engine.Decision) { d.Approve = false },
		"a bad rule":  func(d *engine.Decision) { d.Keep = []string{"shell(make"} },
		"too many":    func(d *engine.Decision) { d.Keep = make([]string, 21) },
		"other calls": func(d *engine.Decision) { d.CallID = "call_other" },
	} {
		d := allowing(request, w, "shell(make *)")
		wrong(&d)
		_, err := h.engine.Submit(t.Context(), h.answering(a, d))
		if kind := core.KindOf(err); kind != core.Invalid && kind != core.TooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(rules.kept) > 0 {
		t.Fatalf("refused answers kept %q", rules.kept)
	}
	_, events := h.submit(h.answering(a, allowing(request, w, "shell(make *)", "shell(touch a)")))
	want := []string{"allow shell(make *) in /home/ada/project", "allow shell(touch a) in /home/ada/project"}
	if diff := cmp.Diff(want, rules.kept); diff != "" || len(tool.ran()) != 1 {
		t.Errorf("the tool ran %q (-want +kept):\n%s", tool.ran(), diff)
	}
	told := notices(events, "kept")
	if len(told) != 2 || !strings.Contains(told[0], "From now on shell(make *) is allowed in this folder") {
		t.Errorf("told: %q", told)
	}
	if _, err := h.engine.Submit(t.Context(), h.answering(a, allowing(request, w, "shell"))); core.KindOf(err) != core.Invalid {
		t.Errorf("an answer that came too late: %v", err)
	}
	if len(rules.kept) != 2 {
		t.Errorf("the loser kept a rule: %q", rules.kept)
	}
}

func TestARuleThatCannotBeKeptLeavesTheCallAllowedThisOnce(t *testing.T) {
	t.Parallel()
	rules := writtenRules(t, permission.List{})
	rules.full = errors.New("the disk is full")
	h, a, tool := permitted(t, core.TouchRuns, rules, probing("make all"))
	request, w := askedOnce(t, h, a)
	_, events := h.submit(h.answering(a, allowing(request, w, "shell(make *)")))
	told := notices(events, "kept")
	want := "this once: shell(make *) could not be kept: the disk is full"
	if len(tool.ran()) != 1 || len(told) != 1 || !strings.Contains(told[0], want) {
		t.Errorf("the tool ran %q, told: %q", tool.ran(), told)
	}
}

func TestACallThatAsksEachTimeKeepsNoRule(t *testing.T) {
	t.Parallel()
	rules := writtenRules(t, permission.List{Ask: []string{"shell(make *)"}})
	h, a, tool := permitted(t, core.TouchRuns, rules, probing("make all"))
	request, w := askedOnce(t, h, a)
	_, err := h.engine.Submit(t.Context(), h.answering(a, allowing(request, w, "shell(make *)")))
	if core.KindOf(err) != core.Invalid || len(rules.kept)+len(tool.ran()) > 0 {
		t.Errorf("%v; kept %q, ran %q", err, rules.kept, tool.ran())
	}
}

// TestAnApprovedCallWhoseToolChangedMeanwhileIsJudgedByWhatItTakesNow gives a tool another schema while a call of it waits.
func TestAnApprovedCallWhoseToolChangedMeanwhileIsJudgedByWhatItTakesNow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, text string }{
		"another type":        {`{"type":"object","properties":{"x":{"type":"integer"}}}`, "x"},
		"one argument more":   {`{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"required":["y"]}`, "y"},
		"one that still fits": {`{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}}}`, "probed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := openGated(t, core.EffectOutside, nil, probing("a"))
			call := g.asked("go").Calls()[0].ID
			g.stop()
			outer, _ := g.cfg.Tools.(*box)
			inner, _ := outer.Toolbox.(*box)
			changed := *inner
			changed.extra.Info.Spec.Parameters = []byte(c.schema)
			g.cfg.Tools = &box{&changed, outer.extra}
			g.engine = engine.New(g.cfg)
			run, events := g.submit(g.answer(approve(call)))
			if got := returned(events)[call]; !strings.Contains(got, c.text) || run.StopReason != core.StopEndTurn {
				t.Errorf("the return is %q, the run ended %s %+v", got, run.StopReason, run.Error)
			}
			if ran := len(g.probe.ran()); (ran == 1) != (c.text == "probed") {
				t.Errorf("it ran %d times", ran)
			}
		})
	}
}

// become opens a house anew in which the probe is a custom tool.
func become(h *house, custom *core.CustomTool) {
	h.stop()
	var changed func(tools core.Toolbox) core.Toolbox
	changed = func(tools core.Toolbox) core.Toolbox {
		of, ok := tools.(*box)
		if !ok {
			return tools
		}
		next := box{changed(of.Toolbox), of.extra}
		if next.extra.Info.Spec.Name == "probe" {
			next.extra.Info.Custom = custom
		}
		return &next
	}
	h.cfg.Tools = changed(h.cfg.Tools)
	h.engine = engine.New(h.cfg)
}

// TestAnApprovalDoesNotCountForOtherCodeThanItWasAskedAbout replaces a custom tool while a call of it waits.
func TestAnApprovalDoesNotCountForOtherCodeThanItWasAskedAbout(t *testing.T) {
	t.Parallel()
	custom := func(source string) *core.CustomTool {
		return &core.CustomTool{Name: "probe", Language: core.LanguagePython, Source: source}
	}
	needing := custom("print(1)")
	needing.Pip = []core.Requirement{{Name: "left"}}
	touched := custom("print(1)")
	touched.Tags = []string{"new"}
	for name, c := range map[string]struct {
		asked, now *core.CustomTool
		runs       bool
	}{
		"the same":         {custom("print(1)"), custom("print(1)"), true},
		"another tag":      {custom("print(1)"), touched, true},
		"another source":   {custom("print(1)"), custom("print(2)"), false},
		"another package":  {custom("print(1)"), needing, false},
		"a custom one now": {nil, custom("print(1)"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := openGated(t, core.EffectOutside, nil, probing("a"), probing("a"))
			become(g.house, c.asked)
			call := g.asked("go").Calls()[0].ID
			become(g.house, c.now)
			decision := approve(call)
			if name == "another source" {
				decision.Arguments = `{"x":"b"}` // changed arguments are approved for the same tool
			}
			_, events := g.submit(g.answer(decision))
			got := returned(events)[call]
			if ran := len(g.probe.ran()); (ran == 1) != c.runs || c.runs != strings.Contains(got, "probed") {
				t.Errorf("it ran %d times and returned %q", ran, got)
			}
			if c.runs {
				return
			}
			if !strings.Contains(got, "the tool was changed since the person was asked about this call") {
				t.Errorf("it returned %q", got)
			}
			again := g.waiting().Calls()[0].ID // called again, it asks about what it is now
			g.submit(g.answer(approve(again)))
			if ran := len(g.probe.ran()); ran != 1 {
				t.Errorf("approved as it is now, it ran %d times", ran)
			}
		})
	}
}

func TestNoRuleIsKeptForAToolThatWasChangedMeanwhile(t *testing.T) {
	t.Parallel()
	for source, kept := range map[string]int{"print(1)": 1, "print(2)": 0} {
		rules := writtenRules(t, permission.List{})
		h, a, tool := permitted(t, core.TouchRuns, rules, probing("make all"))
		become(h, &core.CustomTool{Name: "probe", Source: "print(1)"})
		request, w := askedOnce(t, h, a)
		become(h, &core.CustomTool{Name: "probe", Source: source})
		h.submit(h.answering(a, allowing(request, w, "shell(make *)")))
		if len(rules.kept) != kept || len(tool.ran()) != kept {
			t.Errorf("%s: it kept %q and ran %d times", source, rules.kept, len(tool.ran()))
		}
	}
}
