package tui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// reasonMost bounds the reason of a denial, in characters.
const reasonMost = 2000

// approvalBackend knows what waits for a person.
type approvalBackend interface {
	// Approvals returns what waits at an agent, the oldest first.
	Approvals(ctx context.Context, agent string) ([]api.WaitingRequest, error)
	// CheckPermission says what would become of a call; rules that aren't valid are
	// an error.
	CheckPermission(ctx context.Context, in api.CheckPermission) (api.PermissionVerdict, error)
}

// question is the tool calls of the open conversation that wait for a person.
// It stands until all of them are answered, here or elsewhere.
type question struct {
	arming

	conv    *conversation
	backend approvalBackend
	caller  *caller
	folder  string        // that is open; empty: none
	mode    func() string // of permission
	send    func(req api.AnswerRequest, text string) tea.Cmd
	behind  func() bool // whether something else is answered first

	request *api.WaitingRequest // nil: nothing waits, as far as we know
	awaited bool                // a run ended with one that we haven't read yet
	replies []reply             // to its calls
	asked   []*asked            // those of them that ask the person something; else nil
	at      int                 // the call being asked about
	calls   []transcript.Call   // as the run that asks showed them
	panels  []panel.Panel       // that belong to it

	later bool // it was behind when it was drawn last
	early bool // what the prompt holds was begun before the question came
	rung  bool
	cut   bool // not all that is said about the calls is on the screen

	touches []string                   // what each call touches, in words, as far as is known
	before  map[string]string          // what the files hold that would be replaced, by their paths
	deeds   map[string]transcript.Deed // what the calls would do, by name and arguments
	drawn   map[drawing][]string       // what of it was drawn
}

// reply is what a person decided about a call, as far as they have.
type reply struct {
	given   bool
	approve bool
	reason  string
	changed string // arguments that replace those that wait; empty: none do
	seen    bool   // its end was on the screen

	rules []string // that allow what is like it too, from now on
	scope string   // what they count for

	uncaged bool // it runs outside of the sandbox
}

type (
	// waitingMsg is what waits at the agent of a conversation.
	waitingMsg struct {
		thread  Thread
		waiting []api.WaitingRequest
		err     error
		refused error // why the daemon didn't take our answer; nil: it wasn't refused
	}
	// ringMsg says it is time to look whether somebody is there.
	ringMsg struct{ request string }
)

// answerKey is a row of the keys that answer a question.
type answerKey struct {
	keys, help string
	on         map[string]func(*question) tea.Cmd
}

func answerKeys() []answerKey {
	return []answerKey{
		{
			"y, then enter", "allow the call, this once; works when its end was shown and no key was pressed for a moment",
			map[string]func(*question) tea.Cmd{"y": (*question).allow},
		},
		{
			"s, a", "allow what is like it too, for this session or always in this folder; the rule is shown first",
			map[string]func(*question) tea.Cmd{
				"s": func(q *question) tea.Cmd { return q.openRules(api.ScopeSession) },
				"a": func(q *question) tea.Cmd { return q.openRules(api.ScopeFolder) },
			},
		},
		{
			"u, then enter", "run a shell line outside of the sandbox, this once: it can do whatever you can",
			map[string]func(*question) tea.Cmd{"u": (*question).uncage},
		},
		{"n", "deny it", map[string]func(*question) tea.Cmd{"n": func(q *question) tea.Cmd { return q.deny(q.at, "") }}},
		{"r", "deny it with a reason, which the agent reads", map[string]func(*question) tea.Cmd{"r": (*question).openReason}},
		{"e", "edit its arguments first", map[string]func(*question) tea.Cmd{"e": (*question).openEditor}},
		{"v", "see all of it, if it doesn't fit", map[string]func(*question) tea.Cmd{"v": (*question).openWhole}},
		{
			"Y, then enter; N", "allow or deny all that wait at once",
			map[string]func(*question) tea.Cmd{"Y": (*question).allowAll, "N": (*question).denyCalls},
		},
		{
			"↑ ↓, of several calls", "choose the one to answer",
			map[string]func(*question) tea.Cmd{
				"up": func(q *question) tea.Cmd { return q.choose(-1) }, "down": func(q *question) tea.Cmd { return q.choose(1) },
			},
		},
		{"tab, at a question", "type a message instead, and back", map[string]func(*question) tea.Cmd{"tab": (*question).toggle}},
	}
}

// stands reports whether a question is being asked.
func (q *question) stands() bool { return q.request != nil }

// blocks reports whether the conversation can't go on before a person answers.
func (q *question) blocks() bool { return q.stands() || q.awaited }

// look reads what waits. If the daemon refused our answer, it says why.
func (q *question) look(refused error) tea.Cmd {
	thread := q.conv.thread
	return func() tea.Msg {
		waiting, err := q.backend.Approvals(q.ui.ctx, thread.Agent)
		return waitingMsg{thread, waiting, err, refused}
	}
}

// await keeps the calls of a run that ended with a request, until it is read.
func (q *question) await(calls []transcript.Call) { q.awaited, q.calls = true, calls }

// found asks about what waits in the open conversation, or says that it was
// answered elsewhere.
func (q *question) found(msg waitingMsg) tea.Cmd {
	if msg.thread != q.conv.thread {
		return nil
	}
	awaited := q.awaited
	q.awaited = false
	if msg.err != nil {
		kind := client.KindOf(msg.err)
		if old := kind == api.KindNotFound || kind == api.KindUnsupported; awaited && !old {
			q.ui.failure("a tool call waits for an approval, and cannot be read: " + explain(msg.err))
		}
		return nil
	}
	i := slices.IndexFunc(msg.waiting, func(w api.WaitingRequest) bool {
		return threadOf(w.AgentID, w.ConversationID) == msg.thread && len(w.Calls) > 0
	})
	switch {
	case i < 0:
		if q.stands() || msg.refused != nil {
			q.ui.notice("what waited for you was answered elsewhere")
		}
		for _, c := range q.drop() {
			q.ui.show(transcript.Item{Kind: transcript.Tool, Call: c})
		}
		return nil
	case msg.refused != nil:
		q.ui.failure(explain(msg.refused))
	case q.stands() && q.request.RequestID == msg.waiting[i].RequestID:
		return nil
	}
	return q.raise(msg.waiting[i])
}

// raise begins to ask. What is being typed stays in the prompt, and so do the
// keys.
func (q *question) raise(w api.WaitingRequest) tea.Cmd {
	calls := q.calls
	q.drop()
	q.request, q.replies, q.calls, q.asked = &w, make([]reply, len(w.Calls)), calls, askedOf(w.Calls)
	q.learned(make([]string, len(w.Calls)), map[string]string{})
	q.typing = !q.prompt.Empty()
	q.early = q.typing
	return tea.Batch(q.ring(ringMsg{w.RequestID}), q.learn())
}

// ring calls the person, once nobody has pressed a key for a while.
func (q *question) ring(msg ringMsg) tea.Cmd {
	if q.request == nil || q.request.RequestID != msg.request || q.rung {
		return nil
	}
	if wait := q.caller.away(); wait > 0 {
		return tea.Tick(wait, func(time.Time) tea.Msg { return msg })
	}
	q.rung = true
	what := q.request.Calls[0].Name
	if a := q.asked[0]; a != nil {
		what = a.Question
	}
	q.caller.call(q.conv.name() + " waits for your answer: " + what)
	return nil
}

// looksAway calls the person once they look away from what is asked.
func (q *question) looksAway() tea.Cmd {
	if !q.stands() {
		return nil
	}
	return q.ring(ringMsg{q.request.RequestID})
}

// drop stops asking and returns the calls that the run showed.
func (q *question) drop() []transcript.Call {
	calls := q.calls
	for _, p := range q.panels {
		q.ui.remove(p)
	}
	q.request, q.replies, q.asked, q.at, q.calls, q.panels = nil, nil, nil, 0, nil, nil
	q.rest()
	q.awaited, q.typing, q.took, q.rung = false, false, false, false
	q.touches, q.before, q.deeds, q.drawn, q.cut = nil, nil, nil, nil, false
	return calls
}

// travelled asks anew after the conversation went back or forward: what waited
// may have left it, which nobody answered.
func (q *question) travelled() tea.Cmd {
	q.drop()
	return q.look(nil)
}

func (q *question) choose(by int) tea.Cmd {
	q.at, q.since = (q.at+by+len(q.replies))%len(q.replies), time.Time{}
	return nil
}

// arguments are those that a call would run with.
func (q *question) arguments(i int) string {
	return cmp.Or(q.replies[i].changed, q.request.Calls[i].Arguments)
}

// allow asks for the Enter that allows a call whose end was seen.
func (q *question) allow() tea.Cmd {
	switch {
	case q.request.Calls[q.at].Client:
		q.ui.flash = "the program that brought this tool runs it; you can only deny it"
		return nil
	case !q.replies[q.at].seen:
		q.ui.flash = "v shows the rest of it; then y allows it"
		return nil
	}
	q.confirm = &confirmation{text: "y", says: "enter allows it", do: func() tea.Cmd {
		q.replies[q.at] = reply{given: true, approve: true, changed: q.replies[q.at].changed, seen: true}
		return q.next()
	}}
	return nil
}

// uncage asks for the Enter that runs a line outside of the sandbox.
func (q *question) uncage() tea.Cmd {
	switch {
	case !q.request.Calls[q.at].Uncaged:
		q.ui.flash = "this does not run outside of the sandbox; y allows it"
		return nil
	case !q.replies[q.at].seen:
		q.ui.flash = "v shows the rest of it; then u runs it outside of the sandbox"
		return nil
	}
	const says = "enter runs it uncaged: no rule holds it there, it can do whatever you can"
	q.confirm = &confirmation{text: "u", says: says, do: func() tea.Cmd {
		q.replies[q.at] = reply{given: true, approve: true, uncaged: true, changed: q.replies[q.at].changed, seen: true}
		return q.next()
	}}
	return nil
}

func (q *question) allowAll() tea.Cmd {
	for i, r := range q.replies {
		switch {
		case q.asked[i] != nil: // is answered, not allowed
		case q.request.Calls[i].Client:
			q.at = i
			return q.allow()
		case !r.seen:
			q.ui.flash = "v shows all of them; then Y allows them"
			return nil
		}
	}
	q.confirm = &confirmation{text: "Y", says: "enter allows all of them", do: func() tea.Cmd {
		for i := range q.replies {
			if q.asked[i] == nil {
				q.replies[i] = reply{given: true, approve: true, changed: q.replies[i].changed, seen: true}
			}
		}
		return q.next()
	}}
	return nil
}

// denyCalls denies everything that waits but the questions, which are asked all the same.
func (q *question) denyCalls() tea.Cmd {
	for i := range q.replies {
		if q.asked[i] == nil {
			q.replies[i] = reply{given: true}
		}
	}
	return q.next()
}

func (q *question) deny(i int, reason string) tea.Cmd {
	q.replies[i].given, q.replies[i].approve, q.replies[i].reason = true, false, reason
	return q.next()
}

// denyAll denies everything that waits. A message, if there is one, goes along.
func (q *question) denyAll(reason, text string) tea.Cmd {
	for i := range q.replies {
		q.replies[i] = reply{given: true, reason: reason}
	}
	return q.send(q.answer(), text)
}

// offerToDeny asks what to do about a message, which the agent can't read before
// it has its answer.
func (q *question) offerToDeny(text string) {
	if q.asks() != nil {
		q.offerToAnswer(text)
		return
	}
	what := "its tool call"
	if n := len(q.request.Calls); n > 1 {
		what = count(n, "tool call")
	}
	q.ui.ask(q.conv.name()+" waits for your answer", []string{
		"It cannot read a message before you have answered. The message stays in the prompt until then.",
	}, []choice{
		{'d', "deny " + what + " and send the message", func() tea.Cmd {
			q.ui.closePanels()
			if q.prompt.Text() != text || !q.stands() {
				return nil
			}
			return q.denyAll("The person sent another message instead.", q.prompt.Take())
		}},
		{'b', "go back to the question", func() tea.Cmd {
			q.ui.closePanels()
			q.typing = false
			return nil
		}},
	})
}

// next asks about the next call or, after the last one, sends the answer.
func (q *question) next() tea.Cmd {
	for n := range q.replies {
		if i := (q.at + n) % len(q.replies); !q.replies[i].given {
			q.at, q.since = i, time.Time{}
			return nil
		}
	}
	return q.send(q.answer(), "")
}

// answer is what was decided, bound to the arguments that the person saw.
func (q *question) answer() api.AnswerRequest {
	var req api.AnswerRequest
	for i, c := range q.request.Calls {
		r := q.replies[i]
		d := api.Decision{
			Type: api.ApprovalDecision, ToolCallID: c.ToolCallID, Approve: &r.approve, RequestID: q.request.RequestID, Hash: c.Hash,
		}
		if r.reason != "" {
			d.Reason = &r.reason
		}
		if r.approve && len(r.rules) > 0 {
			d.Rules, d.Scope = r.rules, r.scope
		}
		d.Uncaged = r.approve && r.uncaged
		if r.approve && r.changed != "" {
			d.Arguments = &r.changed
			for n := range q.calls {
				if q.calls[n].ID == c.ToolCallID {
					q.calls[n].Arguments = r.changed
				}
			}
		}
		req.Approvals = append(req.Approvals, d)
	}
	return req
}

// open shows a panel that belongs to the question.
func (q *question) open(p panel.Panel, act func(panel.Action) tea.Cmd) {
	q.panels = append(q.panels, p)
	q.ui.push(p, act)
}

// openReason asks why a call is denied.
func (q *question) openReason() tea.Cmd {
	i := q.at
	e := panel.NewEdit(q.ui.theme, "Why not? "+q.conv.name()+" reads it", q.replies[i].reason, true)
	e.Limit = reasonMost
	q.open(e, func(a panel.Action) tea.Cmd {
		q.ui.remove(e)
		return q.deny(i, strings.TrimSpace(a.Text))
	})
	return nil
}

// openEditor edits the arguments of a call. What was changed is asked about
// again.
func (q *question) openEditor() tea.Cmd {
	i := q.at
	if q.request.Calls[i].Client {
		q.ui.flash = "the program that brought this tool runs it, with these arguments"
		return nil
	}
	e := panel.NewEdit(q.ui.theme, "Arguments of "+toolName(q.request.Calls[i]), transcript.Pretty(q.arguments(i)), false)
	e.Note = "JSON; nothing runs before you have allowed what you saved"
	q.open(e, func(a panel.Action) tea.Cmd {
		changed, err := compactObject(a.Text)
		if err != nil {
			e.Refuse(err.Error())
			return nil
		}
		if before, err := compactObject(transcript.Pretty(q.request.Calls[i].Arguments)); err == nil && before == changed {
			changed = ""
		}
		q.replies[i], q.at, q.since = reply{changed: changed}, i, time.Time{}
		q.ui.remove(e)
		return nil
	})
	return nil
}

// compactObject checks that a text is one JSON object, and puts it on a line.
func compactObject(text string) (string, error) {
	var object map[string]json.RawMessage
	var wrong *json.SyntaxError
	err := json.Unmarshal([]byte(text), &object)
	switch {
	case errors.As(err, &wrong):
		line := 1 + strings.Count(text[:min(int(wrong.Offset), len(text))], "\n")
		return "", fmt.Errorf("line %d is not JSON: %w", line, err)
	case err != nil || object == nil:
		return "", errors.New(`arguments are a JSON object, like {"name": "value"}`)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return "", err
	}
	return b.String(), nil
}
