package server

import (
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/daemon/api"
)

const (
	messageA = core.MessageID("message-123e4567-e89b-42d3-8456-426614174000")
	messageB = core.MessageID("message-223e4567-e89b-42d3-8456-426614174000")
)

// logged makes the events of a run's log.
func logged(bodies ...core.Event) iter.Seq2[core.Event, error] {
	return func(yield func(core.Event, error) bool) {
		for i, ev := range bodies {
			ev.Run, ev.Seq, ev.At = "run-1", int64(i+1), time.Unix(int64(i), 0)
			if ev.OTID == "" && ev.Message != "" {
				ev.OTID = core.OTIDOf(ev.Message, ev.Part)
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// sent are what of a stream is sent: type, sequence number and text.
type sent struct {
	Type api.MessageType
	Seq  int64
	Text string
}

func collected(t *testing.T, frames iter.Seq2[frame, error]) []sent {
	t.Helper()
	var out []sent
	for f, err := range frames {
		if err != nil {
			t.Fatal(err)
		}
		if f.bound == boundSaved || f.bound == boundDiscard && !f.told {
			continue
		}
		s := sent{f.msg.MessageType, f.seq, f.msg.Content.String() + f.msg.Reasoning + string(f.msg.StopReason) + f.msg.ErrorText}
		for _, c := range f.msg.ToolCalls {
			s.Text += c.ToolCallID + ":" + c.Name + c.Arguments + " "
		}
		out = append(out, s)
	}
	return out
}

func at(m core.MessageID, part int, body core.EventBody) core.Event {
	return core.Event{Message: m, Part: part, Body: body}
}

func TestPiecesOfParallelCallsCarryTheirIDsAndAreJoinedInOrder(t *testing.T) {
	t.Parallel()
	events := logged(
		at(messageA, 0, core.Said{Text: "a"}),
		at(messageA, 1, core.ToolCallDelta{Index: 0, ID: "c0", Name: "one"}),
		at(messageA, 1, core.ToolCallDelta{Index: 1, ID: "c1", Name: "two", Arguments: "{"}),
		at(messageA, 1, core.ToolCallDelta{Index: 0, Arguments: "{}"}),
		at(messageA, 1, core.ToolCallDelta{Index: 1, Arguments: "}"}),
		core.Event{Body: core.Saved{}},
		at(messageB, 0, core.ToolReturned{Returns: []core.ToolReturn{{CallID: "c0"}, {CallID: "c1"}}}),
		core.Event{Body: core.UsageReport{}},
		core.Event{Body: core.Stop{Reason: core.StopEndTurn}},
	)
	want := []sent{
		{"assistant_message", 1, "a"},
		{"tool_call_message", 2, "c0:one "},
		{"tool_call_message", 3, "c1:two{ "},
		{"tool_call_message", 4, "c0:{} "},
		{"tool_call_message", 5, "c1:} "},
		{"tool_return_message", 7, ""},
		{"stop_reason", 8, "end_turn"},
		{"usage_statistics", 9, ""},
	}
	if diff := cmp.Diff(want, collected(t, convert(events, viewContract))); diff != "" {
		t.Errorf("pieces (-want +got):\n%s", diff)
	}
	whole := []sent{
		{"assistant_message", 1, "a"},
		{"tool_call_message", 5, "c0:one{} c1:two{} "},
		{"tool_return_message", 7, ""},
		{"stop_reason", 8, "end_turn"},
		{"usage_statistics", 9, ""},
	}
	if diff := cmp.Diff(whole, collected(t, collapse(convert(events, viewContract)))); diff != "" {
		t.Errorf("wholes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[4:], collected(t, above(convert(events, viewContract), 4))); diff != "" {
		t.Errorf("resumed in the middle of a call (-want +got):\n%s", diff)
	}
}

func TestWhatWasNotSavedIsNoWholeMessage(t *testing.T) {
	t.Parallel()
	failed := core.RunError{Type: "llm_error", Message: "broke"}
	events := logged(
		at(messageA, 0, core.Said{Text: "lost"}),
		core.Event{Message: messageA, Body: core.Notice{Kind: api.NoticeDiscard}},
		at(messageB, 0, core.Said{Text: "kept"}),
		core.Event{Body: core.Saved{}},
		at(messageA, 0, core.Said{Text: "half"}),
		core.Event{Body: core.Failure{Error: failed}},
		core.Event{Body: core.UsageReport{}},
		core.Event{Body: core.Stop{Reason: core.StopLLMAPIError}},
	)
	want := []sent{{"assistant_message", 3, "kept"}, {"stop_reason", 7, "llm_api_error"}, {"error_message", 8, "broke"}}
	if diff := cmp.Diff(want, collected(t, collapse(convert(events, viewContract)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	own := collected(t, convert(events, viewOwn))
	last := []sent{{"stop_reason", 6, "llm_api_error"}, {"error_message", 7, "broke"}, {"usage_statistics", 8, ""}}
	if diff := cmp.Diff(last, own[len(own)-3:]); diff != "" || own[1].Type != api.MessageNotice {
		t.Errorf("our own stream (-want +got):\n%s", diff)
	}
}

func TestACallWithoutArgumentsIsWholeAsItIsStored(t *testing.T) {
	t.Parallel()
	events := logged(at(messageA, 0, core.ToolCallDelta{ID: "c", Name: "now"}), core.Event{Body: core.Saved{}})
	want := []sent{{"tool_call_message", 1, "c:now{} "}}
	if diff := cmp.Diff(want, collected(t, collapse(convert(events, viewContract)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEveryEventIsConverted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body core.EventBody
		want api.MessageType
	}{
		{core.UserInput{Text: "x"}, api.MessageUserInput},
		{core.Notice{Kind: "model", Text: "x"}, api.MessageNotice},
		{core.Compacting{}, api.MessageEvent},
		{core.Reasoning{Text: "x"}, api.MessageReasoning},
		{core.Summary{Text: "x"}, api.MessageSummary},
	} {
		got := collected(t, convert(logged(at(messageA, 0, c.body)), viewOwn))
		if len(got) != 1 || got[0].Type != c.want {
			t.Errorf("%T = %v, want %s", c.body, got, c.want)
		}
	}
	asked := core.ToolCallDelta{ID: "c", Name: "n", Arguments: "{}", Asks: true}
	if got := collected(
		t,
		convert(logged(at(messageA, 0, asked)), viewContract),
	); len(got) != 1 ||
		got[0].Type != api.MessageApprovalRequest {
		t.Errorf("an approval request = %v", got)
	}
	if got := collected(
		t,
		convert(
			logged(at(messageA, 0, core.UserInput{}), at(messageA, 0, core.Notice{}), at(messageA, 0, core.Compacting{})),
			viewContract,
		),
	); len(
		got,
	) != 0 {
		t.Errorf("the contract's stream has %v", got)
	}
}

func TestAStreamThatBreaksSaysSo(t *testing.T) {
	t.Parallel()
	broken := func(yield func(frame, error) bool) {
		if yield(frame{seq: 1, msg: api.Message{MessageType: api.MessageAssistant, ID: "message-1"}}, nil) {
			yield(frame{}, core.E(core.Unavailable, "the daemon is going down"))
		}
	}
	f := newFixture(t, always("ok"))
	st := runStream{run: "run-1", frames: broken}.sse(time.Now)
	r := reply{t: t, status: 200}
	w := recorded(t, f.srv, st)
	r.body = w
	events := r.events()
	if len(events) != 3 || events[1].StopReason != api.StopError || events[2].ErrorType != "stream_incomplete" {
		t.Errorf("stream = %s", w)
	}
	inner := errors.New("secret detail")
	if got := (runStream{}).fail(0, inner); len(got) != 2 || got[1].(api.Message).ErrorText != "An unknown error occurred" {
		t.Errorf("an internal error tells %v", got)
	}
}
