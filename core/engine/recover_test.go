package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/engine"
)

// outside is a tool that acts on the world: it waits, and counts its calls.
type outside struct {
	started chan struct{}
	release chan struct{}
	calls   int
}

func (o *outside) Spec() core.ToolSpec {
	return core.ToolSpec{Name: "launch", Description: "Acts on the world.", Parameters: []byte(`{"type":"object","properties":{}}`)}
}

func (o *outside) Call(ctx context.Context, _ core.ToolCall, _ core.ToolEnv) (core.ToolResult, error) {
	o.calls++
	o.started <- struct{}{}
	select {
	case <-o.release:
		return core.ToolResult{Text: "launched"}, nil
	case <-ctx.Done():
		return core.ToolResult{}, ctx.Err()
	}
}

// box adds one tool to the built-in ones.
type box struct {
	core.Toolbox
	extra core.BoundTool
}

func (b *box) Tools(ctx context.Context, ids []core.ToolID) ([]core.BoundTool, error) {
	out, err := b.Toolbox.Tools(ctx, ids)
	for _, id := range ids {
		if id == b.extra.Info.ID {
			out = append(out, b.extra)
		}
	}
	return out, err
}

func (b *box) Find(ctx context.Context, name string) (core.BoundTool, bool, error) {
	if name == b.extra.Info.Spec.Name {
		return b.extra, true, nil
	}
	return b.Toolbox.Find(ctx, name)
}

func withOutside(o *outside) func(*engine.Config) {
	return func(c *engine.Config) {
		c.Tools = &box{
			c.Tools,
			core.BoundTool{Info: core.ToolInfo{ID: core.BuiltinToolID("launch"), Effect: core.EffectOutside, Spec: o.Spec()}, Tool: o},
		}
	}
}

// launching is a house whose model has the tool launched at the beginning of a thread, and is done with whatever follows.
func launching(t *testing.T) (*house, *outside) {
	t.Helper()
	tool := &outside{started: make(chan struct{}, 4), release: make(chan struct{})}
	return open(t, func(_ int, req core.ChatRequest) turn {
		if len(req.Messages) == 1 {
			return calling("launch", map[string]any{})
		}
		return say("done")
	}, withOutside(tool)), tool
}

func TestRule10AShutdownLeavesABackgroundRunToTheNextStart(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return turn{deltas: []core.Delta{{Text: "half an ans"}}, gate: never}
		}
		return say("the whole answer")
	})
	a := h.agent(nil)
	req := h.request(a, "hello")
	req.Background = true
	run, err := h.engine.Submit(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	queued, err := h.engine.Submit(t.Context(), func() engine.Request { r := h.request(a, "next"); r.Background = true; return r }())
	if err != nil {
		t.Fatal(err)
	}
	h.waitFor(run.ID, isSaid)
	h.stop()
	if r, err := h.store.Runs().Get(t.Context(), run.ID); err != nil || r.Status.Final() {
		t.Fatalf("the shutdown wrote %s, %v", r.Status, err)
	}
	if _, err := h.engine.Submit(t.Context(), req); core.KindOf(err) != core.Unavailable {
		t.Errorf("a request after the shutdown: %v", err)
	}
	var last error
	for _, err := range h.engine.Follow(t.Context(), run.ID, 0) {
		last = err
	}
	if !errors.Is(last, core.ErrPaused) || core.KindOf(last) != core.Unavailable {
		t.Errorf("who followed it was told %v", last)
	}
	h.engine = engine.New(h.cfg)
	if err := h.engine.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, events := h.follow(run.ID)
	if got.Status != core.RunCompleted || got.Attempt != 1 {
		t.Errorf("resumed run %s, attempt %d, %+v", got.Status, got.Attempt, got.Error)
	}
	discarded := false
	for _, ev := range events {
		if n, ok := ev.Body.(core.Notice); ok && n.Kind == "discard" {
			discarded = true
			if ev.Seq <= core.AttemptSpan {
				t.Errorf("the notice is numbered %d", ev.Seq)
			}
		}
	}
	if !discarded || said(events) != "the whole answer" { // who reads from the beginning is not shown what is void
		t.Errorf("discarded %v, said %q", discarded, said(events))
	}
	if r, _ := h.follow(queued.ID); r.Status != core.RunCompleted {
		t.Errorf("the queued run is %s", r.Status)
	}
	users := 0
	for _, m := range h.list(a) {
		if m.Role == core.RoleUser {
			users++
		}
	}
	if users != 2 {
		t.Errorf("%d user messages, want each exactly once", users)
	}
}

func TestRule10AShutdownFailsAForegroundRun(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	h := open(t, func(int, core.ChatRequest) turn { return turn{deltas: []core.Delta{{Text: "half"}}, gate: never} })
	a := h.agent(nil)
	run, err := h.engine.Submit(t.Context(), h.request(a, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	h.waitFor(run.ID, isSaid)
	h.stop()
	r, err := h.store.Runs().Get(t.Context(), run.ID)
	if err != nil || r.Status != core.RunFailed {
		t.Fatalf("run %s %v", r.Status, err)
	}
	last, stopped, err := h.store.Events().Last(t.Context(), run.ID)
	if err != nil || !stopped || last == 0 {
		t.Errorf("no terminal event: %d %v %v", last, stopped, err)
	}
}

func TestRule11ACallUnderWayIsNeverRunASecondTime(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	tool := &outside{started: make(chan struct{}, 4), release: release}
	h := open(t, func(_ int, req core.ChatRequest) turn {
		if last := req.Messages[len(req.Messages)-1]; last.Role == core.ChatTool {
			return say("I saw: " + last.Returns[0].Text)
		}
		return calling("launch", map[string]any{})
	}, withOutside(tool))
	a := h.agent(nil, "launch")
	req := h.request(a, "go")
	req.Background = true
	run, err := h.engine.Submit(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	<-tool.started // the call is saved and under way
	if got := h.list(a); len(got) != 3 || len(got[2].Calls()) != 1 {
		t.Fatalf("the call is not saved before it runs: %v", roles(got))
	}
	h.restart()
	got, events := h.follow(run.ID)
	if got.Status != core.RunCompleted || tool.calls != 1 {
		t.Errorf("run %s, the tool was called %d times", got.Status, tool.calls)
	}
	if !strings.Contains(said(events), "may or may not have run") {
		t.Errorf("said %q", said(events))
	}
	for i, r := range h.model.sent() {
		validHistory(t, i, r)
	}
	kept := h.list(a)
	if diff := cmp.Diff(
		[]core.Role{core.RoleSystem, core.RoleUser, core.RoleAssistant, core.RoleTool, core.RoleAssistant},
		roles(kept),
	); diff != "" {
		t.Fatalf("the call and its return are not in the history (-want +got):\n%s", diff)
	}
	if r := kept[3].Returns; len(r) != 1 || !r[0].IsError || r[0].CallID != kept[2].Calls()[0].ID {
		t.Errorf("the call is answered by %+v", r)
	}
	steps, err := h.store.Steps().List(t.Context(), core.StepFilter{Run: run.ID}, core.Page{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, s := range steps {
		if s.Status == core.StepFailed {
			failed++
		}
	}
	if failed != 1 || len(steps) != 2 || steps[0].Number != 1 || steps[1].Number != 2 {
		t.Errorf("%d failed steps, want the lost one, of %+v", failed, steps)
	}
	rows, err := h.store.Messages().Context(t.Context(), run.Conversation)
	if err != nil || len(rows) != 5 || rows[3].Row.Entered <= rows[2].Row.Entered {
		t.Errorf("the return enters no later than its call: %+v, %v", rows, err)
	}
	close(release)
}

func TestARequestThatIsMadeAgainAfterARestartRepeatsNoCall(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct{ once, background, onceAgain, backgroundAgain bool }{
		"background": {true, true, true, true}, "of a session": {true, false, true, false}, "plain": {},
		"plain, then in the background": {false, false, true, true}, "in the background, then plain": {true, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, tool := launching(t)
			a := h.agent(nil, "launch")
			req := h.request(a, "go")
			req.Once, req.Background, req.Input[0].OTID = of.once, of.background, "otid-1"
			run, err := h.engine.Submit(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			<-tool.started
			h.restart()
			req.Once, req.Background = of.onceAgain, of.backgroundAgain
			again, err := h.engine.Submit(t.Context(), req)
			if err != nil || again.ID != run.ID {
				t.Errorf("it is the run %s, was %s: %v", again.ID, run.ID, err)
			}
			h.follow(again.ID)
			if tool.calls != 1 {
				t.Errorf("the tool was called %d times", tool.calls)
			}
		})
	}
}

// TestAnOtidOfAPlainRequestIsFreeOnceItsRunHasEnded: SDKs use one again on purpose.
func TestAnOtidOfAPlainRequestIsFreeOnceItsRunHasEnded(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	req := h.request(h.agent(nil), "hello")
	req.Input[0].OTID = "otid-1"
	var runs []core.RunID
	for range 2 {
		run, err := h.engine.Submit(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if run, _ = h.follow(run.ID); run.Status != core.RunCompleted || run.Request != "" {
			t.Errorf("%s, request %q: %+v", run.Status, run.Request, run.Error)
		}
		runs = append(runs, run.ID)
	}
	if runs[0] == runs[1] {
		t.Error("the second is the run of the first")
	}
}

func TestRule11AForegroundRunOfADeadDaemonFailsWithItsTerminalEvent(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.agent(nil)
	now := h.clock()
	lost := core.Run{
		ID:           core.NewRunID(),
		Agent:        a.ID,
		Conversation: core.DefaultConversation(a.ID),
		Status:       core.RunRunning,
		CreatedAt:    now,
		Request:      "abc",
		Input: []core.Message{
			{ID: core.NewMessageID(), Role: core.RoleUser, Content: []core.Content{core.Text("lost?")}, CreatedAt: now},
		},
	}
	step := core.Step{
		ID:           core.NewStepID(),
		Run:          lost.ID,
		Agent:        a.ID,
		Conversation: lost.Conversation,
		Number:       1,
		Status:       core.StepPending,
		CreatedAt:    now,
	}
	if err := h.store.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
		return errors.Join(tx.Runs().Create(ctx, &lost), tx.Steps().Create(ctx, &step))
	}); err != nil {
		t.Fatal(err)
	}
	h.restart()
	run, events := h.follow(lost.ID)
	if run.Status != core.RunFailed || run.Request != "" || run.Input[0].PlainText() != "lost?" {
		t.Errorf("run %+v", run)
	}
	stops(t, events)
	if s, err := h.store.Steps().Get(t.Context(), step.ID); err != nil || s.Status != core.StepFailed {
		t.Errorf("step %s %v", s.Status, err)
	}
	if run, _ := h.send(a, "and now?"); run.Status != core.RunCompleted {
		t.Errorf("the agent cannot be talked to: %+v", run.Error)
	}
}

func TestARunOfARestoredBackupEndsAndAsksNoModel(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("nobody here asked for this") })
	a := h.agent(nil)
	lost := core.Run{
		ID: core.NewRunID(), Agent: a.ID, Conversation: core.DefaultConversation(a.ID), Status: core.RunRunning, Background: true,
		Restored: true, CreatedAt: h.clock(),
		Input: []core.Message{{ID: core.NewMessageID(), Role: core.RoleUser, Content: []core.Content{core.Text("go on")}}},
	}
	step := core.Step{
		ID: core.NewStepID(), Run: lost.ID, Agent: a.ID, Conversation: lost.Conversation, Number: 1, Status: core.StepPending,
		CreatedAt: h.clock(),
	}
	if err := h.store.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
		return errors.Join(tx.Runs().Create(ctx, &lost), tx.Steps().Create(ctx, &step))
	}); err != nil {
		t.Fatal(err)
	}
	h.restart()
	run, events := h.follow(lost.ID)
	const want = "the run was under way when the backup was made"
	if run.Status != core.RunFailed || run.Error == nil || run.Error.Message != want {
		t.Errorf("run %s, %+v", run.Status, run.Error)
	}
	stops(t, events)
	if s, err := h.store.Steps().Get(t.Context(), step.ID); err != nil || s.Status != core.StepFailed || s.Error.Message != want {
		t.Errorf("step %s %+v %v", s.Status, s.Error, err)
	}
	if n := len(h.model.sent()); n > 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestWhatWasTakenBackOnceIsNotTakenBackAgainAfterARestart(t *testing.T) {
	t.Parallel()
	cut := core.E(core.Unavailable, "the answer broke off")
	cut.Provider = true
	never := make(chan struct{})
	h := open(t, func(n int, _ core.ChatRequest) turn {
		switch n {
		case 0:
			return turn{deltas: []core.Delta{{Reasoning: "first"}}, err: cut}
		case 1:
			return turn{deltas: []core.Delta{{Reasoning: "second"}}, gate: never}
		}
		return say("third")
	})
	req := h.request(h.agent(nil), "hello")
	req.Background = true
	run, err := h.engine.Submit(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	h.waitFor(run.ID, func(ev core.Event) bool {
		r, ok := ev.Body.(core.Reasoning)
		return ok && r.Text == "second"
	})
	h.restart()
	_, events := h.follow(run.ID)
	taken := map[core.MessageID]int{}
	for _, ev := range events {
		if n, ok := ev.Body.(core.Notice); ok && n.Kind == "discard" {
			taken[ev.Message]++
		}
	}
	if len(taken) != 2 {
		t.Errorf("%d messages were taken back, want both attempts", len(taken))
	}
	for id, n := range taken {
		if n != 1 {
			t.Errorf("%s was taken back %d times", id, n)
		}
	}
}
