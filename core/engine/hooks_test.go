package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"loci/core"
	"loci/core/engine"
)

// watch is a program of the person's.
type watch struct {
	mu     sync.Mutex
	before func(call core.HookCall) core.HookVerdict
	at     func(call core.HookCall) core.HookVerdict // other events
	after  string
	seen   []string
}

func (w *watch) Run(_ context.Context, call core.HookCall) core.HookVerdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case call.Event == core.HookBefore:
		w.seen = append(w.seen, "before "+call.Tool+" "+call.Arguments)
		if w.before != nil {
			return w.before(call)
		}
	case call.Event == core.HookAfter:
		w.seen = append(w.seen, "after "+call.Tool+" "+*call.Return)
		return core.HookVerdict{Text: w.after}
	case w.at != nil:
		w.seen = append(w.seen, strings.TrimSpace(fmt.Sprint(call.Event, " ", call.Source, call.Trigger, call.Prompt, call.Said, call.Why)))
		return w.at(call)
	}
	return core.HookVerdict{}
}

// watched is an agent in a folder with a hook.
func watched(t *testing.T, w *watch, answers ...turn) *desk {
	t.Helper()
	d := openDesk(t, answers...)
	d.stop()
	d.cfg.Hooks = w
	d.engine = engine.New(d.cfg)
	return d
}

func list(path string) turn { return calling("list", map[string]any{"path": path}) }

func TestAHookForbidsAsksAndChangesWhatRuns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		verdict core.HookVerdict
		stop    core.StopReason
		want    string // in the return
	}{
		"nothing":            {core.HookVerdict{}, core.StopEndTurn, "a.txt"},
		"deny":               {core.HookVerdict{Deny: "not here"}, core.StopEndTurn, "a hook of the person's forbids it: not here"},
		"ask":                {core.HookVerdict{Ask: "A hook asks: sure?"}, core.StopRequiresApproval, ""},
		"change":             {core.HookVerdict{Arguments: `{"path":"gone"}`}, core.StopEndTurn, `changed by a hook: {"path":"gone"}`},
		"change to nonsense": {core.HookVerdict{Arguments: `{"path":7}`}, core.StopEndTurn, "TypeError"},
		"change, and asks":   {core.HookVerdict{Arguments: `{"path":"/etc"}`, Ask: "Sure?"}, core.StopRequiresApproval, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &watch{before: func(core.HookCall) core.HookVerdict { return tt.verdict }}
			d := watched(t, w, list("."))
			run, got := d.tell("go")
			if run.StopReason != tt.stop || !strings.Contains(got["call_list"], tt.want) {
				t.Errorf("the run ended %s with %q", run.StopReason, got)
			}
			if w.seen[0] != `before list {"path":"."}` {
				t.Errorf("it saw %q", w.seen)
			}
		})
	}
}

func TestAHookThatAllowsNothingLeavesTheQuestionAndAnAnsweredCallIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	n := 0
	w := &watch{after: "formatted"}
	w.before = func(call core.HookCall) core.HookVerdict {
		if n++; n > 1 {
			return core.HookVerdict{Arguments: strings.ReplaceAll(call.Arguments, "one", "other")}
		}
		return core.HookVerdict{}
	}
	d := watched(t, w, calling("write", map[string]any{"path": "b.txt", "content": "one\n"}))
	if run, _ := d.tell("go"); run.StopReason != core.StopRequiresApproval {
		t.Fatalf("the run ended %s", run.StopReason)
	}
	d.restart()
	_, got := d.tell("", approve("call_write"))
	if !strings.HasSuffix(got["call_write"], "(A hook of the person's says: formatted)") {
		t.Errorf("the return is %q", got["call_write"])
	}
	if len(w.seen) != 2 || !strings.HasPrefix(w.seen[0], "before write") || !strings.HasPrefix(w.seen[1], "after write") {
		t.Errorf("it saw %q", w.seen)
	}
}

func TestAHookThatFailsIsTold(t *testing.T) {
	t.Parallel()
	failed := func(core.HookCall) core.HookVerdict { return core.HookVerdict{Faults: []string{"the hook x failed"}} }
	w := &watch{before: failed, at: failed} // of a file that can't be read every event hears
	d := watched(t, w, list("."))
	req := d.request(d.agent, "go")
	req.Client = core.Client{Kind: core.ClientChat, Workspace: d.dir}
	_, events := d.submit(req)
	told := 0
	for _, e := range events {
		if n, ok := e.Body.(core.Notice); ok && n.Kind == engine.NoticeHook && n.Text == "the hook x failed" {
			told++
		}
	}
	if told != 1 {
		t.Errorf("it was told %d times", told)
	}
}
