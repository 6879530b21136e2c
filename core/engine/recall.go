package engine

import (
	"context"
	"strings"
	"time"

	"loci/core"
	"loci/core/memory"
	"loci/core/recall"
	"loci/core/search"
)

const (
	// recallWait is how long a turn waits for what is recalled: what comes later is left out.
	recallWait = 300 * time.Millisecond
	// recallShare is what a record may take of the room for messages, so that a small window keeps its thread.
	recallShare = 0.125
	// recallHits is how many finds of each kind are looked at, and one more for each recallEach tokens.
	recallHits, recallEach = 16, 30
	// recallAsked is how many characters of a message are looked for, half of them its last ones: a long paste has its
	// question before or behind it.
	recallAsked = 2000
)

// NoticeRecalled tells of what was recalled.
const NoticeRecalled = "recalled"

// recall lets what the agent's memory holds on the newest user message join the turn, as one hidden record that is stored
// with the input. It looks at what was stored before the input. A search that fails or is late costs the record, never
// the turn.
func (t *turn) recall(ctx context.Context) {
	tokens, query := t.recallTokens(), t.recallQuery()
	if tokens < core.MinRecall || query == "" {
		return
	}
	zone := t.zone()
	today := t.e.cfg.Clock().In(zone)
	if q := search.Analyse(query, search.DayOf(today)); q.Empty() {
		return // nothing in it to recall by
	}
	held := t.held()
	found, err := t.remembered(ctx, core.SearchQuery{
		Text: query, Limit: recallHits + tokens/recallEach, Bare: true, Skip: held.IDs(), Today: today,
	})
	if err != nil {
		t.e.cfg.Logger.DebugContext(ctx, "a search for what to recall failed or was late", logRun(t.run.ID), logErr(err))
	}
	chosen := recall.Choose(query, found, held, tokens-messageOverhead, zone)
	if len(chosen) == 0 {
		return
	}
	record := t.hidden(core.HiddenRecall, recall.Record(chosen, zone))
	for i := range chosen {
		record.Recalled = append(record.Recalled, chosen[i].ID)
	}
	t.input = append(t.input, record)
	t.emit(core.Event{Body: Recalled(record)})
}

// Recalled tells of a record of what was recalled.
func Recalled(record *core.Message) core.Notice {
	n := len(record.Recalled)
	return core.Notice{Kind: NoticeRecalled, Text: recall.Notice(n), Data: map[string]any{"memories": n, "text": record.PlainText()}}
}

// recallTokens is how many tokens may be recalled: the agent's setting, and never so many that something must leave the
// window for them.
func (t *turn) recallTokens() int {
	if t.agent.Recall <= 0 {
		return 0
	}
	room := t.room()
	free := room - tokensOfRows(t.rows)
	for _, m := range t.pendingInput() {
		free -= m.Tokens
	}
	return min(t.agent.Recall, int(float64(room)*recallShare), free)
}

// recallQuery is what the newest user message says; empty where no person or program spoke, but this one.
func (t *turn) recallQuery() string {
	for i := len(t.run.Input) - 1; i >= 0; i-- {
		m := &t.run.Input[i]
		if m.Hidden != core.NotHidden || m.Role != core.RoleUser {
			continue
		}
		text := strings.TrimSpace(m.PlainText())
		if memory.IsPacked(text) {
			return ""
		}
		if runes := []rune(text); len(runes) > recallAsked {
			const half = recallAsked / 2
			text = string(runes[:half]) + "\n" + string(runes[len(runes)-half:])
		}
		return text
	}
	return ""
}

// held is what the window has already: its messages, what was recalled before, what tools were given and gave back.
func (t *turn) held() *recall.Window {
	w := &recall.Window{}
	w.Add("", t.pinned.system)
	add := func(m *core.Message, cut int) {
		for _, id := range m.Recalled {
			w.Add(id, "")
		}
		w.Add(string(m.ID), cutText(m.PlainText(), cut))
		for _, c := range m.Calls() {
			w.Add("", c.Arguments)
		}
		for _, r := range m.Returns {
			w.Add("", cutText(r.Text, cut))
		}
	}
	for i := range t.rows {
		add(&t.rows[i].Message, t.rows[i].Row.CutTo)
	}
	for _, m := range t.pendingInput() {
		add(m, t.cutTo[m.ID])
	}
	return w
}

// remembered searches the agent's archive and all that was said with it, side by side. It returns what there is when its
// time is over, whatever the searches do; they end with it, and the engine waits for them at its end.
func (t *turn) remembered(ctx context.Context, q core.SearchQuery) ([]recall.Text, error) {
	ctx, cancel := context.WithTimeout(ctx, t.e.cfg.RecallWait)
	defer cancel()
	type result struct {
		texts []recall.Text
		err   error
	}
	results := make(chan result, 2)
	e, agent, archive := t.e, t.agent.ID, t.archive
	e.wg.Go(func() {
		texts, err := e.recallNotes(ctx, q, archive)
		results <- result{texts, err}
	})
	e.wg.Go(func() {
		texts, err := e.recallSaid(ctx, q, agent)
		results <- result{texts, err}
	})
	var found []recall.Text
	var failed error
	for range cap(results) {
		select {
		case r := <-results:
			found = append(found, r.texts...)
			if r.err != nil {
				failed = r.err
			}
		case <-ctx.Done():
			return found, context.Cause(ctx)
		}
	}
	return found, failed
}

func (e *Engine) recallNotes(ctx context.Context, q core.SearchQuery, archive core.ArchiveID) ([]recall.Text, error) {
	if archive == "" {
		return nil, nil
	}
	hits, err := e.cfg.Store.Passages().Match(ctx, q, core.PassageFilter{Archives: []core.ArchiveID{archive}})
	if err != nil {
		return nil, err
	}
	texts := make([]recall.Text, len(hits))
	for i, h := range hits {
		p := &h.Passage
		texts[i] = recall.Text{ID: string(p.ID), At: p.CreatedAt, Text: p.Text, Tags: p.Tags, Score: h.Score, Why: h.Why}
	}
	return texts, nil
}

func (e *Engine) recallSaid(ctx context.Context, q core.SearchQuery, agent core.AgentID) ([]recall.Text, error) {
	hits, err := e.cfg.Store.Messages().Match(ctx, q, core.MessageFilter{Agent: agent, Roles: []core.Role{core.RoleUser, core.RoleAssistant}})
	if err != nil {
		return nil, err
	}
	texts := make([]recall.Text, 0, len(hits))
	for _, h := range hits {
		m := &h.Message
		said := strings.TrimSpace(m.Said())
		if said == "" || m.Role == core.RoleUser && memory.IsPacked(said) {
			continue
		}
		who := "you"
		if m.Role == core.RoleUser {
			if who = m.Name; who == "" {
				who = "user"
			}
		}
		texts = append(texts, recall.Text{ID: string(m.ID), Who: who, At: m.CreatedAt, Text: said, Score: h.Score, Why: h.Why})
	}
	return texts, nil
}
