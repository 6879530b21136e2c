package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"loci/core"
	"loci/core/memory"
	"loci/core/prompt"
	"loci/core/request"
)

const (
	// returnShare is what one record of returns may take of the room beside system and tools when it enters. A message
	// may fill what such a record and what is recalled leave.
	returnShare = 0.25
	// charsPerToken is how a share in tokens becomes a cut in characters; cautious, so that the cut fits.
	charsPerToken = 3
	// leastCut keeps a cut useful in the smallest window, in characters.
	leastCut = 400
)

// window is what a turn's next request is made from, and the one place where it is made to fit: what is pinned, the rows,
// the input that enters with the next step, and how much all that weighs. Rows leave it by a summary or an eviction.
type window struct {
	conv    core.Conversation
	pinned  prompt.Prompt    // what is sent: system, tools and their schema as pinned; blocks and bound tools as attached now
	prefix  string           // hash of the prefix that is sent
	moved   bool             // the pin moved and is stored with the next commit
	rows    []core.InContext // the open rows, message 0 left out
	input   []*core.Message  // what enters with the first successful step: the run's input, then what joins it
	cutTo   map[core.MessageID]int
	raise   map[core.BlockID]int // versions the window shows once the input entered
	told    int64                // the change of passages that it is told of once the input entered
	counted int                  // tokens of the window as the provider counted them, while it is made smaller because of that; else 0
	ratio   float64              // true tokens to estimated ones, as the provider last reported
	used    int                  // tokens of the last step, its answer too, as the provider reported; 0: it did not
	faults  []string             // of hooks, that the person was told of

	// The turn's, as they are now.
	run    *core.Run
	agent  *core.Agent
	choice *Choice
	policy *core.Policy
	env    *core.Env

	cfg     *Config
	prompts *prompt.Compiler
	slow    *pauses
	pace    *paces
	resolve func(ctx context.Context, h core.Handle, why string, env core.Env) (Choice, error)
	emit    func(...core.Event)
}

// newTurn returns the turn of a job, whose first step may be recorded already.
func (e *Engine) newTurn(j *job, run core.Run, step *core.Step) *turn {
	t := &turn{e: e, j: j, run: run, step: step}
	t.win = window{
		ratio: 1, cutTo: map[core.MessageID]int{}, run: &t.run, agent: &t.agent, choice: &t.choice, policy: &t.policy, env: &t.env,
		cfg: &e.cfg, prompts: e.prompts, slow: e.slow, pace: e.pace, resolve: e.resolve, emit: t.emit,
	}
	return t
}

// trigger is how many tokens a request may take.
func (w *window) trigger() int {
	return request.Limit(w.agent, core.WindowOf(w.agent, w.choice.Info))
}

// fixedTokens is what system and tools take, by estimate.
func (w *window) fixedTokens() int {
	n := core.EstimateTokens(w.pinned.System)
	if w.choice.Info.Tools {
		n += core.EstimateTokens(w.schema())
	}
	return n
}

// tools are what a model is offered: what is pinned, then what the client of this run brings, whose names hide ours.
func (w *window) tools() []core.ToolSpec {
	clients := w.run.Config.ClientTools
	if len(clients) == 0 {
		return w.pinned.Tools
	}
	hidden := func(t core.ToolSpec) bool {
		return slices.ContainsFunc(clients, func(c core.ToolSpec) bool { return c.Name == t.Name })
	}
	return append(slices.DeleteFunc(slices.Clone(w.pinned.Tools), hidden), clients...)
}

// schema is the tools as the snapshot of a step holds them.
func (w *window) schema() string {
	if len(w.run.Config.ClientTools) == 0 {
		return w.pinned.Schema
	}
	return request.JSON(w.tools())
}

// sentPrefix names what stands before the messages of a request. Tools of the client make it another one for their run.
func (w *window) sentPrefix() string {
	if len(w.run.Config.ClientTools) == 0 {
		return w.prefix
	}
	return prompt.Hash(core.SnapshotTools, w.prefix+w.schema())
}

// tokens is what a request without new input takes, by estimate.
func (w *window) tokens() int {
	return w.fixedTokens() + request.TokensOfRows(w.rows)
}

// room is what messages may take, in estimated tokens.
func (w *window) room() int {
	return int(float64(w.trigger())/w.ratio) - w.fixedTokens()
}

// fit makes what is sent fit: past the trigger the oldest whole turns leave at once. With force it evicts whatever the
// estimate says, because the provider refused the request as too long.
func (w *window) fit(ctx context.Context, step core.StepID, force bool) error {
	room := w.room()
	if room <= 0 {
		err := core.E(core.TooLong, "the system prompt and the tools alone do not fit into the %d tokens of %s",
			core.WindowOf(w.agent, w.choice.Info), w.choice.Handle).
			WithHint("shorten the memory blocks or the system prompt, detach tools, or choose a model with a larger window")
		err.Detail = core.StopSystemPromptFull
		return err
	}
	w.cutInput(room)
	fixed := 0
	for _, m := range w.pendingInput() {
		row := core.InContext{Row: core.ContextRow{CutTo: w.cutTo[m.ID]}, Message: *m}
		fixed += request.TokensInContext(&row)
	}
	now := request.TokensOfRows(w.rows) + fixed
	if now <= room && !force {
		if over, err := w.overfull(ctx); !over || err != nil {
			return err
		}
		return w.shrink(ctx, step, now-fixed, now, false)
	}
	goal := int(float64(room)*request.KeepShare) - fixed
	if force {
		goal = min(goal, int(float64(now)*request.KeepShare)-fixed)
	}
	return w.shrink(ctx, step, goal, now, force)
}

// NoticeCut tells of a message that did not fit into the window whole.
const NoticeCut = "cut"

// cutInput decides how much of an oversized input enters: all of what came may fill the room that a return and what is
// recalled leave, each message in proportion to its length. What joins a message gets what that leaves: it is cut first.
// What does not fit of a message is said before anything is sent.
func (w *window) cutInput(room int) {
	pending := w.pendingInput()
	said, joins := 0, 0
	for _, m := range pending {
		if m.Joins == "" {
			said += m.Tokens
		} else {
			joins += m.Tokens
		}
	}
	for _, m := range pending {
		total, share := said, w.inputShare(room)
		if m.Joins != "" {
			total, share = joins, max(int(float64(room)*(1-returnShare))-said, 0)
		}
		n := utf8.RuneCountInString(m.PlainText())
		limit := w.sentOf(m, total, share)
		if _, known := w.cutTo[m.ID]; limit >= n || known {
			continue
		}
		w.cutTo[m.ID] = limit
		if m.Hidden != core.NotHidden {
			continue // no person sent it
		}
		w.emit(core.Event{Body: core.Notice{
			Kind: NoticeCut, Data: map[string]any{"message_id": string(m.ID), "characters": n, "sent": limit},
			Text: fmt.Sprintf("The message is too long for the %d tokens of %s: %d of its %d characters are sent.",
				core.WindowOf(w.agent, w.choice.Info), w.choice.Handle, limit, n),
		}})
	}
}

// inputShare is how many tokens of the room all of what came may take.
func (w *window) inputShare(room int) int {
	return int(float64(room)*(1-returnShare)) - min(w.agent.Recall, int(float64(room)*recallShare))
}

// sentOf is how many characters of a message are sent where all of what came takes total tokens and may take share.
func (w *window) sentOf(m *core.Message, total, share int) int {
	text := m.PlainText()
	n := utf8.RuneCountInString(text)
	if total <= share {
		return n
	}
	return min(n, max(cutAt(text, int(float64(m.Tokens)*float64(share)/float64(total))), leastCut))
}

// cutAt is how many characters of a text take at most so many tokens.
func cutAt(text string, tokens int) int {
	all := []rune(text)
	n := min(len(all), 4*max(tokens, 0)) // no character takes less than a quarter
	for n > 0 {
		takes := core.EstimateTokens(string(all[:n]))
		if takes <= tokens {
			break
		}
		n = min(n-1, n*max(tokens, 0)/takes)
	}
	return n
}

// returnShare is to how many characters each return of a record is cut when it enters; 0: it enters whole.
func (w *window) returnShare(m *core.Message) int {
	share := int(float64(w.room()) * returnShare)
	if m.Tokens <= share || len(m.Returns) == 0 {
		return 0
	}
	return max(share*charsPerToken/len(m.Returns), leastCut)
}

// leaving chooses which rows leave so that the rest takes at most goal tokens: the oldest whole turns, and where the
// running turn alone is too large, its oldest whole steps. A call and its return never part; the last step stays.
func (w *window) leaving(goal int) []core.InContext {
	groups := w.groups()
	total := 0
	for _, g := range groups {
		total += request.TokensOfRows(g)
	}
	var out []core.InContext
	for i, g := range groups {
		last := i == len(groups)-1 && w.run.Delivered
		if total <= goal || last {
			break
		}
		out = append(out, g...)
		total -= request.TokensOfRows(g)
	}
	return out
}

// groups splits the rows into what leaves together: whole turns of earlier runs, then the steps of this one. What the
// running turn was asked never leaves under it, nor does a request that waits for an approval.
func (w *window) groups() [][]core.InContext {
	var groups [][]core.InContext
	key := ""
	asked := map[core.MessageID]bool{}
	for _, m := range w.run.Input {
		asked[m.ID] = true
	}
	waiting, waits := core.Waiting(w.rows)
	turns := w.turns()
	for _, r := range w.rows {
		m := &r.Message
		run := turns[m.Run]
		ours := run == turns[w.run.ID]
		if request.StandsForOthers(r) || asked[m.ID] || waits && m.Step == waiting.Step && m.Run == waiting.Run ||
			ours && m.Run != w.run.ID && m.Role == core.RoleUser {
			continue
		}
		k := "run " + string(run)
		switch {
		case ours:
			k = "step " + string(m.Step)
		case m.Run == "" && m.Role == core.RoleUser && m.Hidden == core.NotHidden:
			k = "message " + string(m.ID) // of an initial sequence: a turn begins with each user message
		case m.Run == "":
			k = key
		}
		if k != key || len(groups) == 0 {
			groups = append(groups, nil)
		}
		key = k
		groups[len(groups)-1] = append(groups[len(groups)-1], r)
	}
	return groups
}

// turns says of each run in which turn its messages stand: one that answers a request for approval goes on with the turn
// that asked, so that a call and its return leave together.
func (w *window) turns() map[core.RunID]core.RunID {
	of := map[core.RunID]core.RunID{w.run.ID: w.run.ID}
	var last core.RunID
	for _, r := range w.rows {
		m := &r.Message
		if _, known := of[m.Run]; !known || m.Answers() {
			of[m.Run] = m.Run
			if m.Answers() {
				of[m.Run] = of[last]
			}
		}
		if !request.StandsForOthers(r) {
			last = m.Run
		}
	}
	return of
}

// evict lets rows leave behind a marker that says how many messages left since the last summary.
func (w *window) evict(ctx context.Context, leaving []core.InContext) error {
	if len(leaving) == 0 {
		return nil
	}
	count := request.Visible(leaving)
	for _, r := range w.rows {
		if r.Message.Hidden == core.HiddenMarker {
			leaving = append(leaving, r)
			count += request.MarkerCount(&r.Message)
		}
	}
	marker := request.Marker(&w.conv, count, w.cfg.Clock())
	if err := w.replace(ctx, leaving, marker, core.LeftEviction, nil); err != nil {
		return err
	}
	w.emit(core.Event{Body: core.Notice{Kind: "evicted", Text: memory.Marker(count), Data: map[string]any{"messages": count}}})
	return nil
}

// replace closes rows, opens the record that stands for them, and moves the pin: nothing that was sent stays a prefix, so
// the prompt is compiled anew. Nothing is deleted. also, if there is one, writes what the new prompt shows.
func (w *window) replace(
	ctx context.Context,
	leaving []core.InContext,
	record *core.Message,
	why core.LeftWhy,
	also func(context.Context, core.Store) error,
) error {
	var ids []core.MessageID
	gone := map[core.MessageID]bool{}
	for _, r := range leaving {
		ids, gone[r.Row.Message] = append(ids, r.Row.Message), true
	}
	var conv core.Conversation
	var now prompt.Prompt
	err := w.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if conv, err = tx.Conversations().Get(ctx, w.conv.ID); err != nil {
			return err
		}
		conv.Rev++
		conv.Cut = conv.Rev
		if err := tx.Messages().Leave(ctx, conv.ID, conv.Rev, why, ids); err != nil {
			return err
		}
		if err := tx.Messages().Insert(ctx, record); err != nil {
			return err
		}
		if err := tx.Messages().Enter(ctx, conv.ID, conv.Rev, []core.MessageID{record.ID}, nil); err != nil {
			return err
		}
		if also != nil {
			if err := also(ctx, tx); err != nil {
				return err
			}
		}
		if now, err = w.prompts.Outline(ctx, tx, *w.agent, w.folder()); err != nil {
			return err
		}
		if err := w.prompts.Fill(ctx, tx, *w.agent, &conv, &now); err != nil {
			return err
		}
		return w.prompts.Store(ctx, tx, &conv, &now, true)
	})
	if err != nil {
		return err
	}
	w.applyEviction(conv, now, record, gone)
	return nil
}

func (w *window) applyEviction(conv core.Conversation, now prompt.Prompt, record *core.Message, gone map[core.MessageID]bool) {
	folder := w.conv.LastFolder
	rows := []core.InContext{{Row: core.ContextRow{Conversation: conv.ID, Message: record.ID, Entered: conv.Rev}, Message: *record}}
	for _, r := range w.rows {
		if !gone[r.Row.Message] {
			rows = append(rows, r)
		}
	}
	w.rows, w.conv, w.pinned, w.prefix, w.moved = rows, conv, now, conv.Prefix, false
	w.conv.LastFolder = folder
	for id, v := range w.raise { // the new prompt shows what would have been announced
		if now.Shown[id] >= v {
			delete(w.raise, id)
		}
	}
	if !w.run.Delivered && len(w.raise) == 0 {
		kept := w.input[:0]
		for _, m := range w.input {
			if m.Hidden != core.HiddenBlocks {
				kept = append(kept, m)
			}
		}
		w.input = kept
	}
}

// hidden makes a record that joins the turn from outside: what the run's input says, if it says anything.
func (w *window) hidden(kind core.HiddenKind, text string) *core.Message {
	m := &core.Message{
		ID: core.NewMessageID(), Agent: w.agent.ID, Conversation: w.conv.ID, Run: w.run.ID, Role: core.RoleUser, Hidden: kind,
		Content: []core.Content{core.Text(text)}, CreatedAt: w.cfg.Clock(),
	}
	if said := asked(w.run); said != nil {
		m.Joins = said.ID
	}
	m.Tokens = request.Tokens(m)
	return m
}

// settings are the model settings that count: the conversation's own over the agent's.
func (w *window) settings() core.ModelSettings {
	s := w.agent.Settings
	if w.conv.Settings != nil {
		s = w.conv.Settings.Over(w.agent.Settings)
	}
	s.ReasoningEffort = cmp.Or(w.run.Config.Effort, s.ReasoningEffort)
	if form := w.run.Config.ResponseFormat; form != nil {
		s.ResponseFormat = form
	}
	return s
}

func (w *window) pendingInput() []*core.Message {
	if w.run.Delivered {
		return nil
	}
	return w.input
}

// shownAfter is what the window shows once the step's rows are in it.
func (w *window) shownAfter(base, shows map[core.BlockID]int) map[core.BlockID]int {
	shown := maps.Clone(base)
	if shown == nil {
		shown = map[core.BlockID]int{}
	}
	if !w.run.Delivered {
		for id, v := range w.raise {
			shown[id] = max(shown[id], v)
		}
	}
	for id, v := range shows {
		shown[id] = max(shown[id], v)
	}
	return shown
}
