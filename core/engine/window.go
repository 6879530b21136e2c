package engine

import (
	"context"
	"strconv"

	"loci/core"
	"loci/core/memory"
)

const (
	// defaultWindow is assumed where nothing says how much a model takes, in tokens.
	defaultWindow = 32_768
	// keepShare is what an eviction leaves of the room beside system and tools.
	keepShare = 0.6
	// inputShare and returnShare are what one message, or one record of returns, may take of that room when it enters.
	inputShare, returnShare = 0.4, 0.25
	// charsPerToken is how a share in tokens becomes a cut in characters; cautious, so that the cut fits.
	charsPerToken = 3
	// leastCut keeps a cut useful in the smallest window, in characters.
	leastCut = 400
)

// windowOf is the context window that counts for an agent: its own limit, else the model's.
func windowOf(a *core.Agent, info core.ModelInfo) int {
	window := info.ContextWindow
	if window <= 0 {
		window = defaultWindow
	}
	if own := a.Settings.ContextWindow; own > 0 && (own < window || info.ContextWindow <= 0) {
		window = own
	}
	return window
}

// trigger is how many tokens a request may take: the window less room for the answer.
func (t *turn) trigger() int {
	window := windowOf(&t.agent, t.choice.Info)
	reserve := window / 10
	if out := t.agent.Settings.MaxOutputTokens; out > reserve {
		reserve = min(out, window/2)
	}
	return window - reserve
}

// fixedTokens is what system and tools take, by estimate.
func (t *turn) fixedTokens() int {
	n := core.EstimateTokens(t.pinned.system)
	if t.choice.Info.Tools {
		n += core.EstimateTokens(t.pinned.schema)
	}
	return n
}

func tokensOfRows(rows []core.InContext) int {
	n := 0
	for i := range rows {
		n += tokensInContext(&rows[i])
	}
	return n
}

// room is what messages may take, in estimated tokens.
func (t *turn) room() int {
	return int(float64(t.trigger())/t.ratio) - t.fixedTokens()
}

// fit makes what is sent fit: past the trigger the oldest whole turns leave at once. With force it evicts whatever the
// estimate says, because the provider refused the request as too long.
func (t *turn) fit(ctx context.Context, force bool) error {
	room := t.room()
	if room <= 0 {
		err := core.E(core.TooLong, "the system prompt and the tools alone do not fit into the %d tokens of %s", windowOf(&t.agent, t.choice.Info), t.choice.Handle).
			WithHint("shorten the memory blocks or the system prompt, detach tools, or choose a model with a larger window")
		err.Detail = core.StopOverflow
		return err
	}
	t.cutInput(room)
	fixed := 0
	for _, m := range t.pendingInput() {
		row := core.InContext{Row: core.ContextRow{CutTo: t.cutTo[m.ID]}, Message: *m}
		fixed += tokensInContext(&row)
	}
	now := tokensOfRows(t.rows) + fixed
	if now <= room && !force {
		if over, err := t.overfull(ctx); !over || err != nil {
			return err
		}
		return t.shrink(ctx, now-fixed, now, false)
	}
	goal := int(float64(room)*keepShare) - fixed
	if force {
		goal = min(goal, int(float64(now)*keepShare)-fixed)
	}
	return t.shrink(ctx, goal, now, force)
}

// cutInput decides how much of an oversized input message enters.
func (t *turn) cutInput(room int) {
	for _, m := range t.pendingInput() {
		if share := int(float64(room) * inputShare); m.Tokens > share {
			t.cutTo[m.ID] = max(share*charsPerToken/max(len(t.input), 1), leastCut)
		}
	}
}

// returnShare is to how many characters each return of a record is cut when it enters; 0: it enters whole.
func (t *turn) returnShare(m *core.Message) int {
	share := int(float64(t.room()) * returnShare)
	if m.Tokens <= share || len(m.Returns) == 0 {
		return 0
	}
	return max(share*charsPerToken/len(m.Returns), leastCut)
}

// leaving chooses which rows leave so that the rest takes at most goal tokens: the oldest whole turns, and where the
// running turn alone is too large, its oldest whole steps. A call and its return never part; the last step stays.
func (t *turn) leaving(goal int) []core.InContext {
	groups := t.groups()
	total := 0
	for _, g := range groups {
		total += tokensOfRows(g)
	}
	var out []core.InContext
	for i, g := range groups {
		last := i == len(groups)-1 && t.run.Delivered
		if total <= goal || last {
			break
		}
		out = append(out, g...)
		total -= tokensOfRows(g)
	}
	return out
}

// groups splits the rows into what leaves together: whole turns of earlier runs, then the steps of this one. What the
// running turn was asked never leaves under it.
func (t *turn) groups() [][]core.InContext {
	var groups [][]core.InContext
	key := ""
	asked := map[core.MessageID]bool{}
	for _, m := range t.run.Input {
		asked[m.ID] = true
	}
	for _, r := range t.rows {
		m := &r.Message
		if rank(r) < rankPlain || asked[m.ID] {
			continue
		}
		k := "run " + string(m.Run)
		switch {
		case m.Run == t.run.ID:
			k = "step " + string(m.Step)
		case m.Run == "" && m.Role == core.RoleUser: // of an initial sequence: a turn begins with each user message
			k = "message " + string(m.ID)
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

// evict lets rows leave behind a marker that says how many messages left since the last summary.
func (t *turn) evict(ctx context.Context, leaving []core.InContext) error {
	if len(leaving) == 0 {
		return nil
	}
	count := visible(leaving)
	for _, r := range t.rows {
		if r.Message.Hidden == core.HiddenMarker {
			leaving = append(leaving, r)
			count += markerCount(&r.Message)
		}
	}
	marker := t.hidden(core.HiddenMarker, memory.Marker(count))
	marker.Name = strconv.Itoa(count)
	marker.Run = ""
	if err := t.replace(ctx, leaving, marker, core.LeftEviction, nil); err != nil {
		return err
	}
	t.emit(core.Event{Body: core.Notice{Kind: "evicted", Text: memory.Marker(count), Data: map[string]any{"messages": count}}})
	return nil
}

// visible counts the messages among the rows that a person may see.
func visible(rows []core.InContext) int {
	n := 0
	for _, r := range rows {
		if r.Message.Hidden == core.NotHidden {
			n++
		}
	}
	return n
}

// replace closes rows, opens the record that stands for them, and moves the pin: nothing that was sent stays a prefix, so
// the prompt is compiled anew. Nothing is deleted. also, if there is one, writes what the new prompt shows.
func (t *turn) replace(ctx context.Context, leaving []core.InContext, record *core.Message, why core.LeftWhy, also func(context.Context, core.Store) error) error {
	var ids []core.MessageID
	gone := map[core.MessageID]bool{}
	for _, r := range leaving {
		ids, gone[r.Row.Message] = append(ids, r.Row.Message), true
	}
	var conv core.Conversation
	var now prompt
	err := t.e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		var err error
		if conv, err = tx.Conversations().Get(ctx, t.conv.ID); err != nil {
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
		if now, err = t.e.compile(ctx, tx, t.agent, &conv); err != nil {
			return err
		}
		return t.e.storePrompt(ctx, tx, &conv, &now, true)
	})
	if err != nil {
		return err
	}
	t.applyEviction(conv, now, record, gone)
	return nil
}

func (t *turn) applyEviction(conv core.Conversation, now prompt, record *core.Message, gone map[core.MessageID]bool) {
	folder := t.conv.LastFolder
	rows := []core.InContext{{Row: core.ContextRow{Conversation: conv.ID, Message: record.ID, Entered: conv.Rev}, Message: *record}}
	for _, r := range t.rows {
		if !gone[r.Row.Message] {
			rows = append(rows, r)
		}
	}
	t.rows, t.conv, t.pinned, t.prefix, t.moved = rows, conv, now, conv.Prefix, false
	t.conv.LastFolder = folder
	for id, v := range t.raise { // the new prompt shows what would have been announced
		if now.shown[id] >= v {
			delete(t.raise, id)
		}
	}
	if !t.run.Delivered && len(t.raise) == 0 {
		kept := t.input[:0]
		for _, m := range t.input {
			if m.Hidden != core.HiddenBlocks {
				kept = append(kept, m)
			}
		}
		t.input = kept
	}
}

// markerCount reads how many messages a marker stands for: its name is that number.
func markerCount(m *core.Message) int {
	n, err := strconv.Atoi(m.Name)
	if err != nil {
		return 0
	}
	return n
}
