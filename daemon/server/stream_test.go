package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/daemon/api"
)

// busyRun answers with reasoning, text and two calls, then with one call more, and ends in words.
func busyRun(_ context.Context, n int, _ core.ChatRequest) []any {
	call := func(index int, id, name, arguments string) []any {
		half := len(arguments) / 2
		return []any{
			core.Delta{Call: &core.CallDelta{Index: index, ID: id, Name: name, Arguments: arguments[:half]}},
			core.Delta{Call: &core.CallDelta{Index: index, Arguments: arguments[half:]}},
		}
	}
	switch n % 3 {
	case 0:
		out := []any{core.Delta{Reasoning: "two "}, core.Delta{Reasoning: "names"}, "Let me ", "note them."}
		out = append(out, call(0, "call_a", "memory_insert", `{"label":"human","new_string":"Ada"}`)...)
		return append(out, call(1, "call_b", "memory_insert", `{"label":"human","new_string":"Byron"}`)...)
	case 1:
		return append([]any{"And ", "look."}, call(0, "call_c", "conversation_search", `{"query":"Ada"}`)...)
	default:
		return []any{"Both ", "are ", "noted."}
	}
}

// failsAtTheEnd is busyRun with a provider that breaks in its last answer.
func failsAtTheEnd(ctx context.Context, n int, req core.ChatRequest) []any {
	if n%3 == 2 {
		return []any{"Both ", &core.Error{Kind: core.Unavailable, Msg: "it is gone", Provider: true}}
	}
	return busyRun(ctx, n, req)
}

func TestEveryCursorOfAStreamGivesItsTail(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]answers{"it ends": busyRun, "it fails": failsAtTheEnd} {
		for _, tokens := range []bool{true, false} {
			t.Run(name+", tokens "+strconv.FormatBool(tokens), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, say)
				a := f.agent(human())
				all := f.call("POST", "/v1/agents/"+a.ID+"/messages/stream", with(text("hi"), "background", true, "stream_tokens", tokens)).
					events()
				run := all[0].RunID
				own := f.call("GET", api.PathRuns+"/"+run+"/events", nil).events()
				last := own[len(own)-1].SeqID
				for after := int64(1); after <= last; after++ {
					rest := f.call("POST", "/v1/runs/"+run+"/stream", map[string]any{"starting_after": after}).events()
					if diff := cmp.Diff(tail(all, after), rest); diff != "" {
						t.Errorf("the contract's stream after %d (-want +got):\n%s", after, diff)
					}
					rest = f.call("GET", api.PathRuns+"/"+run+"/events?after="+strconv.FormatInt(after, 10), nil).events()
					if diff := cmp.Diff(tail(own, after), rest); diff != "" {
						t.Errorf("our own stream after %d (-want +got):\n%s", after, diff)
					}
				}
			})
		}
	}
}

// tail is what of a stream comes after a cursor.
func tail(all []api.Message, after int64) []api.Message {
	var out []api.Message
	for _, m := range all {
		if m.SeqID > after {
			out = append(out, m)
		}
	}
	return out
}

func TestASessionGetsItsNoticesFromTheStreamOfItsMessage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("one ", "two"))
	s := as[api.Session](f.socket("POST", api.PathClients, api.Client{Kind: "print", Open: &api.Open{}}, ""))
	path := "/v1/agents/" + s.AgentID + "/messages"
	got := f.socket("POST", path, with(text("hi"), "streaming", true, "background", true, "stream_tokens", true), s.Client)
	own := got.events()
	events := f.call("GET", api.PathRuns+"/"+own[0].RunID+"/events", nil).events()
	if diff := cmp.Diff(events, own); diff != "" {
		t.Errorf("the session's stream is not the run's own (-want +got):\n%s", diff)
	}
	kinds := map[api.MessageType]int{}
	for _, m := range own {
		kinds[m.MessageType]++
	}
	want := map[api.MessageType]int{
		api.MessageUserInput:  1,
		api.MessageNotice:     1,
		api.MessageAssistant:  2,
		api.MessageStopReason: 1,
		api.MessageUsage:      1,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	for _, m := range f.call("POST", path, with(text("hi"), "streaming", true)).want(http.StatusOK).events() {
		if m.MessageType == api.MessageNotice || m.MessageType == api.MessageUserInput {
			t.Errorf("without a session there is a %s", m.MessageType)
		}
	}
}

func TestATextThatBreaksOffIsAskedForAgainForReadersOfWholeMessages(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		path string
		with []any
	}{
		"a plain request":     {"", nil},
		"a stream":            {"/stream", nil},
		"a background stream": {"/stream", []any{"background", true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, func(_ context.Context, n int, _ core.ChatRequest) []any {
				if n == 0 {
					return []any{"Good ", "mor", &core.Error{Kind: core.Unavailable, Msg: "it broke off", Provider: true}}
				}
				return []any{"Good ", "evening."}
			})
			got := f.call("POST", "/v1/agents/"+f.agent(human()).ID+"/messages"+tc.path, with(text("hi"), tc.with...)).want(http.StatusOK)
			var msgs []api.Message
			if tc.path == "" {
				msgs = as[api.Response](got).Messages
			} else {
				msgs = got.events()
			}
			var said []string
			for _, m := range msgs {
				if m.MessageType == api.MessageAssistant || m.MessageType == api.MessageError {
					said = append(said, m.Content.String()+m.ErrorText)
				}
			}
			if diff := cmp.Diff([]string{"Good evening."}, said); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
			own := f.call("GET", api.PathRuns+"/"+msgs[0].RunID+"/events", nil).events()
			if n := len(f.model.requests); n != 2 || !slices.ContainsFunc(own, func(m api.Message) bool {
				return m.MessageType == api.MessageNotice && m.Notice.Kind == api.NoticeDiscard
			}) {
				t.Errorf("%d requests; who watches the pieces was told %v", n, own)
			}
		})
	}
}

func TestADiscardIsTellableOnlyWhereThePiecesWere(t *testing.T) {
	t.Parallel()
	logged := logged(
		at(messageA, 0, core.Said{Text: "lost"}),
		at(messageA, 0, core.Notice{Kind: api.NoticeDiscard, Data: map[string]any{"message_id": messageA}}),
	)
	for _, tc := range []struct {
		as    audience
		whole bool
		want  int
	}{{viewOwn, false, 2}, {viewContract, false, 1}, {viewOwn, true, 0}, {viewContract, true, 0}} {
		frames := convert(logged, tc.as)
		if tc.whole {
			frames = collapse(frames)
		}
		got := 0
		for item, err := range (runStream{frames: frames}).items() {
			if err != nil || item.value == nil {
				t.Error(errors.Join(err, errors.New("nothing")))
			}
			got++
		}
		if got != tc.want {
			t.Errorf("view %d, whole %v: %d messages, want %d", tc.as, tc.whole, got, tc.want)
		}
	}
}

func TestClientsAreThoseThatAreThere(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, g.say)
	count := func() int { return as[api.Status](f.call("GET", api.PathStatus, nil)).Clients }
	s := as[api.Session](f.socket("POST", api.PathClients, api.Client{Kind: "print", Open: &api.Open{}}, ""))
	if n := count(); n != 0 {
		t.Errorf("%d clients, where one has registered and left", n)
	}
	done := make(chan reply, 1)
	go func() {
		done <- f.socket("POST", "/v1/agents/"+s.AgentID+"/messages", with(text("hi"), "streaming", true), s.Client)
	}()
	<-g.reached
	if n := count(); n != 1 {
		t.Errorf("%d clients, where one reads its answer", n)
	}
	close(g.open)
	<-done
	if n := count(); n != 0 {
		t.Errorf("%d clients after it has read it", n)
	}
}
