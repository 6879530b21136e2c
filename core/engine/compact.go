package engine

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"loci/core"
	"loci/core/compact"
	"loci/core/request"
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
// window takes with the input, goal what its rows may take; where they take less, the settings want fewer messages. step, if
// there is one, is the author of what is written into the summary block.
func (w *window) shrink(ctx context.Context, step core.StepID, goal, now int, force bool) error {
	trigger := triggerCheck
	if force {
		trigger = triggerExceeded
	}
	settings := compact.Read(w.agent.Extra)
	due, err := w.summaryDue(ctx, w.run, "")
	if err != nil {
		return err
	}
	if due && w.summarises(settings) {
		done, err := w.summarise(ctx, settings, step, goal, now, trigger)
		if done.made || err != nil {
			return err
		}
	}
	if request.TokensOfRows(w.rows) <= goal {
		return w.evict(ctx, w.summarised(settings, goal))
	}
	return w.evict(ctx, w.leaving(goal))
}

// summarises reports whether the settings want a summary and somebody may be able to write it.
func (w *window) summarises(s compact.Settings) bool {
	return s.Mode != compact.Evict && (!w.choice.Info.Offline || s.Model != "" && s.Model != core.OfflineHandle && !s.Mode.Self())
}

// overfull reports whether the settings want fewer messages in the window than there are, at the beginning of a turn. It
// waits as every summary does, so that what leaves is not lost to a summary that may not be made yet.
func (w *window) overfull(ctx context.Context) (bool, error) {
	if w.run.Delivered || !compact.Read(w.agent.Extra).Overfull(request.Visible(w.rows)) {
		return false, nil
	}
	return w.summaryDue(ctx, w.run, "")
}

// summaryDue reports whether a summary may be asked for in a run, or after it: enough turns have begun since the one that made
// the last, or tried to in vain, as also did, and none hung lately. The window does not say: in a small one the turns since
// then may have left already.
func (w *window) summaryDue(ctx context.Context, run *core.Run, also core.RunID) (bool, error) {
	if w.slow.paused(w.conv.ID, w.cfg.Clock()) {
		return false, nil
	}
	var made *core.Message
	for i := range w.rows {
		if w.rows[i].Message.Role == core.RoleSummary {
			made = &w.rows[i].Message
		}
	}
	tried := w.slow.tried(w.conv.ID)
	if made == nil && tried == "" && also == "" {
		return true, nil
	}
	before := core.Page{After: string(run.ID), Desc: true, Limit: summaryTurns - 1}
	runs, err := w.cfg.Store.Runs().List(ctx, core.RunFilter{Conversation: w.conv.ID}, before)
	if err != nil {
		return false, err
	}
	for _, r := range append(runs, *run) {
		if r.ID == tried || r.ID == also || made != nil && (r.ID == made.Run || made.Run == "" && r.CreatedAt.Before(made.CreatedAt)) {
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
	scale  float64 // true tokens to estimated ones, for the stats
}

// summarise replaces the older rows by a summary; it is not made if none could be.
func (w *window) summarise(
	ctx context.Context,
	s compact.Settings,
	step core.StepID,
	goal, now int,
	trigger string,
) (done summary, err error) {
	leaving := w.summarised(s, goal)
	if len(leaving) == 0 {
		return done, nil
	}
	stand, err := w.standing(ctx, s)
	if err != nil {
		return done, err
	}
	if w.run.ID == "" && stand.text == "" && request.Visible(leaving) < 2 { // one message for one: nothing would be won
		return done, nil
	}
	window := core.WindowOf(w.agent, w.choice.Info)
	estimated := now + w.fixedTokens()
	done.scale = w.scale(estimated)
	done.stats = core.CompactionStats{
		Trigger:        trigger,
		TokensBefore:   scaled(estimated, done.scale),
		Window:         window,
		MessagesBefore: request.Visible(w.rows),
	}
	event := core.NewMessageID() // of no record: a compaction under way is told, not kept
	w.emit(
		core.Event{
			Message: event,
			OTID:    core.OTIDOf(event, 0),
			Body:    core.Compacting{Trigger: trigger, Tokens: done.stats.TokensBefore, Window: window},
		},
	)
	told := core.HookCall{Event: core.HookCompact, Trigger: core.HookAuto}
	if trigger == triggerRequest {
		told.Trigger = core.HookManual
	}
	w.runHooks(ctx, told)
	done.text, done.notice, err = w.askSummary(ctx, s, stand.text, leaving)
	if done.notice != "" {
		w.emit(core.Event{Body: core.Notice{Kind: "summariser", Text: done.notice}})
	}
	if err != nil {
		if ctx.Err() != nil {
			return done, context.Cause(ctx)
		}
		if w.run.ID == "" { // on request there is nobody else to tell, and nothing that must leave
			return done, err
		}
		var wait time.Duration
		if core.KindOf(err) == core.Timeout {
			wait = pauseAfterHang
		}
		w.slow.pause(w.conv.ID, w.run.ID, w.cfg.Clock().Add(wait))
		w.cfg.Logger.WarnContext(ctx, "summariser failed, the messages are evicted without a summary", logRun(w.run.ID), logErr(err))
		w.emit(core.Event{Body: core.Notice{Kind: "summary_failed", Text: "No summary could be made: " + err.Error()}})
		return done, nil
	}
	return w.summed(ctx, s, step, done, stand, leaving)
}

// summed lets the rows leave behind what was written of them.
func (w *window) summed(
	ctx context.Context,
	s compact.Settings,
	step core.StepID,
	done summary,
	stand priorSummary,
	leaving []core.InContext,
) (summary, error) {
	gone := stand.gone + request.Visible(leaving)
	for _, r := range w.rows {
		if request.StandsForOthers(r) {
			leaving = append(leaving, r)
		}
	}
	done.text += compact.ImagesLeft(leaving)
	text := compact.Record(done.text, gone)
	var write func(ctx context.Context, tx core.Store) error
	if s.Mode.Buffer() {
		text = compact.Pointer(gone)
		write = w.writesBlock(step, done.text, stand.record)
	}
	record := &core.Message{
		ID: core.NewMessageID(), Agent: w.agent.ID, Conversation: w.conv.ID, Run: w.run.ID, Role: core.RoleSummary,
		Content: []core.Content{core.Text(text)}, CreatedAt: w.cfg.Clock(),
	}
	record.Tokens = request.Tokens(record)
	done.stats.TokensAfter = scaled(w.tokens()-request.TokensOfRows(leaving)+record.Tokens, done.scale)
	done.stats.MessagesAfter = done.stats.MessagesBefore - request.Visible(leaving) + 1
	record.Compaction = &done.stats
	if err := w.replace(ctx, leaving, record, core.LeftCompaction, write); err != nil {
		return done, err
	}
	w.emit(
		core.Event{
			Message: record.ID,
			OTID:    core.OTIDOf(record.ID, 0),
			Body:    core.Summary{Text: record.PlainText(), At: record.CreatedAt, Stats: record.Compaction},
		},
	)
	done.made = true
	return done, nil
}

// summarised chooses the rows that a summary stands for. The last step of a running turn stays.
func (w *window) summarised(s compact.Settings, goal int) []core.InContext {
	groups := w.groups()
	sizes := make([]compact.Size, len(groups))
	for i, g := range groups {
		sizes[i] = compact.Size{Tokens: request.TokensOfRows(g), Messages: request.Visible(g)}
	}
	keep := 0
	if w.run.Delivered || w.run.ID == "" && !s.Mode.Whole() {
		keep = 1
	}
	return slices.Concat(groups[:s.Leaving(sizes, goal, keep)]...)
}

// priorSummary is what was summarised before.
type priorSummary struct {
	text   string // what a summariser is given of it
	record string // the summary that the window begins with; empty where it stands in the block
	gone   int    // how many messages it and the marker stand for
}

func (w *window) standing(ctx context.Context, s compact.Settings) (priorSummary, error) {
	var out priorSummary
	for _, r := range w.rows {
		switch {
		case r.Message.Role == core.RoleSummary:
			record := r.Message.PlainText()
			text, n := compact.Summary(record)
			out.gone += n
			if !compact.InBlock(record) {
				out.record = text
			}
		case r.Message.Hidden == core.HiddenMarker:
			out.gone += request.MarkerCount(&r.Message)
		}
	}
	out.text = out.record
	if !s.Mode.Buffer() {
		return out, nil
	}
	block, err := w.cfg.Store.Blocks().ByLabel(ctx, w.agent.ID, compact.BlockLabel)
	if err != nil && core.KindOf(err) != core.NotFound {
		return out, err
	}
	out.text = strings.TrimSpace(out.record + "\n\n" + block.Value)
	return out, nil
}

// askSummary asks the summariser, and where it cannot write one the agent's own model, which the notice says.
func (w *window) askSummary(
	ctx context.Context,
	s compact.Settings,
	earlier string,
	leaving []core.InContext,
) (text, notice string, err error) {
	if s.Model == "" || s.Mode.Self() || s.Model == w.choice.Handle {
		text, err = w.askOne(ctx, *w.choice, s, earlier, leaving)
		return text, "", err
	}
	named, failed := w.resolve(ctx, s.Model, whyAgent, *w.env)
	if failed == nil {
		if text, failed = w.askOne(ctx, named, s, earlier, leaving); failed == nil || ctx.Err() != nil {
			return text, "", failed
		}
	}
	w.cfg.Logger.WarnContext(ctx, "the summariser failed, the agent's own model is asked", logRun(w.run.ID), logErr(failed))
	if w.choice.Info.Offline {
		return "", "", failed
	}
	s.Wishes = compact.Settings{}.Wishes // they were the other's
	if text, err = w.askOne(ctx, *w.choice, s, earlier, leaving); err != nil {
		return "", "", err
	}
	return text, string(s.Model) + " could not write the summary: " + failed.Error() + ". " + string(w.choice.Handle) + " wrote it.", nil
}

// askOne asks one model and bounds what it says. One that finds the request too long is asked once more, with half.
func (w *window) askOne(ctx context.Context, from Choice, s compact.Settings, earlier string, leaving []core.InContext) (string, error) {
	req := w.summaryRequest(s, earlier, leaving, from.Info, 1)
	if err := request.Fill(ctx, w.cfg.Store.Images(), &req); err != nil {
		return "", err
	}
	most := w.cfg.SummaryWait
	if quiet := w.quiet(from, req); quiet > w.cfg.SummaryQuiet { // a slow reader
		most += quiet
	}
	wait, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	text, err := w.readSummary(wait, from, s, req)
	if core.KindOf(err) == core.TooLong && !s.Mode.Self() {
		req = w.summaryRequest(s, earlier, leaving, from.Info, 2)
		text, err = w.readSummary(wait, from, s, req)
	}
	gone := request.TokensOfRows(leaving)
	if err == nil && text != "" && s.TooShort(text, gone) {
		req.Messages = append(req.Messages, compact.Again(text, req.Messages[len(req.Messages)-1].Role)...)
		text, err = w.readSummary(wait, from, s, req)
	}
	switch {
	case err != nil && wait.Err() != nil && ctx.Err() == nil:
		return "", core.E(core.Timeout, "%s did not finish the summary within %s", from.Handle, most)
	case err != nil:
		return "", err
	case text == "":
		return "", core.E(core.Unavailable, "%s said nothing when it was asked for the summary", from.Handle)
	}
	if s.TooShort(text, gone) {
		return "", core.E(core.Invalid, "%s wrote far too short a summary twice, for %d tokens", from.Handle, gone)
	}
	read := gone
	if !s.Mode.Buffer() { // else what stood before is kept beside it
		read += core.EstimateTokens(earlier)
	}
	if core.EstimateTokens(text) > read {
		return "", core.E(core.Invalid, "the summary of %s is longer than what it stands for", from.Handle)
	}
	return compact.Bound(text, s.Most(w.summaryChars())), nil
}

// quiet is how long a summariser may go without a token.
func (w *window) quiet(from Choice, req core.ChatRequest) time.Duration {
	return w.pace.patience(from.Handle, tokensSent(req), w.cfg.SummaryQuiet)
}

// readSummary collects one answer, as far as it counts, from a model that doesn't fall silent.
func (w *window) readSummary(ctx context.Context, from Choice, s compact.Settings, req core.ChatRequest) (string, error) {
	patience := w.quiet(from, req)
	ctx = core.WithCharge(ctx, core.Charge{Agent: w.agent.ID, Conversation: w.conv.ID, Run: w.run.ID, For: core.ForCompaction})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := core.E(core.Timeout, "%s gave no token of the summary for %s", from.Handle, patience.Round(time.Second))
	timer := time.AfterFunc(patience, func() { cancel(silent) })
	defer timer.Stop()
	begun, first := w.cfg.Clock(), true
	var b strings.Builder
	most := s.ClipChars.Or(max(compact.DefaultClip, w.summaryChars()))
	for d, err := range from.Chat.Stream(ctx, req) {
		if err != nil {
			if context.Cause(ctx) == silent { //nolint:errorlint // ours, not one like it
				return "", silent
			}
			return "", err
		}
		if d.Notice != nil { // of a wait, not of the answer
			continue
		}
		if timer.Reset(patience); first && !s.Mode.Self() { // behind its own history, much is cached
			w.pace.note(from.Handle, tokensSent(req), w.cfg.Clock().Sub(begun))
		}
		first = false
		if d.Thought {
			b.Reset()
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
func (w *window) summaryChars() int {
	room := w.room()
	for _, b := range w.pinned.Blocks {
		if b.Label == compact.BlockLabel && compact.Read(w.agent.Extra).Mode.Buffer() {
			room += core.EstimateTokens(b.Value)
		}
	}
	return max(int(float64(room)*summaryShare)*charsPerToken, leastCut)
}

// summaryRequest is what a summariser is asked; part is the fraction of its window that the transcript may take.
func (w *window) summaryRequest(
	s compact.Settings,
	earlier string,
	leaving []core.InContext,
	info core.ModelInfo,
	part int,
) core.ChatRequest {
	_, model, _ := info.Handle.Split()
	window := core.WindowOf(w.agent, info)
	if s.Mode.Self() {
		again := request.Parts{
			Model: model, Info: info, System: w.pinned.System, Tools: w.tools(), Settings: w.settings(), Window: window,
			Prefix: w.sentPrefix(), Conversation: w.conv.ID, Rows: w.rows, Policy: *w.policy,
			Choice: core.ToolChoice{Mode: core.ChoiceNone},
		}
		again.Settings.ResponseFormat = nil // a summary is prose, whatever form the answers have
		req := again.Request()
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
		Model: model, System: s.Instruction(), Window: window, CacheKey: string(w.conv.ID) + "-summary", Settings: s.Wishes.Wanted(),
		Messages: append(s.Acknowledged(), core.ChatMessage{Role: core.ChatUser, Text: text}),
	}
}

// CompactionResult is what a compaction on request did; the counts are of messages in the window.
type CompactionResult struct {
	Summary string
	Stats   core.CompactionStats
	Notice  string // what a person should know of how the summary was made
}

// Compact replaces a conversation's older messages by a summary on request. extra overrides the agent's settings for this
// call. It is Busy while a run is active, and Invalid when there is nothing to compact.
func (e *Engine) Compact(ctx context.Context, conv core.ConversationID, env core.Env, extra map[string]any) (CompactionResult, error) {
	l, err := e.hold(ctx, conv)
	if err != nil {
		return CompactionResult{}, err
	}
	defer e.letGo(conv, l)
	t, end, err := e.aside(ctx, conv, env)
	if err != nil {
		return CompactionResult{}, err
	}
	defer end()
	if err := t.chooseModel(ctx); err != nil {
		return CompactionResult{}, err
	}
	if err := t.decidePin(ctx); err != nil {
		return CompactionResult{}, err
	}
	if extra != nil {
		t.agent.Extra = map[string]any{compact.ExtraKey: extra}
	}
	settings := compact.Read(t.agent.Extra)
	if settings.Mode == compact.Evict {
		settings.Mode = compact.SlidingWindow
	}
	if !t.win.summarises(settings) {
		return CompactionResult{}, core.E(core.Unsupported, "the built-in offline model cannot write a summary").
			WithHint("connect a language model first: `loci doctor` says how")
	}
	done, err := t.win.summarise(
		ctx,
		settings,
		"",
		int(float64(t.win.room())*request.KeepShare),
		request.TokensOfRows(t.win.rows),
		triggerRequest,
	)
	switch {
	case err != nil:
		return CompactionResult{}, err
	case !done.made && settings.Mode == compact.StaticBuffer && request.Visible(t.win.rows) > 0:
		why := core.E(core.Invalid, "the settings keep the last %d messages, and there are not more", settings.BufferMin)
		return CompactionResult{}, why.WithHint("lower message_buffer_min, or compact in another mode")
	case !done.made:
		return CompactionResult{}, core.E(core.Invalid, "there is nothing that a summary could replace")
	}
	e.wins.put(conv, t.win.conv.Rev, t.win.rows)
	return CompactionResult{done.text, done.stats, done.notice}, nil
}

// aside is a turn that no run belongs to, for what is asked of a conversation beside its runs. end releases it.
func (e *Engine) aside(ctx context.Context, conv core.ConversationID, env core.Env) (t *turn, end func(), err error) {
	c, err := e.cfg.Store.Conversations().Get(ctx, conv)
	if err != nil {
		return nil, nil, err
	}
	j := e.newJob(core.Run{Conversation: conv, Agent: c.Agent}, env)
	t = e.newTurn(j, j.run, nil)
	if err := t.load(ctx); err != nil {
		j.cancel(nil)
		return nil, nil, err
	}
	return t, func() { j.cancel(nil) }, nil
}
