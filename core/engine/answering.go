package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"loci/core"
	"loci/core/memory"
	"loci/core/permission"
)

// Answer answers the request for approval that a conversation ends with: one decision for each call that waits.
type Answer struct {
	OTID      string // the client's; empty: none
	Decisions []Decision
}

// Decision is one of an answer. Request and Hash, if given, must be those of what waits.
type Decision struct {
	core.Decision
	Request core.MessageID
	Hash    string
}

// Limits of an answer.
const (
	maxDecisions = 1000
	maxReason    = 20_000 // characters
	maxKept      = 20     // rules of one decision
)

// check refuses what no request could be answered by.
func (a *Answer) check() error {
	if len(a.Decisions) == 0 || len(a.Decisions) > maxDecisions {
		return core.E(core.Invalid, "an answer has 1 to %d decisions", maxDecisions)
	}
	for _, d := range a.Decisions {
		texts := []string{d.Reason, d.Arguments, d.CallID}
		if d.Return != nil {
			texts = append(append(append(texts, d.Return.Text), d.Return.Stdout...), d.Return.Stderr...)
		}
		for _, text := range texts {
			if !utf8.ValidString(text) {
				return core.E(core.Invalid, "the answer to call %q is not valid UTF-8", d.CallID)
			}
			if utf8.RuneCountInString(text) > core.MaxInputChars {
				return core.E(core.TooLarge, "the answer to call %q has more than %d characters", d.CallID, core.MaxInputChars)
			}
		}
		if d.Return != nil && len(d.Return.Images) > core.MaxImages {
			return core.E(core.TooLarge, "a tool returns at most %d images", core.MaxImages)
		}
		if utf8.RuneCountInString(d.Reason) > maxReason {
			return core.E(core.TooLarge, "a reason has at most %d characters", maxReason)
		}
		if err := d.checkKeep(); err != nil {
			return err
		}
		if d.Arguments == "" {
			continue
		}
		if !d.Approve || d.Return != nil {
			return core.E(core.Invalid, "arguments can only be changed of a call that is approved")
		}
		if _, err := core.ParseArguments(d.Arguments); err != nil {
			return core.E(core.Invalid, "the changed arguments of call %q: %w", d.CallID, err)
		}
	}
	return nil
}

// checkKeep checks the rules that a decision keeps. It must say which call it means, so that no other answer passes for it.
func (d *Decision) checkKeep() error {
	if len(d.Keep) == 0 {
		return nil
	}
	if !d.Approve || d.Request == "" || d.Hash == "" {
		return core.E(core.Invalid, "rules are kept with the approval of a call that is named by request and hash")
	}
	if len(d.Keep) > maxKept {
		return core.E(core.TooLarge, "a decision keeps at most %d rules", maxKept)
	}
	_, err := permission.ParseList(permission.List{Allow: d.Keep}, permission.FromFolder)
	return err
}

// match returns what the answer decides of the calls of a request, in their order. It must decide on all of them and on
// nothing else.
func (a *Answer) match(request *core.Message) ([]core.Decision, error) {
	waits := request.Approval.Waits
	var got, want []string
	for _, w := range waits {
		want = append(want, w.CallID)
	}
	of := map[string]Decision{}
	decisions := a.Decisions
	if one := a.Decisions[0]; len(a.Decisions) == 1 && (one.CallID == string(request.ID) || one.CallID == "") {
		decisions = ofOlder(one, waits)
	}
	for _, d := range decisions {
		if d.Request != "" && d.Request != request.ID {
			return nil, core.ErrNoneWaits().WithHint("another request waits by now: %s", request.ID)
		}
		got, of[d.CallID] = append(got, d.CallID), d
	}
	sortedWant, sortedGot := slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))
	if !slices.Equal(sortedWant, sortedGot) {
		return nil, core.E(core.Invalid, "Invalid tool call IDs. Expected '%s', but received '%s'.", idList(want), idList(got))
	}
	var out []core.Decision
	for _, w := range waits {
		d := of[w.CallID]
		if d.Hash != "" && d.Hash != core.HashArguments(w.Arguments) {
			return nil, core.E(core.Invalid, "Cannot process approval response: the arguments of call %s are not those that were approved.",
				w.CallID).WithHint("look at what waits again: `loci approvals`")
		}
		if len(d.Keep) > 0 && len(w.Always) == 0 {
			return nil, core.E(core.Invalid, "call %s can only be allowed this once: it asks each time", w.CallID)
		}
		if d.Uncaged && (!w.Uncaged || !d.Approve || d.Request == "" || d.Hash == "") {
			return nil, core.E(core.Invalid, "only a line that offers it runs outside of the sandbox, with the approval of a call that is "+
				"named by request and hash")
		}
		if d.Arguments == w.Arguments {
			d.Arguments = ""
		}
		out = append(out, d.Decision)
	}
	return out, nil
}

// unanswered is why the other calls of a request are denied whose client answers only one.
const unanswered = "The answer was to another call of the response. Call it again, alone, if it is still needed."

// ofOlder makes an answer of the one decision of a client from before batches, which names the request: it is about the first
// call, and what it can't answer is denied, so that no call stays without a return.
func ofOlder(d Decision, waits []core.WaitingCall) []Decision {
	d.CallID = waits[0].CallID
	out := []Decision{d}
	for _, w := range waits[1:] {
		out = append(out, Decision{Decision: core.Decision{CallID: w.CallID, Reason: unanswered}})
	}
	return out
}

// idList writes ids as the contract's texts have lists.
func idList(ids []string) string {
	quoted := make([]string, len(ids))
	for i, id := range ids {
		quoted[i] = "'" + id + "'"
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// accept makes the run of an answer one that goes on where the request stopped: with its history and in its workspace. An
// answer that was given already starts a run that goes on from there.
func (a *Answer) accept(ctx context.Context, tx core.Store, run *core.Run) error {
	request, waits, err := waiting(ctx, tx, run.Agent, run.Conversation)
	if err != nil {
		return err
	}
	if !waits {
		return a.repeat(ctx, tx, run)
	}
	first := run.Input[0]
	if first.Approval.Decisions, err = a.match(&request); err != nil {
		return err
	}
	first.Step, first.Approval = request.Step, &core.Approval{Request: request.ID, Decisions: first.Approval.Decisions}
	run.Input = append([]core.Message{first}, run.Input[1:]...)
	asking, err := tx.Runs().Get(ctx, request.Run)
	if err != nil && core.KindOf(err) != core.NotFound { // it may be deleted
		return err
	}
	run.Config.Source = asking.Config.Source
	run.Config.Continues = append(slices.Clone(asking.Config.Continues), request.Run)
	run.Client.Workspace = asking.Client.Workspace
	return nil
}

// waiting returns the request for approval that a conversation ends with.
func waiting(ctx context.Context, tx core.Store, agent core.AgentID, conv core.ConversationID) (core.Message, bool, error) {
	rows, err := tx.Messages().Waiting(ctx, agent)
	for _, r := range rows {
		if r.Row.Conversation == conv {
			return r.Message, true, nil
		}
	}
	return core.Message{}, false, err
}

// keepAlive is what an answer says to the model that repeats the last one and brings no message of its own.
const keepAlive = "The person's answer arrived a second time. Ignore this, and go on from where you stopped."

// repeat accepts an answer that repeats the last one of the conversation, as the contract wants it: a client whose
// connection broke may not know that it was heard.
func (a *Answer) repeat(ctx context.Context, tx core.Store, run *core.Run) error {
	f := core.MessageFilter{Agent: run.Agent, Conversation: run.Conversation, Roles: []core.Role{core.RoleApproval}}
	last, err := tx.Messages().List(ctx, f, core.Page{Limit: 1, Desc: true})
	if err != nil {
		return err
	}
	if len(last) == 0 || !last[0].Answers() || !a.repeats(&last[0]) {
		return core.ErrNoneWaits()
	}
	first := run.Input[0]
	run.Input = slices.Clone(run.Input[1:])
	if len(run.Input) == 0 {
		first.Role, first.Approval = core.RoleUser, nil
		first.Content = []core.Content{core.Text(memory.Alert(keepAlive, run.CreatedAt))}
		run.Input = []core.Message{first}
	}
	return nil
}

// repeats reports whether the answer is the one that was given: by its otid or, without one, by what it says. One that names
// the request it means has none.
func (a *Answer) repeats(given *core.Message) bool {
	if a.OTID != "" {
		return a.OTID == given.OTID
	}
	if len(a.Decisions) != len(given.Approval.Decisions) {
		return false
	}
	for _, d := range a.Decisions {
		same := func(g core.Decision) bool {
			return d.Request == "" && d.Hash == "" && g.CallID == d.CallID && g.Approve == d.Approve &&
				(g.Return == nil) == (d.Return == nil)
		}
		if !slices.ContainsFunc(given.Approval.Decisions, same) {
			return false
		}
	}
	return true
}

// input returns the answer as the first message of its run.
func (a *Answer) input(run *core.Run) core.Message {
	m := core.Message{
		ID: core.NewMessageID(), Agent: run.Agent, Conversation: run.Conversation, Run: run.ID, Role: core.RoleApproval, OTID: a.OTID,
		CreatedAt: run.CreatedAt, Approval: &core.Approval{},
	}
	for _, d := range a.Decisions {
		m.Approval.Decisions = append(m.Approval.Decisions, d.Decision)
	}
	return m
}

// answers reports whether a run answers a request for approval.
func answers(run *core.Run) bool { return len(run.Input) > 0 && run.Input[0].Answers() }

// answered reports whether a lane has a run that answers, so that what waits is decided.
func (e *Engine) answered(l *lane) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	answering := func(j *job) bool { return answers(&j.run) }
	return l.current != nil && !l.current.isOver() && answering(l.current) || slices.ContainsFunc(l.queue, answering)
}

// mayGoOn refuses a run that finds its conversation waiting for an approval, but for the one that answers. What it found
// when it was accepted may have changed while it waited for its turn.
func mayGoOn(t *turn) error {
	request, waits := core.Waiting(t.win.rows)
	if !answers(&t.run) {
		if waits {
			return core.ErrPending(request.ID)
		}
		return nil
	}
	answer := &t.run.Input[0]
	if waits && request.ID == answer.Approval.Request || t.win.has(answer.ID) {
		return nil
	}
	return core.ErrNoneWaits()
}

// has reports whether a message is in the window.
func (w *window) has(id core.MessageID) bool {
	return slices.ContainsFunc(w.rows, func(r core.InContext) bool { return r.Message.ID == id })
}

// clientShare is what a return of the client may take of the context window, and leastClient what it always may, in characters.
const (
	clientShare = 0.2
	leastClient = 5000
)

// clientLimit is how many characters of a client's return are kept.
func (w *window) clientLimit() int {
	return max(leastClient, int(float64(core.WindowOf(w.agent, w.choice.Info))*clientShare*4))
}

// changedNote tells the model what ran in place of what it called.
func changedNote(arguments string) string {
	return fmt.Sprintf("[ran with arguments changed by the person: %s]\n", arguments)
}

// historyOf returns what the tools returned in the runs of the same user request before a pause for an approval and, of one
// that resumes, what they returned before, also what has left the window.
func (e *Engine) historyOf(ctx context.Context, run *core.Run, resumes bool) ([]core.ToolReturn, error) {
	var returns []core.ToolReturn
	ids := run.Config.Continues
	if resumes {
		ids = append(slices.Clip(ids), run.ID)
	}
	for _, id := range ids {
		f := core.MessageFilter{Agent: run.Agent, Run: id, Roles: []core.Role{core.RoleTool}, IncludeErr: true}
		msgs, err := e.cfg.Store.Messages().List(ctx, f, core.Page{Limit: historyRecords})
		if err != nil {
			return nil, err
		}
		for _, m := range msgs {
			returns = append(returns, core.Listed(m.Returns)...)
		}
	}
	return returns, nil
}

// historyRecords bounds how many records of returns of one run are read.
const historyRecords = 10_000
