package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/coretest"
	"loci/core/engine"
	"loci/daemon/api"
)

// gate is a model that waits in the middle of its answer until the test opens it.
type gate struct{ reached, open chan struct{} }

func newGate() *gate { return &gate{reached: make(chan struct{}, 16), open: make(chan struct{})} }

func (g *gate) say(ctx context.Context, _ int, _ core.ChatRequest) []any {
	return []any{"half ", func() {
		g.reached <- struct{}{}
		select {
		case <-g.open:
		case <-ctx.Done():
		}
	}, "whole"}
}

func TestAConversationThatIsBusyIsAConflictWithTheRunsID(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, g.say)
	a := f.agent(nil)
	conv := as[api.Conversation](f.call("POST", "/v1/conversations/?agent_id="+a.ID, map[string]any{}))
	run := as[api.Run](f.call("POST", "/v1/agents/"+a.ID+"/messages/async", text("first")))
	<-g.reached
	r := f.call("POST", "/v1/conversations/"+a.ID+"/messages", text("second")).want(http.StatusConflict)
	want := "Cannot send a new message: Another request (run_id=" + run.ID + ") is currently being processed for this conversation. " +
		"Please wait for it to complete."
	if r.detail() != want || !strings.Contains(string(r.body), `"run_id":"`+run.ID+`"`) {
		t.Errorf("body = %s", r.body)
	}
	if got := r.header.Get(api.HeaderError); got != api.KindBusy {
		t.Errorf("kind = %q", got)
	}
	if got := f.call("POST", "/v1/conversations/"+conv.ID+"/cancel", nil).
		want(http.StatusConflict).
		detail(); got != "No active runs found" {
		t.Errorf("cancel of an idle conversation says %q", got)
	}
	queued := as[api.Run](f.call("POST", "/v1/agents/"+a.ID+"/messages/async", text("third")))
	if queued.Status != api.RunCreated {
		t.Errorf("a request to a busy agent is %s", queued.Status)
	}
	close(g.open)
	if got := f.call("POST", "/v1/runs/"+queued.ID+"/stream", nil).events(); got[len(got)-2].StopReason != api.StopEndTurn {
		t.Errorf("the queued run ended with %+v", got[len(got)-2])
	}
}

func TestWhoReadsTheEndOfARunMeetsNoConflictWithIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	for range 50 {
		run := as[api.Run](f.call("POST", "/v1/agents/"+a.ID+"/messages/async", text("first")))
		for run.Status != api.RunCompleted { // as clients of the asynchronous operation do
			run = as[api.Run](f.call("GET", "/v1/runs/"+run.ID, nil))
		}
		as[api.Response](f.call("POST", "/v1/conversations/"+a.ID+"/messages", with(text("second"), "streaming", false)))
	}
}

func TestASecondRequestOfASessionWaitsItsTurn(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, g.say)
	session := as[api.Session](f.socket("POST", api.PathClients, api.Client{Kind: "chat", Folder: "/home/ada/code", Open: &api.Open{}}, ""))
	send := func(otid string) *http.Request {
		body := map[string]any{"messages": []any{map[string]any{"role": "user", "content": "hi", "otid": otid}}, "background": true}
		req := f.request("POST", "/v1/conversations/"+session.ConversationID+"/messages", body)
		req.Header.Set(api.HeaderClient, session.Client)
		req.Host = "loci"
		ctx, cancel := context.WithCancel(WithPeer(req.Context(), PeerSocket))
		t.Cleanup(cancel)
		return req.WithContext(ctx)
	}
	first := make(chan reply, 2)
	for range 2 { // the repeat attaches to the same run
		go func() { first <- f.do(send("11111111-1111-4111-8111-111111111111")) }()
	}
	<-g.reached
	second := make(chan reply, 1)
	go func() { second <- f.do(send("22222222-2222-4222-8222-222222222222")) }()
	coretest.Until(
		t,
		"both runs are active",
		func() bool { return len(f.srv.engine().Active(core.ConversationID(session.ConversationID))) == 2 },
	)
	for _, run := range as[[]api.Run](f.call("GET", "/v1/runs/active?agent_id="+session.AgentID, nil)) {
		if queued := run.Status == api.RunCreated; queued != strings.HasPrefix(run.Waits(), "The run before it") {
			t.Errorf("%s waits for %q", run.Status, run.Waits())
		}
	}
	close(g.open)
	one, repeat, two := (<-first).events(), (<-first).events(), (<-second).events()
	if one[0].RunID != repeat[0].RunID || one[0].RunID == two[0].RunID {
		t.Errorf("runs %s, %s and %s", one[0].RunID, repeat[0].RunID, two[0].RunID)
	}
	if got := as[[]api.Run](f.call("GET", "/v1/runs/?agent_id="+session.AgentID, nil)); len(got) != 2 {
		t.Errorf("%d runs", len(got))
	}
}

func TestBackgroundStreamsAreNumberedAndResumed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("one ", "two ", "three"))
	a := f.agent(nil)
	body := with(text("hi"), "background", true, "stream_tokens", true)
	all := f.call("POST", "/v1/agents/"+a.ID+"/messages/stream", body).events()
	last := int64(0)
	for _, m := range all {
		if m.SeqID <= last || m.RunID != all[0].RunID {
			t.Fatalf("seq_id %d after %d in run %q", m.SeqID, last, m.RunID)
		}
		last = m.SeqID
	}
	for i, m := range all {
		rest := f.call("POST", "/v1/runs/"+m.RunID+"/stream", map[string]any{"starting_after": m.SeqID}).events()
		if len(rest) != len(all)-1-i || len(rest) > 0 && rest[0].SeqID != all[i+1].SeqID {
			t.Errorf("resumed after %d: %d events, want %d", m.SeqID, len(rest), len(all)-1-i)
		}
	}
	otid := "33333333-3333-4333-8333-333333333333"
	f.call("POST", "/v1/agents/"+a.ID+"/messages/stream", map[string]any{
		"background": true, "messages": []any{map[string]any{"role": "user", "content": "hi", "otid": otid}},
	}).events()
	if got := f.call("POST", "/v1/conversations/"+a.ID+"/stream", map[string]any{"otid": otid}).events(); len(got) != 3 {
		t.Errorf("resumed by otid: %d events", len(got))
	}
	f.call("POST", "/v1/conversations/"+a.ID+"/stream", map[string]any{"otid": "none"}).want(http.StatusNotFound)
	f.call("POST", "/v1/conversations/"+a.ID+"/stream", nil).want(http.StatusBadRequest)
}

func TestOnlyBackgroundRunsResumeAndOldOnesAreGone(t *testing.T) {
	t.Parallel()
	now := time.Now()
	f := newFixture(t, always("ok"), func(c *Config) { c.Clock = func() time.Time { return now } })
	a := f.agent(nil)
	for _, background := range []bool{false, true} {
		f.call("POST", "/v1/agents/"+a.ID+"/messages/stream", with(text("hi"), "background", background)).events()
	}
	runs := as[[]api.Run](f.call("GET", "/v1/runs/?order=asc", nil))
	f.call("POST", "/v1/runs/"+runs[0].ID+"/stream", nil).want(http.StatusBadRequest)
	f.call("POST", "/v1/runs/"+runs[1].ID+"/stream", nil).want(http.StatusOK)
	now = now.Add(engine.Retention + time.Minute)
	f.call("POST", "/v1/runs/"+runs[1].ID+"/stream", nil).want(http.StatusGone)
	f.call("POST", "/v1/runs/run-123e4567-e89b-42d3-8456-426614174000/stream", nil).want(http.StatusNotFound)
	events := f.call("GET", api.PathRuns+"/"+runs[1].ID+"/events", nil).events()
	if events[0].MessageType != api.MessageUserInput || events[len(events)-1].MessageType != api.MessageUsage {
		t.Errorf("the events of an expired run are %v", identities(events))
	}
}

func TestOwnEventsOpenWithTheInputAndEndWithTheUsage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	as[api.Response](f.call("POST", "/v1/agents/"+a.ID+"/messages", text("hi")))
	run := as[[]api.Run](f.call("GET", "/v1/runs", nil))[0]
	all := f.call("GET", api.PathRuns+"/"+run.ID+"/events", nil).events()
	first, n := all[0], len(all)
	if first.MessageType != api.MessageUserInput || first.Content.String() != "hi" || all[n-2].MessageType != api.MessageStopReason ||
		all[n-1].MessageType != api.MessageUsage {
		t.Errorf("events = %v", identities(all))
	}
	rest := f.call("GET", api.PathRuns+"/"+run.ID+"/events?after="+itoa(int(first.SeqID)), nil).events()
	if len(rest) != n-1 {
		t.Errorf("%d events after the first, want %d", len(rest), n-1)
	}
}

func TestACancelledStreamEndsWithItsStopReason(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, g.say)
	a := f.agent(nil)
	done := make(chan reply, 1)
	go func() {
		done <- f.call("POST", "/v1/agents/"+a.ID+"/messages/stream", with(text("hi"), "stream_tokens", true))
	}()
	<-g.reached
	cancelled := as[map[string]string](f.call("POST", "/v1/agents/"+a.ID+"/messages/cancel", map[string]any{}))
	stream := (<-done).events()
	if last := stream[len(stream)-1]; last.MessageType != api.MessageStopReason || last.StopReason != api.StopCancelled {
		t.Errorf("the stream ends with %+v", last)
	}
	for id, status := range cancelled {
		if status != "cancelled" || as[api.Run](f.call("GET", "/v1/runs/"+id, nil)).Status != api.RunCancelled {
			t.Errorf("run %s is %s", id, status)
		}
	}
	if got := f.call("POST", "/v1/agents/"+a.ID+"/messages/cancel", nil).want(http.StatusConflict).detail(); got != "No active runs found" {
		t.Errorf("a second cancel says %q", got)
	}
	listed := f.messages(a.ID)
	if got := listed[len(listed)-1].Content.String(); got != "half " {
		t.Errorf("what was shown is kept as %q", got)
	}
}

func TestPingsComeAtOnceAndWhileNothingElseDoes(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, g.say, func(c *Config) { c.Ping = 2 * time.Millisecond })
	a := f.agent(nil)
	server := newLive(t, f)
	path := "/v1/agents/" + a.ID + "/messages/stream"
	next := server.stream("POST", path, `{"input":"hi","stream_tokens":true}`)
	if line := next(); !strings.HasPrefix(line, `data: {"id":"ping-`) || !strings.Contains(line, `"run_id":"run-`) {
		t.Fatalf("first line = %s", line)
	}
	<-g.reached
	for half := false; ; {
		line := next()
		half = half || strings.Contains(line, "half ")
		if half && strings.Contains(line, `"ping"`) {
			break
		}
	}
	close(g.open)
	for line := ""; line != "data: [DONE]"; line = next() { // until then another stream is a conflict
	}
	quiet := server.stream("POST", path, `{"input":"hi","stream_tokens":true,"include_pings":false}`)
	for line := ""; line != "data: [DONE]"; {
		if line = quiet(); strings.Contains(line, `"ping"`) {
			t.Errorf("a ping although none was asked for: %s", line)
		}
	}
}

func TestAClientThatLeavesEndsOnlyItsStream(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, g.say)
	a := f.agent(nil)
	ctx, leave := context.WithCancel(t.Context())
	req := f.request("POST", "/v1/agents/"+a.ID+"/messages", text("hi")).WithContext(ctx)
	done := make(chan struct{})
	go func() { defer close(done); f.do(req) }()
	<-g.reached
	leave()
	<-done
	close(g.open)
	run := as[[]api.Run](f.call("GET", "/v1/runs", nil))[0]
	f.call("GET", api.PathRuns+"/"+run.ID+"/events", nil).events() // waits for the end
	listed := f.messages(a.ID)
	if got := listed[len(listed)-1].Content.String(); got != "half whole" {
		t.Errorf("the answer is %q", got)
	}
}

func TestStreamOptionsNeedAStream(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	for _, option := range []any{"stream_tokens", "background"} {
		f.call("POST", "/v1/agents/"+a.ID+"/messages", with(text("hi"), option, true)).want(http.StatusUnprocessableEntity)
	}
	f.call("POST", "/v1/agents/"+a.ID+"/messages", with(text("hi"), "include_pings", false)).want(http.StatusUnprocessableEntity)
	req := f.request("POST", "/v1/agents/"+a.ID+"/messages", with(text("hi"), "streaming", true))
	req.Header.Set("User-Agent", "letta-client/0.3.1")
	f.do(req).want(http.StatusUnprocessableEntity)
	req = f.request("POST", "/v1/agents/"+a.ID+"/messages", with(text("hi"), "streaming", true))
	req.Header.Set("X-Stainless-Package-Version", "1.12.1")
	f.do(req).events()
	if got := f.call("POST", "/v1/conversations/"+a.ID+"/messages", text("hi")).events(); len(got) != 3 {
		t.Errorf("a conversation streams by default: %v", identities(got))
	}
}

func TestAConversationIsFreeOnceTheEndOfItsRunWasSeen(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	for range 100 {
		f.call("POST", "/v1/conversations/"+a.ID+"/messages", text("hi")).events()
	}
	f.call("PATCH", "/v1/agents/"+a.ID+"/reset-messages", nil).want(http.StatusOK)
}

func TestAHalfCallOfACancelledStepIsNoWholeMessage(t *testing.T) {
	t.Parallel()
	for name, before := range map[string][]any{
		"behind words": {"half "},
		"behind a whole call": {
			"half ", core.Delta{Call: &core.CallDelta{ID: "call_0", Name: "conversation_search", Arguments: `{"query":"x"}`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate()
			f := newFixture(t, func(ctx context.Context, n int, req core.ChatRequest) []any {
				wait := g.say(ctx, n, req)[1]
				return append(
					slices.Clone(before),
					core.Delta{Call: &core.CallDelta{Index: 1, ID: "call_1", Name: "conversation_search", Arguments: `{"query":"her`}},
					wait,
				)
			})
			a := f.agent(nil)
			run := as[api.Run](f.call("POST", "/v1/agents/"+a.ID+"/messages/async", text("hi")))
			<-g.reached
			f.call("POST", "/v1/agents/"+a.ID+"/messages/cancel", nil).want(http.StatusOK)
			var whole []api.Message
			for _, m := range f.call("POST", "/v1/runs/"+run.ID+"/stream", nil).events() {
				if m.MessageType == api.MessageAssistant || m.MessageType == api.MessageToolCall || m.MessageType == api.MessageToolReturn {
					whole = append(whole, m)
				}
			}
			listed := f.messages(a.ID)
			for listed[0].MessageType != api.MessageAssistant || listed[0].Content.String() != "half " { // what the conversation began with
				listed = listed[1:]
			}
			if diff := cmp.Diff(identities(listed), identities(whole)); diff != "" || len(whole) == 0 {
				t.Errorf("(-listed +streamed):\n%s", diff)
			}
			for i, m := range whole {
				if diff := cmp.Diff(listed[i].ToolCalls, m.ToolCalls); diff != "" {
					t.Errorf("(-listed +streamed):\n%s", diff)
				}
				if m.MessageType == api.MessageToolCall && len(m.ToolCalls) != len(before)-1 {
					t.Errorf("calls %+v", m.ToolCalls)
				}
			}
		})
	}
}

func TestAFailedRunSaysItsKindAndWhatToDo(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always((&core.Error{Kind: core.RateLimited, Msg: "slow down", Provider: true}).WithHint("wait a minute")))
	a := f.agent(nil)
	run := as[api.Run](f.call("POST", "/v1/agents/"+a.ID+"/messages/async", text("hi")))
	told := only(t, f.call("POST", "/v1/runs/"+run.ID+"/stream", nil).events(), api.MessageError)
	if told.ErrorKind != api.KindRateLimited || told.Detail != "wait a minute" {
		t.Errorf("the stream says %+v", told)
	}
	got := as[api.Run](f.call("GET", "/v1/runs/"+run.ID, nil)).Metadata["error"]
	want := map[string]any{
		"error_type": "llm_rate_limit",
		"message":    "slow down",
		"detail":     "",
		"kind":       "rate_limited",
		"hint":       "wait a minute",
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
