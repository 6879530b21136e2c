package tui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/transcript"
)

// turn is a run as shown: one of our own, or one that another terminal started
// in this conversation.
type turn struct {
	input   string
	otid    string // of the input, as sent
	foreign bool
	answer  bool               // it answers calls that waited for the person
	refused error              // why the daemon didn't take that answer
	run     string             // known as soon as the daemon has accepted it
	feed    *feed[api.Message] // nil: lost, will be followed again
	seq     int64              // the highest seq_id seen
	away    string             // why it was lost
	wait    time.Duration      // until it is followed again
	unsure  bool               // the connection ended before we knew whether the run was accepted
	unheard bool               // it was accepted, but its outcome can't be read
	started time.Time

	part  part
	calls []transcript.Call          // in progress
	live  func(call string) []string // what a call's shell line has written last

	cancel  bool // the person wants it to stop
	asked   bool // the daemon was asked to stop it
	shown   bool // something from the agent was shown
	stored  bool // a step was saved: the input is part of the conversation
	stop    api.StopReason
	problem string
	hint    string // what to do about it

	compacting bool   // a summary is being written
	broken     bool   // the connection broke, and nobody has been told yet
	told       bool   // the person was told
	waits      string // what it is waiting for, above the status line
	daemon     int    // pid of the daemon that the connection broke to
}

// begin starts showing a run.
func (m *Model) begin(t *turn) tea.Cmd {
	t.started, t.wait = m.now(), retryFirst
	t.part.ui, t.part.now = m.ui, m.now
	t.part.stream.Long, t.part.stream.Wide = max(6, m.ui.height()/3), m.ui.render.Prose()
	t.calls, t.live = m.question.drop(), m.jobs.rows
	m.turn = t
	m.ui.flash = ""
	return tea.Batch(t.feed.next, m.tick())
}

// take handles a batch of messages of the run being shown.
func (m *Model) take(msg batchMsg[api.Message]) tea.Cmd {
	t := m.turn
	if t == nil || msg.feed != t.feed {
		return nil
	}
	var cmds []tea.Cmd
	for i := range msg.items {
		t.seq = max(t.seq, msg.items[i].SeqID)
		cmds = append(cmds, m.message(t, &msg.items[i]))
	}
	if len(msg.items) > 0 {
		t.away, t.wait = "", retryFirst
	}
	if t.cancel && !t.asked && t.run != "" {
		t.asked = true
		cmds = append(cmds, m.link.cancel(m.conv.thread, t.run))
	}
	if !msg.over {
		return tea.Batch(append(cmds, t.feed.next)...)
	}
	if msg.err != nil {
		if t.lose(msg.err, m.link.daemonPID) {
			return tea.Batch(append(cmds, after(&t.wait, followMsg{t}))...)
		}
		if t.answer && t.run == "" && !t.unsure {
			t.refused = msg.err
		} else {
			t.problem = cmp.Or(t.problem, explain(msg.err))
		}
	}
	return tea.Batch(append(cmds, m.finishTurn(t))...)
}

// followMsg says it is time to follow a run again.
type followMsg struct{ turn *turn }

// followOn follows a lost run from where it left off. A failed connection says
// nothing about the run behind it: once a run was accepted, it is followed again
// until the daemon says what became of it.
func (m *Model) followOn(t *turn) tea.Cmd {
	if t == nil || t != m.turn || t.feed != nil || m.quitting {
		return nil
	}
	t.feed = m.link.follow(t.run, t.seq)
	return t.feed.next
}

// message shows one message of a stream.
func (m *Model) message(t *turn, msg *api.Message) tea.Cmd {
	if msg.RunID != "" && t.run == "" {
		t.run = msg.RunID
		m.conv.seen[t.run] = true
	}
	if msg.ID != "" &&
		!slices.Contains(
			[]api.MessageType{api.MessagePing, api.MessageUserInput, api.MessageEvent},
			msg.MessageType,
		) { // these aren't records
		m.conv.lastID = msg.ID
	}
	if t.broken && msg.MessageType != api.MessagePing && msg.MessageType != api.MessageNotice {
		t.tellAway(m.link, "Reconnected; continuing.")
	}
	if msg.MessageType != api.MessagePing {
		t.compacting = msg.MessageType == api.MessageEvent
	}
	if msg.MessageType != api.MessageNotice && msg.MessageType != api.MessagePing {
		t.waits = "" // the wait is over
	}
	switch msg.MessageType {
	case api.MessagePing:
	case api.MessageAssistant:
		t.write(transcript.Assistant, msg, msg.Content.String())
	case api.MessageReasoning:
		t.write(transcript.Reasoning, msg, msg.Reasoning)
	case api.MessageToolCall, api.MessageApprovalRequest:
		t.part.pause()
		t.shown = true
		for _, c := range msg.ToolCalls {
			t.call(c, msg.Delta)
		}
	case api.MessageToolReturn:
		t.part.close()
		t.stored = true
		for _, r := range msg.ToolReturns {
			t.returned(r)
		}
	case api.MessageUserInput, api.MessageUser:
		if text := msg.Content.Shown(); t.foreign && !isMachine(text) {
			m.ui.showSaid(transcript.Item{Kind: transcript.User, ID: msg.ID, Text: text})
		} else if end := jobEnd(text); end != "" {
			m.ui.notice(end)
		}
	case api.MessageStopReason:
		t.stop = msg.StopReason
	case api.MessageUsage:
		if msg.Usage != nil && msg.Usage.ContextTokens != nil {
			m.conv.contextUsed = *msg.Usage.ContextTokens
		}
	case api.MessageError:
		t.hint = strings.TrimSpace(msg.Detail)
		t.problem = cmp.Or(strings.TrimSpace(msg.ErrorText), t.hint)
	case api.MessageNotice:
		return m.noticed(t, msg)
	case api.MessageSummary:
		t.part.close()
		m.ui.show(transcript.Item{Kind: transcript.Recalled, ID: msg.ID, Text: msg.Summary})
	case api.MessageSystem, api.MessageHiddenReasoning, api.MessageEvent, api.MessageApprovalResponse:
	default:
		m.ui.notice("unknown event: " + string(msg.MessageType))
	}
	return nil
}

// failed is what went wrong with a run, and below it what to do.
func (t *turn) failed() string {
	if t.hint == "" || strings.Contains(t.problem, t.hint) {
		return t.problem
	}
	return t.problem + "\ntry: " + transcript.OneLine(t.hint)
}

func (m *Model) noticed(t *turn, msg *api.Message) tea.Cmd {
	if msg.Notice == nil {
		return nil
	}
	n := *msg.Notice
	switch n.Kind {
	case api.NoticeRetry, api.NoticeWaiting:
		t.waits = n.Text
	case api.NoticeDiscard:
		// What is printed stays printed; the answer that follows is the one
		// that counts.
		t.part.drop()
		t.calls, t.shown = nil, false
		switch {
		case t.broken:
			t.tellAway(m.link, "The daemon restarted; the answer starts over.")
			return nil
		case t.told:
			n.Text = "The answer starts over."
		}
		m.ui.notice(cmp.Or(n.Text, "that attempt was lost; it begins again"))
	case api.NoticeBroken:
		t.broke(m.link.daemonPID) // mentioned once the run goes on
	case api.NoticeResumed:
		t.broken = false
		m.ui.notice(n.Text)
	case api.NoticeModel:
		if handle, ok := n.Data["model"].(string); ok && handle != "" {
			m.conv.answers(handle)
		}
		m.ui.noticeOnce(n.Text)
		return m.conv.loadAgent()
	case api.NoticeRecalled:
		m.ui.show(recalledItem(msg.ID, &n))
	default:
		m.ui.notice(n.Text)
	}
	return nil
}

// lose records that the feed of a run ended with an error of its own. It
// reports whether to follow the run again.
func (t *turn) lose(err error, pid int) bool {
	cut := unreachable(err)
	switch {
	case t.run == "":
		t.unsure = cut
	case cut:
		t.feed, t.away = nil, explain(err)
		t.broke(pid)
		return true
	default:
		t.unheard = client.KindOf(err) != api.KindNotFound // not found: the daemon never accepted it for good
	}
	return false
}

// broke records that the connection of a run to a daemon broke.
func (t *turn) broke(pid int) { t.broken, t.daemon = true, pid }

// tellAway says, once, that the daemon was away and what became of the run;
// meeting the next daemon doesn't repeat it.
func (t *turn) tellAway(l *link, text string) {
	t.broken, t.told, l.toldAway = false, true, t.daemon
	l.ui.notice(text)
}

// write adds text to what the agent is saying.
func (t *turn) write(kind transcript.Kind, msg *api.Message, text string) {
	t.part.grow(kind, msg, text)
	t.shown = t.shown || text != ""
}

// call adds a call, or a fragment of one. One that was shown as a call and turns
// out to wait for a person is told again from its beginning, with its name.
func (t *turn) call(c api.ToolCall, delta bool) {
	for i := range t.calls {
		if c.ToolCallID != "" && t.calls[i].ID == c.ToolCallID {
			if delta && c.Name == "" {
				t.calls[i].Arguments += c.Arguments
			} else {
				t.calls[i].Name, t.calls[i].Arguments = c.Name, c.Arguments
			}
			return
		}
	}
	if n := len(t.calls); c.ToolCallID == "" && delta && n > 0 {
		t.calls[n-1].Name += c.Name
		t.calls[n-1].Arguments += c.Arguments
		return
	}
	t.calls = append(t.calls, transcript.Call{ID: c.ToolCallID, Name: c.Name, Arguments: c.Arguments})
}

// returned prints a call once its return has arrived.
func (t *turn) returned(r api.ToolReturn) {
	for i := range t.calls {
		if t.calls[i].ID == r.ToolCallID {
			c := t.calls[i]
			t.calls = append(t.calls[:i:i], t.calls[i+1:]...)
			finish(&c, r)
			t.part.ui.show(transcript.Item{Kind: transcript.Tool, Call: c})
			return
		}
	}
	t.part.ui.returned(r)
}

// finishTurn stops showing a run and goes on with what is waiting.
func (m *Model) finishTurn(t *turn) tea.Cmd {
	t.part.close()
	var look tea.Cmd
	switch {
	case t.stop == api.StopRequiresApproval:
		m.question.await(t.calls)
		t.calls = nil
		fallthrough
	case t.answer, t.foreign, t.problem != "":
		look = m.question.look(t.refused)
	}
	for _, c := range t.calls {
		m.ui.show(transcript.Item{Kind: transcript.Tool, Call: c})
	}
	m.turn = nil
	if t.stop != api.StopRequiresApproval { // the question calls
		m.caller.ended(m.now().Sub(t.started), m.conv.name()+" has ended what it did")
	}
	stopped := t.stop == api.StopCancelled || t.cancel
	delivered := t.stored || (t.problem == "" && t.refused == nil && t.stop != api.StopError && t.stop != api.StopLLMAPIError &&
		t.stop != api.StopInvalidLLMResponse && (!stopped || t.shown))
	if t.problem != "" && !stopped {
		m.ui.failure(t.failed())
	}
	if text, ok := stopWord(t.stop); ok && !stopped && t.problem == "" {
		m.ui.notice(text)
	}
	if stopped {
		m.ui.notice("stopped")
	}
	delivered = delivered || t.unheard
	if delivered {
		m.outbox.delivered(m.conv.thread, t.input)
	} else if !t.foreign && t.input != "" {
		m.outbox.undelivered(m.conv.thread, t)
	}
	m.outbox.held = stopped || !delivered || t.problem != ""
	return tea.Batch(m.conv.loadAgent(), m.conv.loadContext(), look, m.trust.look(), m.goOn())
}

// goOn shows the next run of another terminal, or sends what is queued.
func (m *Model) goOn() tea.Cmd {
	if m.turn != nil || !m.link.connected || m.quitting || m.timeline.travelling || m.own.running != nil {
		return nil
	}
	if run, ok := m.conv.nextForeign(); ok {
		return m.follow(run)
	}
	if m.question.blocks() {
		return nil
	}
	if text, ok := m.outbox.next(); ok {
		return m.send(text)
	}
	return nil
}

// stopWord says why a run ended, unless it simply ended.
func stopWord(s api.StopReason) (string, bool) {
	switch s {
	case "", api.StopEndTurn, api.StopToolRule, api.StopNoToolCall, api.StopCancelled,
		api.StopRequiresApproval: // the question says it
		return "", false
	case api.StopMaxSteps:
		return "stopped: the most steps for one run are reached", true
	case api.StopMaxTokensExceeded:
		return "the answer was cut: the model wrote as much as it may; say “go on” for the rest", true
	case api.StopError, api.StopLLMAPIError, api.StopInvalidLLMResponse, api.StopInvalidToolCall, api.StopNoCredits,
		api.StopSystemPromptFull: // as a reason that is new to us
	}
	return "stopped: " + strings.ReplaceAll(string(s), "_", " "), true
}
