package engine

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"loci/core"
	"loci/core/compact"
)

const (
	// summaryWait bounds how long a summariser may take.
	summaryWait = 2 * time.Minute
	// summaryTurns is how many turns must have come since the last summary: a small window whose summaries fill it would
	// otherwise be summarised in circles. Until then what must leave is evicted.
	summaryTurns = 5
	// summaryShare is what a summary may take of the room beside system and tools.
	summaryShare = 0.2
)

// The triggers of a compaction, in the contract's words.
const (
	triggerCheck    = "post_step_context_check"
	triggerExceeded = "context_window_exceeded"
	triggerRequest  = "request"
)

// shrink makes the window smaller: by a summary where the settings and the model allow it, else by an eviction. A
// summariser that fails, hangs, says nothing or says more than it read costs the summary, never the turn.
func (t *turn) shrink(ctx context.Context, goal, now int, force bool) error {
	trigger := triggerCheck
	if force {
		trigger = triggerExceeded
	}
	settings := compact.Read(t.agent.Extra)
	if settings.Mode != compact.Evict && !t.choice.Info.Offline && t.turnsSinceSummary() >= summaryTurns {
		done, err := t.summarise(ctx, settings, goal, now, trigger)
		if done || err != nil {
			return err
		}
	}
	return t.evict(ctx, t.leaving(goal))
}

// turnsSinceSummary counts the runs that entered the window behind its summary; without one there were enough.
func (t *turn) turnsSinceSummary() int {
	made, runs := int64(-1), map[core.RunID]bool{}
	for _, r := range t.rows {
		if r.Message.Role == core.RoleSummary {
			made = r.Message.Seq // and not when its row was opened: a rewind opens rows anew
		}
	}
	if made < 0 {
		return summaryTurns
	}
	for _, r := range t.rows {
		if r.Message.Seq > made {
			runs[r.Message.Run] = true
		}
	}
	return len(runs)
}

// summarise replaces the older rows by a summary; done is false if none could be made.
func (t *turn) summarise(ctx context.Context, s compact.Settings, goal, now int, trigger string) (done bool, err error) {
	leaving := t.summarised(s, goal)
	if len(leaving) == 0 {
		return false, nil
	}
	earlier, gone := t.standing()
	if t.run.ID == "" && earlier == "" && visible(leaving) < 2 { // one message for one: nothing would be won
		return false, nil
	}
	window := windowOf(&t.agent, t.choice.Info)
	before := visible(t.rows)
	event := core.NewMessageID() // of no record: a compaction under way is told, not kept
	t.emit(core.Event{Message: event, OTID: core.OTIDOf(event, 0), Body: core.Compacting{Trigger: trigger, Tokens: now + t.fixedTokens(), Window: window}})
	text, err := t.askSummary(ctx, s, earlier, leaving)
	if err != nil {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if t.run.ID == "" { // on request there is nobody else to tell, and nothing that must leave
			return false, err
		}
		t.e.cfg.Logger.WarnContext(ctx, "summariser failed, the messages are evicted without a summary", logRun(t.run.ID), logErr(err))
		t.emit(core.Event{Body: core.Notice{Kind: "summary_failed", Text: "No summary could be made: " + err.Error()}})
		return false, nil
	}
	gone += visible(leaving)
	for _, r := range t.rows {
		if rank(r) < rankPlain {
			leaving = append(leaving, r)
		}
	}
	record := &core.Message{
		ID: core.NewMessageID(), Agent: t.agent.ID, Conversation: t.conv.ID, Run: t.run.ID, Role: core.RoleSummary,
		Content: []core.Content{core.Text(compact.Record(text, gone))}, CreatedAt: t.e.cfg.Clock(),
	}
	record.Tokens = tokensOf(record)
	after := tokensOfRows(t.rows) - tokensOfRows(leaving) + record.Tokens
	record.Compaction = &core.CompactionStats{
		Trigger: trigger, TokensBefore: now + t.fixedTokens(), TokensAfter: after, Window: window, MessagesBefore: before,
		MessagesAfter: before - visible(leaving) + 1,
	}
	if err := t.replace(ctx, leaving, record, core.LeftCompaction); err != nil {
		return false, err
	}
	t.emit(core.Event{Message: record.ID, OTID: core.OTIDOf(record.ID, 0), Body: core.Summary{Text: record.PlainText(), At: record.CreatedAt, Stats: record.Compaction}})
	return true, nil
}

// summarised chooses the rows that a summary stands for. The last step of a running turn stays.
func (t *turn) summarised(s compact.Settings, goal int) []core.InContext {
	groups := t.groups()
	sizes := make([]int, len(groups))
	for i, g := range groups {
		sizes[i] = tokensOfRows(g)
	}
	keep := 0
	if t.run.Delivered || t.run.ID == "" && !s.Mode.Whole() {
		keep = 1
	}
	return slices.Concat(groups[:s.Leaving(sizes, goal, keep)]...)
}

// standing returns the summary that the window begins with, and how many messages it and the marker stand for.
func (t *turn) standing() (summary string, gone int) {
	for _, r := range t.rows {
		switch {
		case r.Message.Role == core.RoleSummary:
			text, n := compact.Summary(r.Message.PlainText())
			summary, gone = text, gone+n
		case r.Message.Hidden == core.HiddenMarker:
			gone += markerCount(&r.Message)
		}
	}
	return summary, gone
}

// askSummary asks the summariser and bounds what it says.
func (t *turn) askSummary(ctx context.Context, s compact.Settings, earlier string, leaving []core.InContext) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, summaryWait)
	defer cancel()
	if s.Model != "" && !s.Mode.Self() {
		if c, err := t.e.resolve(ctx, s.Model, whyAgent, t.env); err == nil {
			text, err := t.askOne(ctx, c.Chat, c.Info, s, earlier, leaving)
			if err == nil || ctx.Err() != nil {
				return text, err
			}
			t.e.cfg.Logger.WarnContext(ctx, "the summariser failed, the agent's own model is asked", logRun(t.run.ID), logErr(err))
		}
	}
	return t.askOne(ctx, t.choice.Chat, t.choice.Info, s, earlier, leaving)
}

func (t *turn) askOne(ctx context.Context, chat core.ChatModel, info core.ModelInfo, s compact.Settings, earlier string, leaving []core.InContext) (string, error) {
	var b strings.Builder
	ended := false
	for d, err := range chat.Stream(ctx, t.summaryRequest(s, earlier, leaving, info)) {
		if err != nil {
			return "", err
		}
		b.WriteString(d.Text)
		ended = ended || d.End
		if b.Len() > s.ClipChars*utf8.UTFMax {
			break
		}
	}
	text := strings.TrimSpace(b.String())
	read := 0
	for _, r := range leaving {
		read += tokensInContext(&r)
	}
	switch {
	case text == "":
		return "", core.E(core.Unavailable, "the summariser said nothing")
	case !ended && b.Len() <= s.ClipChars*utf8.UTFMax:
		return "", core.E(core.Unavailable, "the summary ended before it was complete")
	case core.EstimateTokens(text) > read+core.EstimateTokens(earlier):
		return "", core.E(core.Invalid, "the summary is longer than what it stands for")
	}
	limit := min(s.ClipChars, max(int(float64(t.room())*summaryShare)*charsPerToken, leastCut))
	return compact.Bound(text, limit), nil
}

func (t *turn) summaryRequest(s compact.Settings, earlier string, leaving []core.InContext, info core.ModelInfo) core.ChatRequest {
	_, model, _ := info.Handle.Split()
	window := windowOf(&t.agent, info)
	if s.Mode.Self() {
		again := sending{
			model: model, info: info, system: t.pinned.system, tools: t.pinned.tools, settings: t.settings(), window: window,
			prefix: t.prefix, conv: t.conv.ID, rows: t.rows, policy: t.policy, choice: core.ToolChoice{Mode: core.ChoiceNone},
		}
		req := again.request()
		req.Messages = append(req.Messages, core.ChatMessage{Role: core.ChatReminder, Text: s.Instruction()})
		return req
	}
	var msgs []core.Message
	for _, r := range leaving {
		msgs = append(msgs, r.Message)
	}
	const forPrompt = 4 // of the window is left to the instruction and the answer
	text := compact.Transcript(earlier, msgs, window-window/forPrompt)
	return core.ChatRequest{
		Model: model, System: s.Instruction(), Window: window, CacheKey: string(t.conv.ID) + "-summary",
		Messages: []core.ChatMessage{{Role: core.ChatUser, Text: text}},
	}
}

// Compact replaces a conversation's older messages by a summary on request and returns it, with how many messages the
// window held before and after. extra overrides the agent's settings for this call. It is Busy while a run is active,
// and Invalid when there is nothing to compact.
func (e *Engine) Compact(ctx context.Context, conv core.ConversationID, env core.Env, extra map[string]any) (summary string, stats core.CompactionStats, err error) {
	l, err := e.hold(ctx, conv)
	if err != nil {
		return "", stats, err
	}
	defer e.letGo(conv, l)
	j := e.newJob(core.Run{Conversation: conv}, env)
	defer j.cancel(nil)
	t := &turn{e: e, j: j, run: j.run, ratio: 1, cutTo: map[core.MessageID]int{}}
	c, err := e.cfg.Store.Conversations().Get(ctx, conv)
	if err != nil {
		return "", stats, err
	}
	t.run.Agent = c.Agent
	if err := t.load(ctx); err != nil {
		return "", stats, err
	}
	if err := t.chooseModel(ctx); err != nil {
		return "", stats, err
	}
	if err := t.decidePin(ctx); err != nil {
		return "", stats, err
	}
	if extra != nil {
		t.agent.Extra = map[string]any{compact.ExtraKey: extra}
	}
	settings := compact.Read(t.agent.Extra)
	if settings.Mode == compact.Evict {
		settings.Mode = compact.SlidingWindow
	}
	if t.choice.Info.Offline {
		return "", stats, core.E(core.Unsupported, "the built-in offline model cannot write a summary").WithHint("connect a language model first: `loci doctor` says how")
	}
	done, err := t.summarise(ctx, settings, int(float64(t.room())*keepShare), tokensOfRows(t.rows), triggerRequest)
	switch {
	case err != nil:
		return "", stats, err
	case !done:
		return "", stats, core.E(core.Invalid, "there is nothing that a summary could replace")
	}
	e.wins.put(conv, t.conv.Rev, t.rows)
	text, _ := compact.Summary(t.rows[0].Message.PlainText())
	return text, *t.rows[0].Message.Compaction, nil
}
