package engine

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"loci/core"
)

// Retention is how long the events of a finished run can be streamed; the contract's expiry.
const Retention = 3 * time.Hour

const readBatch = 256

// noticeDiscard takes back what was shown of the message it names.
const noticeDiscard = "discard"

// Follow yields the events of a run with Seq > after, waits for more, and ends after the Stop event. Followers pull from
// the run log by cursor, so a slow one only lags and nothing is dropped. What a lost attempt showed of messages that were
// never saved is left out; who had seen it is told to discard it. A run over for longer than Retention is Gone.
func (e *Engine) Follow(ctx context.Context, run core.RunID, after int64) iter.Seq2[core.Event, error] {
	return func(yield func(core.Event, error) bool) {
		void, err := e.discarded(ctx, run)
		if err != nil {
			yield(core.Event{}, err)
			return
		}
		for {
			changed := e.hub.wait(run) // before the read, so that nothing is missed between them
			live := e.living(run)
			if !live {
				e.hub.changed(run) // nobody else will: what is kept for who waits would stay for ever
			}
			events, err := e.cfg.Log.Read(ctx, run, after, readBatch)
			if err != nil {
				yield(core.Event{}, err)
				return
			}
			for _, ev := range events {
				after = ev.Seq
				if void[ev.Message] && isPiece(ev.Body) {
					continue
				}
				if !yield(ev, nil) {
					return
				}
				if _, ok := ev.Body.(core.Stop); ok {
					return
				}
			}
			if len(events) > 0 {
				continue
			}
			if !live {
				more, err := e.replay(ctx, run, after)
				if err != nil {
					yield(core.Event{}, err)
					return
				}
				if !more {
					return
				}
				continue
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(core.Event{}, ctx.Err())
				return
			}
		}
	}
}

// discarded returns the messages of which lost attempts showed pieces that are void. Recover has told of them before any
// request is answered, so they are known when following begins.
func (e *Engine) discarded(ctx context.Context, run core.RunID) (map[core.MessageID]bool, error) {
	var void map[core.MessageID]bool
	for after := core.AttemptSpan; ; {
		events, err := e.cfg.Log.Read(ctx, run, after, readBatch)
		if err != nil || len(events) == 0 {
			return void, err
		}
		for _, ev := range events {
			after = ev.Seq
			if n, ok := ev.Body.(core.Notice); ok && n.Kind == noticeDiscard {
				if void == nil {
					void = map[core.MessageID]bool{}
				}
				void[ev.Message] = true
			}
		}
	}
}

// isPiece says whether an event shows a piece of an answer, which may come to nothing.
func isPiece(body core.EventBody) bool {
	switch body.(type) {
	case core.Said, core.Reasoning, core.ToolCallDelta:
		return true
	default:
		return false
	}
}

func (e *Engine) living(run core.RunID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.active[run] != nil
}

func (e *Engine) stopping() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// replay appends to the log what the facts of a run that is over hold and the log lacks, then its usage and its stop. It
// reports whether there is something to read behind after.
func (e *Engine) replay(ctx context.Context, id core.RunID, after int64) (bool, error) {
	run, err := e.cfg.Store.Runs().Get(ctx, id)
	if err != nil {
		return false, err
	}
	if !run.Status.Final() {
		if e.stopping() {
			return false, core.E(core.Unavailable, "run %s is waiting for the next start: %w", id, core.ErrPaused)
		}
		return false, core.E(core.Unavailable, "run %s is waiting for the next start of the daemon", id)
	}
	select {
	case e.ends <- struct{}{}:
		defer func() { <-e.ends }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	last, stopped, err := e.cfg.Log.Last(ctx, id)
	if err != nil {
		return false, err
	}
	if stopped {
		return last > after, nil
	}
	if e.cfg.Clock().Sub(run.CompletedAt) > Retention {
		return false, core.E(core.Gone, "the stream of run %s expired: it ended more than 3 hours ago", id).
			WithHint("its messages are still listed: GET /v1/runs/%s/messages", id)
	}
	missing, err := e.missing(ctx, run)
	if err != nil {
		return false, err
	}
	seq := int64(run.Attempt+1) * core.AttemptSpan
	for i := range missing {
		seq++
		missing[i].Run, missing[i].Seq, missing[i].At = id, seq, e.cfg.Clock()
	}
	if err := e.cfg.Log.Append(ctx, missing...); err != nil {
		return false, err
	}
	return seq > after, nil
}

// Facts yields what a run did from the facts alone, storing nothing: for watchers of runs whose stream expired.
func (e *Engine) Facts(ctx context.Context, id core.RunID) ([]core.Event, error) {
	run, err := e.cfg.Store.Runs().Get(ctx, id)
	if err != nil {
		return nil, err
	}
	events, err := e.wholeRun(ctx, run, nil)
	if err != nil {
		return nil, err
	}
	for i := range events {
		events[i].Run, events[i].Seq, events[i].At = id, int64(run.Attempt+1)*core.AttemptSpan+int64(i)+1, run.CompletedAt
	}
	return events, nil
}

// missing is what the log lacks of a run that is over.
func (e *Engine) missing(ctx context.Context, run core.Run) ([]core.Event, error) {
	shown := newShown()
	for after := int64(0); ; {
		events, err := e.cfg.Log.Read(ctx, run.ID, after, readBatch)
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			break
		}
		for _, ev := range events {
			shown.add(ev)
			after = ev.Seq
		}
	}
	return e.wholeRun(ctx, run, shown)
}

// wholeRun makes the events of a run from its facts, less what was shown already (nil: nothing was).
func (e *Engine) wholeRun(ctx context.Context, run core.Run, was *logState) ([]core.Event, error) {
	if was == nil {
		was = newShown()
	}
	var events []core.Event
	for _, m := range run.Input {
		if m.Hidden == core.NotHidden && !m.Answers() && !was.input[m.ID] {
			events = append(events, inputEvent(m))
		}
	}
	msgs, err := e.cfg.Store.Messages().
		List(ctx, core.MessageFilter{Agent: run.Agent, Run: run.ID, IncludeErr: true}, core.Page{Limit: 100_000})
	if err != nil {
		return nil, err
	}
	input := map[core.MessageID]bool{}
	for _, m := range run.Input {
		input[m.ID] = true
	}
	for i := range msgs {
		if !input[msgs[i].ID] {
			events = append(events, was.rest(&msgs[i], run.Config.Speak)...)
		}
	}
	usage, steps, err := e.cfg.Store.Runs().Usage(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	if run.Error != nil && !was.failed {
		events = append(events, core.Event{Body: core.Failure{Error: *run.Error}})
	}
	return append(events,
		core.Event{Body: core.UsageReport{Usage: usage, Steps: steps}},
		core.Event{Body: core.Stop{Reason: run.StopReason, Status: run.Status}}), nil
}

func inputEvent(m core.Message) core.Event {
	otid := m.OTID
	if otid == "" {
		otid = core.OTIDOf(m.ID, 0)
	}
	body := core.UserInput{Role: m.Role, Text: m.PlainText(), Name: m.Name}
	if len(m.Images()) > 0 {
		body.Content = m.Content
	}
	return core.Event{Message: m.ID, OTID: otid, Body: body}
}

// logState is what the log of a run already tells.
type logState struct {
	input  map[core.MessageID]bool
	saved  map[core.MessageID]bool
	text   map[partKey]string // of texts and reasoning
	calls  map[partKey]string // arguments, by index of the call
	order  []core.MessageID   // messages of which a piece was shown, in order
	failed bool
}

type partKey struct {
	message core.MessageID
	index   int
}

func newShown() *logState {
	return &logState{
		input: map[core.MessageID]bool{},
		saved: map[core.MessageID]bool{},
		text:  map[partKey]string{},
		calls: map[partKey]string{},
	}
}

func (s *logState) add(ev core.Event) {
	key := partKey{ev.Message, ev.Part}
	if n := len(s.order); isPiece(ev.Body) && (n == 0 || s.order[n-1] != ev.Message) {
		s.order = append(s.order, ev.Message)
	}
	switch b := ev.Body.(type) {
	case core.UserInput:
		s.input[ev.Message] = true
	case core.Said:
		s.text[key] += b.Text
	case core.Reasoning:
		s.text[key] += b.Text
	case core.ToolCallDelta:
		s.calls[partKey{ev.Message, b.Index}] += b.Arguments
	case core.ToolReturned, core.Summary:
		s.saved[ev.Message] = true
	case core.Saved:
		for _, id := range b.Messages {
			s.saved[id] = true
		}
	case core.Failure:
		s.failed = true
	case core.Notice:
		if b.Kind == noticeDiscard {
			s.order = slices.DeleteFunc(s.order, func(id core.MessageID) bool { return id == ev.Message })
		}
	case core.Compacting, core.Generated, core.UsageReport, core.Stop:
	}
}

// rest makes the events of a stored message that were not shown. A text that was shown in part goes on where it stopped.
func (s *logState) rest(m *core.Message, speak core.Speak) []core.Event {
	if s.saved[m.ID] {
		return nil
	}
	var events []core.Event
	add := func(p core.Part, body core.EventBody) {
		events = append(events, core.Event{Step: m.Step, Message: m.ID, OTID: p.OTID, Part: p.Index, Body: body})
	}
	for _, p := range m.Parts(speak) {
		was := s.text[partKey{m.ID, p.Index}]
		switch p.Kind {
		case core.PartAssistant, core.PartReasoning:
			text := p.Text
			text = strings.TrimPrefix(text, was)
			if text == "" {
				continue
			}
			if p.Kind == core.PartAssistant {
				add(p, core.Said{Text: text})
			} else {
				add(p, core.Reasoning{Text: text, Signature: p.Signature, Prompted: p.Prompted})
			}
		case core.PartCalls, core.PartRequest:
			asks := p.Kind == core.PartRequest
			for i, c := range p.Calls {
				was, seen := s.calls[partKey{m.ID, i}]
				switch {
				case !seen:
					add(p, core.ToolCallDelta{Index: i, ID: c.ID, Name: c.Name, Arguments: c.Arguments, Asks: asks})
				case strings.HasPrefix(c.Arguments, was) && len(was) < len(c.Arguments):
					add(p, core.ToolCallDelta{Index: i, Arguments: c.Arguments[len(was):], Asks: asks})
				}
			}
		case core.PartAnswer: // whoever answered knows it, and no stream shows it
		case core.PartReturns:
			add(p, core.ToolReturned{Returns: p.Returns})
		case core.PartUser, core.PartSystem:
			add(p, core.UserInput{Role: m.Role, Text: p.Text, Name: m.Name})
		case core.PartSummary:
			add(p, core.Summary{Text: p.Text, At: m.CreatedAt, Stats: m.Compaction})
		}
	}
	return append(events, core.Event{Step: m.Step, Body: core.Saved{Messages: []core.MessageID{m.ID}}})
}
