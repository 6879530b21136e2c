package engine

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"loci/core"
	"loci/core/memory"
	"loci/core/recall"
	"loci/core/request"
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

// recaller finds what an agent's memory holds on what is said to it.
type recaller struct {
	search core.Searcher
	clock  func() time.Time
	wait   time.Duration
	group  *sync.WaitGroup // counts the searches, which may outlast the wait
	logger *slog.Logger
}

// record is what the agent's memory, this archive of it too, holds on the newest user message, as one hidden record that
// is stored with the input; nil: nothing. It looks at what was stored before the input. A search that fails or is late
// costs the record, never the turn.
func (r *recaller) record(ctx context.Context, w *window, archive core.ArchiveID) *core.Message {
	tokens, query := recallTokens(w), recallQuery(w.run)
	if tokens < core.MinRecall || query == "" {
		return nil
	}
	zone := zoneOf(w.run, w.agent)
	today := r.clock().In(zone)
	if q := search.Analyse(query, search.DayOf(today)); q.Empty() {
		return nil // nothing in it to recall by
	}
	held := w.held()
	found, err := r.remembered(ctx, w.agent.ID, archive, core.SearchQuery{
		Text: query, Limit: recallHits + tokens/recallEach, Bare: true, Skip: held.IDs(), Today: today,
	})
	if err != nil {
		r.logger.DebugContext(ctx, "a search for what to recall failed or was late", logRun(w.run.ID), logErr(err))
	}
	chosen := recall.Choose(query, found, held, tokens-request.MessageOverhead, zone)
	if len(chosen) == 0 {
		return nil
	}
	record := w.hidden(core.HiddenRecall, recall.Record(chosen, zone))
	for i := range chosen {
		record.Recalled = append(record.Recalled, chosen[i].ID)
	}
	return record
}

// Recalled tells of a record of what was recalled.
func Recalled(record *core.Message) core.Notice {
	n := len(record.Recalled)
	return core.Notice{Kind: NoticeRecalled, Text: recall.Notice(n), Data: map[string]any{"memories": n, "text": record.PlainText()}}
}

// recallTokens is how many tokens may be recalled: the agent's setting, and never so many that something must leave the
// window for them.
func recallTokens(w *window) int {
	if w.agent.Recall <= 0 {
		return 0
	}
	room := w.room()
	free := room - request.TokensOfRows(w.rows)
	for _, m := range w.pendingInput() {
		free -= m.Tokens
	}
	return min(w.agent.Recall, int(float64(room)*recallShare), free)
}

// recallQuery is what the newest user message says; empty where no person or program spoke, but this one.
func recallQuery(run *core.Run) string {
	m := asked(run)
	if m == nil {
		return ""
	}
	text := strings.TrimSpace(m.PlainText())
	if runes := []rune(text); len(runes) > recallAsked {
		const half = recallAsked / 2
		text = string(runes[:half]) + "\n" + string(runes[len(runes)-half:])
	}
	return text
}

// asked is the newest user message of a run's input; nil where nobody said anything in it.
func asked(run *core.Run) *core.Message {
	for i := len(run.Input) - 1; i >= 0; i-- {
		m := &run.Input[i]
		if m.Hidden != core.NotHidden || m.Role != core.RoleUser {
			continue
		}
		if text := strings.TrimSpace(m.PlainText()); text == "" || memory.IsPacked(text) {
			return nil
		}
		return m
	}
	return nil
}

// held is what the window has already: its messages, what was recalled before, what tools were given and gave back.
func (w *window) held() *recall.Window {
	held := &recall.Window{}
	held.Add("", w.pinned.System)
	add := func(m *core.Message, cut int) {
		for _, id := range m.Recalled {
			held.Add(id, "")
		}
		held.Add(string(m.ID), request.Cut(m.PlainText(), cut))
		for _, c := range m.Calls() {
			held.Add("", c.Arguments)
		}
		for _, r := range m.Returns {
			held.Add("", request.Cut(r.Text, cut))
		}
	}
	for i := range w.rows {
		add(&w.rows[i].Message, w.rows[i].Row.CutTo)
	}
	for _, m := range w.pendingInput() {
		add(m, w.cutTo[m.ID])
	}
	return held
}

// remembered searches the agent's archive and all that was said with it, side by side. It returns what there is when its
// time is over, whatever the searches do; they end with it, and the engine waits for them at its end.
func (r *recaller) remembered(ctx context.Context, agent core.AgentID, archive core.ArchiveID, q core.SearchQuery) ([]recall.Text, error) {
	ctx, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	type result struct {
		texts []recall.Text
		err   error
	}
	results := make(chan result, 2)
	r.group.Go(func() {
		texts, err := r.notes(ctx, q, archive)
		results <- result{texts, err}
	})
	r.group.Go(func() {
		texts, err := r.said(ctx, q, agent)
		results <- result{texts, err}
	})
	var found []recall.Text
	var failed error
	for range cap(results) {
		select {
		case got := <-results:
			found = append(found, got.texts...)
			if got.err != nil {
				failed = got.err
			}
		case <-ctx.Done():
			return found, context.Cause(ctx)
		}
	}
	return found, failed
}

func (r *recaller) notes(ctx context.Context, q core.SearchQuery, archive core.ArchiveID) ([]recall.Text, error) {
	if archive == "" {
		return nil, nil
	}
	found, err := r.search.Passages(ctx, q, core.PassageFilter{Archives: []core.ArchiveID{archive}})
	if err != nil {
		return nil, err
	}
	texts := make([]recall.Text, len(found.Hits))
	for i, h := range found.Hits {
		p := &h.Passage
		texts[i] = recall.Text{ID: string(p.ID), At: p.CreatedAt, Text: p.Text, Tags: p.Tags, Score: h.Score, Why: h.Why}
	}
	return texts, nil
}

func (r *recaller) said(ctx context.Context, q core.SearchQuery, agent core.AgentID) ([]recall.Text, error) {
	found, err := r.search.Messages(ctx, q, core.MessageFilter{Agent: agent, Roles: []core.Role{core.RoleUser, core.RoleAssistant}})
	if err != nil {
		return nil, err
	}
	texts := make([]recall.Text, 0, len(found.Hits))
	for _, h := range found.Hits {
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
