package server

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"loci/core"
	"loci/daemon/api"
)

// frame is one element of a run's stream: a message, a piece of one, or a boundary that is not sent.
type frame struct {
	seq     int64
	msg     api.Message
	bound   bound
	dropped []string // of boundSaved: ids of calls that were partly shown and are void
	told    bool     // of boundDiscard: it is also a message, for readers who saw the pieces
}

// bound says what a frame means to readers that join pieces.
type bound int

const (
	boundPiece   bound = iota // a piece of a message, more may follow
	boundWhole                // a message that is complete and saved, like everything before it
	boundSaved                // no message: everything before it is saved
	boundDiscard              // the pieces of msg.ID are void; no message on /v1
	boundAside                // a message that isn't one of the run's own: input, notices
	boundEnd                  // part of the run's end
)

// converter is the only way from the run log to the wire. It keeps just two things: the ids of calls, which the log
// gives once and the wire repeats in every piece, and whatever has to be sent in a different order than it was
// logged.
type converter struct {
	calls   map[callIndex]string
	failure *core.Event
	usage   *core.Event
	view    audience
}

// audience is the kind of reader of a stream.
type audience int

const (
	viewContract   audience = iota
	viewCompaction          // the contract's, with compactions shown as such
	viewOwn                 // our own: always with notices, input and usage
)

// viewOf returns the view that a request asked for.
func viewOf(config core.RunConfig) audience {
	if config.IncludeCompaction {
		return viewCompaction
	}
	return viewContract
}

type callIndex struct {
	message core.MessageID
	index   int
}

// convert turns the events of a run, from its beginning, into frames.
func convert(events iter.Seq2[core.Event, error], as audience) iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		c := &converter{calls: map[callIndex]string{}, view: as}
		for ev, err := range events {
			if err != nil {
				yield(frame{}, err)
				return
			}
			for _, f := range c.frames(ev) {
				if !yield(f, nil) {
					return
				}
			}
		}
	}
}

// above passes on the frames after a cursor.
func above(frames iter.Seq2[frame, error], after int64) iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		for f, err := range frames {
			if (err != nil || f.seq > after) && !yield(f, err) {
				return
			}
		}
	}
}

func (c *converter) frames(ev core.Event) []frame {
	one := func(b bound, m api.Message) []frame { return []frame{{seq: ev.Seq, msg: m, bound: b}} }
	part := func(b bound, p core.Part) []frame {
		p.Index, p.OTID = ev.Part, ev.OTID
		return one(b, wirePart(eventHead(ev), p))
	}
	switch body := ev.Body.(type) {
	case core.Said:
		return part(boundPiece, core.Part{Kind: core.PartAssistant, Text: body.Text})
	case core.Reasoning:
		return part(boundPiece, core.Part{Kind: core.PartReasoning, Text: body.Text, Signature: body.Signature, Prompted: body.Prompted})
	case core.ToolCallDelta:
		out := part(
			boundPiece,
			core.Part{Kind: core.PartCalls, Calls: []core.ToolCall{{ID: c.callID(ev, body), Name: body.Name, Arguments: body.Arguments}}},
		)
		out[0].msg.Delta = true
		if body.Asks {
			out[0].msg.MessageType = api.MessageApprovalRequest
		}
		return out
	case core.ToolReturned:
		return part(boundWhole, core.Part{Kind: core.PartReturns, Returns: body.Returns})
	case core.Summary:
		return one(boundWhole, c.summary(ev, body))
	case core.Compacting:
		return c.compacting(ev, body)
	case core.UserInput:
		return c.input(ev, body)
	case core.Notice:
		return c.notice(ev, body)
	case core.Saved:
		return []frame{{seq: ev.Seq, bound: boundSaved, dropped: body.Dropped}}
	case core.Generated: // see collect
		return nil
	case core.UsageReport:
		c.usage = &ev
	case core.Failure:
		c.failure = &ev
	case core.Stop:
		return c.end(ev, body)
	}
	return nil
}

func eventHead(ev core.Event) api.Message {
	return api.Message{ID: string(ev.Message), Date: api.On(ev.At), StepID: string(ev.Step), RunID: string(ev.Run)}
}

func (c *converter) callID(ev core.Event, d core.ToolCallDelta) string {
	key := callIndex{ev.Message, d.Index}
	if d.ID != "" {
		c.calls[key] = d.ID
	}
	return c.calls[key]
}

func (c *converter) input(ev core.Event, in core.UserInput) []frame {
	if c.view != viewOwn {
		return nil
	}
	m := eventHead(ev)
	m.MessageType, m.OTID, m.Content, m.Name = api.MessageUserInput, ev.OTID, api.Text(in.Text), in.Name
	if in.Content != nil {
		m.Content = wireContent(in.Content)
	}
	return []frame{{seq: ev.Seq, msg: m, bound: boundAside}}
}

// summary returns the same message as a list would, including its time.
func (c *converter) summary(ev core.Event, b core.Summary) api.Message {
	made := b.At
	if made.IsZero() {
		made = ev.At
	}
	head := eventHead(ev)
	head.Date = api.On(made)
	return wireSummary(head, core.Part{OTID: ev.OTID, Text: b.Text}, b.Stats, made, c.view != viewContract)
}

// compacting is sent to readers that asked for it.
func (c *converter) compacting(ev core.Event, b core.Compacting) []frame {
	if c.view == viewContract {
		return nil
	}
	m := eventHead(ev)
	m.MessageType, m.OTID, m.EventType = api.MessageEvent, ev.OTID, "compaction"
	m.EventData = api.Object{"trigger": b.Trigger, "context_token_estimate": b.Tokens, "context_window": b.Window}
	return []frame{{seq: ev.Seq, msg: m, bound: boundAside}}
}

func (c *converter) notice(ev core.Event, n core.Notice) []frame {
	m := eventHead(ev)
	m.MessageType, m.Notice = api.MessageNotice, &api.Notice{Kind: n.Kind, Text: n.Text, Data: n.Data}
	switch {
	case n.Kind == api.NoticeDiscard:
		return []frame{{seq: ev.Seq, msg: m, bound: boundDiscard, told: c.view == viewOwn}}
	case c.view == viewOwn:
		return []frame{{seq: ev.Seq, msg: m, bound: boundAside}}
	}
	return nil
}

// end makes the end of a stream: first the stop reason, then the error if any, then the usage. The log has the stop
// last, so the numbers of the held events are reassigned in ascending order.
func (c *converter) end(ev core.Event, stop core.Stop) []frame {
	seqs := []int64{ev.Seq}
	msgs := []api.Message{{MessageType: api.MessageStopReason, StopReason: api.StopReason(stop.Reason), RunID: string(ev.Run)}}
	if c.failure != nil {
		seqs = append(seqs, c.failure.Seq)
		msgs = append(msgs, wireFailure(*c.failure))
	}
	if c.usage != nil {
		seqs = append(seqs, c.usage.Seq)
		if c.view == viewOwn || c.failure == nil && stop.Reason != core.StopCancelled {
			msgs = append(msgs, wireUsage(*c.usage))
		}
	}
	slices.SortFunc(seqs, cmp.Compare[int64])
	seqs = seqs[len(seqs)-len(msgs):]
	var out []frame
	for i, m := range msgs {
		out = append(out, frame{seq: seqs[i], msg: m, bound: boundEnd})
	}
	return out
}

func wireFailure(ev core.Event) api.Message {
	failure, _ := ev.Body.(core.Failure)
	return errorFrame(string(ev.Run), failure.Error)
}

func errorFrame(run string, e core.RunError) api.Message {
	detail := e.Detail
	if detail == "" {
		detail = e.Hint
	}
	return api.Message{
		MessageType: api.MessageError,
		RunID:       run,
		ErrorType:   e.Type,
		ErrorKind:   string(e.Kind),
		ErrorText:   e.Message,
		Detail:      detail,
	}
}

func wireUsage(ev core.Event) api.Message {
	u, _ := ev.Body.(core.UsageReport)
	return api.Message{MessageType: api.MessageUsage, RunID: string(ev.Run), Usage: &api.Usage{
		MessageType:      api.MessageUsage,
		CompletionTokens: u.Usage.Completion,
		PromptTokens:     u.Usage.Prompt,
		TotalTokens:      u.Usage.Total,
		StepCount:        u.Steps,
		RunIDs: []string{
			string(ev.Run),
		},
		CachedInputTokens: u.Usage.Cached,
		CacheWriteTokens:  u.Usage.CacheWrite,
		ReasoningTokens:   u.Usage.Reasoning,
		ContextTokens:     api.PtrTo(u.Context),
	}}
}

// collapse joins the pieces of messages and passes each message on once its step is saved; what was never saved is
// dropped. It turns a stream into complete messages for readers that didn't ask for pieces.
func collapse(frames iter.Seq2[frame, error]) iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		var held []frame
		flush := func() bool {
			for _, f := range held {
				calls := f.msg.MessageType == api.MessageToolCall || f.msg.MessageType == api.MessageApprovalRequest
				if calls && len(f.msg.ToolCalls) == 0 {
					continue // none of its calls were kept
				}
				if !yield(whole(f), nil) {
					return false
				}
			}
			held = nil
			return true
		}
		for f, err := range frames {
			if err != nil {
				yield(frame{}, err)
				return
			}
			switch f.bound {
			case boundPiece:
				held = join(held, f)
			case boundWhole:
				held = append(held, f)
				if !flush() {
					return
				}
			case boundSaved:
				drop(held, f.dropped)
				if !flush() {
					return
				}
			case boundDiscard:
				held = nil
			case boundAside, boundEnd:
				if f.bound == boundEnd {
					held = nil
				}
				if !yield(f, nil) {
					return
				}
			}
		}
	}
}

// drop removes calls from the held messages.
func drop(held []frame, calls []string) {
	for i := range held {
		held[i].msg.ToolCalls = slices.DeleteFunc(
			held[i].msg.ToolCalls,
			func(c api.ToolCall) bool { return slices.Contains(calls, c.ToolCallID) },
		)
	}
}

// whole returns a joined message as it is stored: a call without arguments has an empty object.
func whole(f frame) frame {
	for i := range f.msg.ToolCalls {
		if strings.TrimSpace(f.msg.ToolCalls[i].Arguments) == "" {
			f.msg.ToolCalls[i].Arguments = "{}"
		}
	}
	return f
}

// join appends a piece to its message, or starts a new one.
func join(held []frame, f frame) []frame {
	at := slices.IndexFunc(held, func(h frame) bool {
		return h.msg.ID == f.msg.ID && h.msg.OTID == f.msg.OTID && h.msg.MessageType == f.msg.MessageType
	})
	if at < 0 {
		f.msg.Delta = false
		return append(held, f)
	}
	m := &held[at].msg
	held[at].seq = f.seq
	m.Content.Text += f.msg.Content.Text
	m.Reasoning += f.msg.Reasoning
	m.Signature += f.msg.Signature
	for _, c := range f.msg.ToolCalls {
		i := slices.IndexFunc(m.ToolCalls, func(have api.ToolCall) bool { return have.ToolCallID == c.ToolCallID })
		if i < 0 {
			m.ToolCalls = append(m.ToolCalls, c)
			continue
		}
		m.ToolCalls[i].Arguments += c.Arguments
	}
	return held
}
