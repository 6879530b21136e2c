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
	// summaryTurns is how many turns must have come since the last summary, or the last that failed: a small window whose
	// summaries fill it would otherwise be summarised in circles. Until then what must leave is evicted.
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
// summariser that fails, hangs, says nothing or says more than it read costs the summary, never the turn. now is what the
// window takes with the input, goal what its rows may take; where they take less, the settings want fewer messages.
func (t *turn) shrink(ctx context.Context, goal, now int, force bool) error {
	trigger := triggerCheck
	if force {
		trigger = triggerExceeded
	}
	settings := compact.Read(t.agent.Extra)
	due, err := t.summaryDue(ctx)
	if err != nil {
		return err
	}
	if due && t.summarises(settings) {
		done, err := t.summarise(ctx, settings, goal, now, trigger)
		if done.made || err != nil {
			return err
		}
	}
	if tokensOfRows(t.rows) <= goal {
		return t.evict(ctx, t.summarised(settings, goal))
	}
	return t.evict(ctx, t.leaving(goal))
}

// summarises reports whether the settings want a summary and somebody may be able to write it.
func (t *turn) summarises(s compact.Settings) bool {
	return s.Mode != compact.Evict && (!t.choice.Info.Offline || s.Model != "" && s.Model != core.OfflineHandle && !s.Mode.Self())
}

// overfull reports whether the settings want fewer messages in the window than there are, at the beginning of a turn. It
// waits as every summary does, so that what leaves is not lost to a summary that may not be made yet.
func (t *turn) overfull(ctx context.Context) (bool, error) {
	if t.run.Delivered || !compact.Read(t.agent.Extra).Overfull(visible(t.rows)) {
		return false, nil
	}
	return t.summaryDue(ctx)
}

// summaryDue reports whether a summary may be asked for: enough turns have begun since the one that made the last, or tried
// to in vain, and none hung lately. The window does not say: in a small one the turns since then may have left already.
func (t *turn) summaryDue(ctx context.Context) (bool, error) {
	if t.e.slow.paused(t.conv.ID, t.e.cfg.Clock()) {
		return false, nil
	}
	var made *core.Message
	for i := range t.rows {
		if t.rows[i].Message.Role == core.RoleSummary {
			made = &t.rows[i].Message
		}
	}
	tried := t.e.slow.tried(t.conv.ID)
	if made == nil && tried == "" {
		return true, nil
	}
	before := core.Page{After: string(t.run.ID), Desc: true, Limit: summaryTurns - 1}
	runs, err := t.e.cfg.Store.Runs().List(ctx, core.RunFilter{Conversation: t.conv.ID}, before)
	if err != nil {
		return false, err
	}
	for _, r := range append(runs, t.run) {
		if r.ID == tried || made != nil && (r.ID == made.Run || made.Run == "" && r.CreatedAt.Before(made.CreatedAt)) {
			return false, nil
		}
	}
	return true, nil
}

// summary is what came of a compaction.
type summary struct {
	made   bool   // one was made, and it took the place of messages
	text   string // what the summariser wrote
	notice string // what a person should know of how it was made
	stats  core.CompactionStats
}

// summarise replaces the older rows by a summary; it is not made if none could be.
func (t *turn) summarise(ctx context.Context, s compact.Settings, goal, now int, trigger string) (done summary, err error) {
	leaving := t.summarised(s, goal)
	if len(leaving) == 0 {
		return done, nil
	}
	stand, err := t.standing(ctx, s)
	if err != nil {
		return done, err
	}
	if t.run.ID == "" && stand.text == "" && visible(leaving) < 2 { // one message for one: nothing would be won
		return done, nil
	}
	window := windowOf(&t.agent, t.choice.Info)
	done.stats = core.CompactionStats{Trigger: trigger, TokensBefore: now + t.fixedTokens(), Window: window, MessagesBefore: visible(t.rows)}
	event := core.NewMessageID() // of no record: a compaction under way is told, not kept
	t.emit(core.Event{Message: event, OTID: core.OTIDOf(event, 0), Body: core.Compacting{Trigger: trigger, Tokens: done.stats.TokensBefore, Window: window}})
	done.text, done.notice, err = t.askSummary(ctx, s, stand.text, leaving)
	if done.notice != "" {
		t.emit(core.Event{Body: core.Notice{Kind: "summariser", Text: done.notice}})
	}
	if err != nil {
		if ctx.Err() != nil {
			return done, context.Cause(ctx)
		}
		if t.run.ID == "" { // on request there is nobody else to tell, and nothing that must leave
			return done, err
		}
		var wait time.Duration
		if core.KindOf(err) == core.Timeout {
			wait = pauseAfterHang
		}
		t.e.slow.pause(t.conv.ID, t.run.ID, t.e.cfg.Clock().Add(wait))
		t.e.cfg.Logger.WarnContext(ctx, "summariser failed, the messages are evicted without a summary", logRun(t.run.ID), logErr(err))
		t.emit(core.Event{Body: core.Notice{Kind: "summary_failed", Text: "No summary could be made: " + err.Error()}})
		return done, nil
	}
	return t.summed(ctx, s, done, stand, leaving)
}

// summed lets the rows leave behind what was written of them.
func (t *turn) summed(ctx context.Context, s compact.Settings, done summary, stand standing, leaving []core.InContext) (summary, error) {
	gone := stand.gone + visible(leaving)
	for _, r := range t.rows {
		if rank(r) < rankPlain {
			leaving = append(leaving, r)
		}
	}
	text := compact.Record(done.text, gone)
	var write func(ctx context.Context, tx core.Store) error
	if s.Mode.Buffer() {
		text = compact.Pointer(gone)
		write = t.writesBlock(done.text, stand.record)
	}
	record := &core.Message{
		ID: core.NewMessageID(), Agent: t.agent.ID, Conversation: t.conv.ID, Run: t.run.ID, Role: core.RoleSummary,
		Content: []core.Content{core.Text(text)}, CreatedAt: t.e.cfg.Clock(),
	}
	record.Tokens = tokensOf(record)
	done.stats.TokensAfter = tokensOfRows(t.rows) - tokensOfRows(leaving) + record.Tokens
	done.stats.MessagesAfter = done.stats.MessagesBefore - visible(leaving) + 1
	record.Compaction = &done.stats
	if err := t.replace(ctx, leaving, record, core.LeftCompaction, write); err != nil {
		return done, err
	}
	t.emit(core.Event{Message: record.ID, OTID: core.OTIDOf(record.ID, 0), Body: core.Summary{Text: record.PlainText(), At: record.CreatedAt, Stats: record.Compaction}})
	done.made = true
	return done, nil
}

// summarised chooses the rows that a summary stands for. The last step of a running turn stays.
func (t *turn) summarised(s compact.Settings, goal int) []core.InContext {
	groups := t.groups()
	sizes := make([]compact.Size, len(groups))
	for i, g := range groups {
		sizes[i] = compact.Size{Tokens: tokensOfRows(g), Messages: visible(g)}
	}
	keep := 0
	if t.run.Delivered || t.run.ID == "" && !s.Mode.Whole() {
		keep = 1
	}
	return slices.Concat(groups[:s.Leaving(sizes, goal, keep)]...)
}

// standing is what was summarised before.
type standing struct {
	text   string // what a summariser is given of it
	record string // the summary that the window begins with; empty where it stands in the block
	gone   int    // how many messages it and the marker stand for
}

func (t *turn) standing(ctx context.Context, s compact.Settings) (standing, error) {
	var out standing
	for _, r := range t.rows {
		switch {
		case r.Message.Role == core.RoleSummary:
			record := r.Message.PlainText()
			text, n := compact.Summary(record)
			out.gone += n
			if !compact.InBlock(record) {
				out.record = text
			}
		case r.Message.Hidden == core.HiddenMarker:
			out.gone += markerCount(&r.Message)
		}
	}
	out.text = out.record
	if !s.Mode.Buffer() {
		return out, nil
	}
	block, err := t.e.cfg.Store.Blocks().ByLabel(ctx, t.agent.ID, compact.BlockLabel)
	if err != nil && core.KindOf(err) != core.NotFound {
		return out, err
	}
	out.text = strings.TrimSpace(out.record + "\n\n" + block.Value)
	return out, nil
}

// askSummary asks the summariser, and where it cannot write one the agent's own model, which the notice says.
func (t *turn) askSummary(ctx context.Context, s compact.Settings, earlier string, leaving []core.InContext) (text, notice string, err error) {
	if s.Model == "" || s.Mode.Self() || s.Model == t.choice.Handle {
		text, err = t.askOne(ctx, t.choice, s, earlier, leaving)
		return text, "", err
	}
	named, failed := t.e.resolve(ctx, s.Model, whyAgent, t.env)
	if failed == nil {
		if text, failed = t.askOne(ctx, named, s, earlier, leaving); failed == nil || ctx.Err() != nil {
			return text, "", failed
		}
	}
	t.e.cfg.Logger.WarnContext(ctx, "the summariser failed, the agent's own model is asked", logRun(t.run.ID), logErr(failed))
	if t.choice.Info.Offline {
		return "", "", failed
	}
	s.Wishes = compact.Settings{}.Wishes // they were the other's
	if text, err = t.askOne(ctx, t.choice, s, earlier, leaving); err != nil {
		return "", "", err
	}
	return text, string(s.Model) + " could not write the summary: " + failed.Error() + ". " + string(t.choice.Handle) + " wrote it.", nil
}

// askOne asks one model and bounds what it says. One that finds the request too long is asked once more, with half.
func (t *turn) askOne(ctx context.Context, from Choice, s compact.Settings, earlier string, leaving []core.InContext) (string, error) {
	wait, cancel := context.WithTimeout(ctx, t.e.cfg.SummaryWait)
	defer cancel()
	text, err := t.readSummary(wait, from, s, t.summaryRequest(s, earlier, leaving, from.Info, 1))
	if core.KindOf(err) == core.TooLong && !s.Mode.Self() {
		text, err = t.readSummary(wait, from, s, t.summaryRequest(s, earlier, leaving, from.Info, 2))
	}
	switch {
	case err != nil && wait.Err() != nil && ctx.Err() == nil:
		return "", core.E(core.Timeout, "%s did not finish the summary within %s", from.Handle, t.e.cfg.SummaryWait)
	case err != nil:
		return "", err
	case text == "":
		return "", core.E(core.Unavailable, "%s said nothing when it was asked for the summary", from.Handle)
	}
	read := tokensOfRows(leaving)
	if !s.Mode.Buffer() { // else what stood before is kept beside it
		read += core.EstimateTokens(earlier)
	}
	if core.EstimateTokens(text) > read {
		return "", core.E(core.Invalid, "the summary of %s is longer than what it stands for", from.Handle)
	}
	return compact.Bound(text, s.Most(t.summaryChars())), nil
}

// readSummary collects one answer, as far as it counts.
func (t *turn) readSummary(ctx context.Context, from Choice, s compact.Settings, req core.ChatRequest) (string, error) {
	var b strings.Builder
	most := s.ClipChars.Or(max(compact.DefaultClip, t.summaryChars()))
	for d, err := range from.Chat.Stream(ctx, req) {
		if err != nil {
			return "", err
		}
		b.WriteString(d.Text)
		if d.End || b.Len() > most*utf8.UTFMax {
			return strings.TrimSpace(b.String()), nil
		}
	}
	return "", core.E(core.Unavailable, "the summary of %s ended before it was complete", from.Handle)
}

// summaryChars is how many characters a summary may have: a share of what messages may take, which the block that the
// older form writes counts among.
func (t *turn) summaryChars() int {
	room := t.room()
	for _, b := range t.pinned.blocks {
		if b.Label == compact.BlockLabel && compact.Read(t.agent.Extra).Mode.Buffer() {
			room += core.EstimateTokens(b.Value)
		}
	}
	return max(int(float64(room)*summaryShare)*charsPerToken, leastCut)
}

// summaryRequest is what a summariser is asked; part is the fraction of its window that the transcript may take.
func (t *turn) summaryRequest(s compact.Settings, earlier string, leaving []core.InContext, info core.ModelInfo, part int) core.ChatRequest {
	_, model, _ := info.Handle.Split()
	window := windowOf(&t.agent, info)
	if s.Mode.Self() {
		again := sending{
			model: model, info: info, system: t.pinned.system, tools: t.pinned.tools, settings: t.settings(), window: window,
			prefix: t.prefix, conv: t.conv.ID, rows: t.rows, policy: t.policy, choice: core.ToolChoice{Mode: core.ChoiceNone},
		}
		again.settings.ResponseFormat = nil // a summary is prose, whatever form the answers have
		req := again.request()
		req.Messages = append(append(req.Messages, s.Acknowledged()...), core.ChatMessage{Role: core.ChatReminder, Text: s.Instruction()})
		return req
	}
	var msgs []core.Message
	for _, r := range leaving {
		msgs = append(msgs, r.Message)
	}
	const forPrompt = 4 // of the window is left to the instruction and the answer
	text := s.Transcript(earlier, msgs, (window-window/forPrompt)/part)
	return core.ChatRequest{
		Model: model, System: s.Instruction(), Window: window, CacheKey: string(t.conv.ID) + "-summary", Settings: s.Wishes.Wanted(),
		Messages: append(s.Acknowledged(), core.ChatMessage{Role: core.ChatUser, Text: text}),
	}
}

// Compacted is what a compaction on request did; the counts are of messages in the window.
type Compacted struct {
	Summary string
	Stats   core.CompactionStats
	Notice  string // what a person should know of how the summary was made
}

// Compact replaces a conversation's older messages by a summary on request. extra overrides the agent's settings for this
// call. It is Busy while a run is active, and Invalid when there is nothing to compact.
func (e *Engine) Compact(ctx context.Context, conv core.ConversationID, env core.Env, extra map[string]any) (Compacted, error) {
	l, err := e.hold(ctx, conv)
	if err != nil {
		return Compacted{}, err
	}
	defer e.letGo(conv, l)
	t, end, err := e.aside(ctx, conv, env)
	if err != nil {
		return Compacted{}, err
	}
	defer end()
	if err := t.chooseModel(ctx); err != nil {
		return Compacted{}, err
	}
	if err := t.decidePin(ctx); err != nil {
		return Compacted{}, err
	}
	if extra != nil {
		t.agent.Extra = map[string]any{compact.ExtraKey: extra}
	}
	settings := compact.Read(t.agent.Extra)
	if settings.Mode == compact.Evict {
		settings.Mode = compact.SlidingWindow
	}
	if !t.summarises(settings) {
		return Compacted{}, core.E(core.Unsupported, "the built-in offline model cannot write a summary").WithHint("connect a language model first: `loci doctor` says how")
	}
	done, err := t.summarise(ctx, settings, int(float64(t.room())*keepShare), tokensOfRows(t.rows), triggerRequest)
	switch {
	case err != nil:
		return Compacted{}, err
	case !done.made && settings.Mode == compact.StaticBuffer && visible(t.rows) > 0:
		return Compacted{}, core.E(core.Invalid, "the settings keep the last %d messages, and there are not more", settings.BufferMin).
			WithHint("lower message_buffer_min, or compact in another mode")
	case !done.made:
		return Compacted{}, core.E(core.Invalid, "there is nothing that a summary could replace")
	}
	e.wins.put(conv, t.conv.Rev, t.rows)
	return Compacted{done.text, done.stats, done.notice}, nil
}

// aside is a turn that no run belongs to, for what is asked of a conversation beside its runs. end releases it.
func (e *Engine) aside(ctx context.Context, conv core.ConversationID, env core.Env) (t *turn, end func(), err error) {
	c, err := e.cfg.Store.Conversations().Get(ctx, conv)
	if err != nil {
		return nil, nil, err
	}
	j := e.newJob(core.Run{Conversation: conv, Agent: c.Agent}, env)
	t = &turn{e: e, j: j, run: j.run, ratio: 1, cutTo: map[core.MessageID]int{}}
	if err := t.load(ctx); err != nil {
		j.cancel(nil)
		return nil, nil, err
	}
	return t, func() { j.cancel(nil) }, nil
}
