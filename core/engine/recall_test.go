package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/engine"
	"loci/core/finder"
	"loci/core/past"
	"loci/core/search"
	"loci/storage"
)

const recalledHead = "Recalled from your memory"

// rememberer makes an agent with recall and an archive of notes.
func (h *house) rememberer(tokens int, notes ...string) core.Agent {
	h.t.Helper()
	a := h.agent(func(a *core.Agent) { a.Recall = tokens })
	archive := core.Archive{ID: core.NewArchiveID(), Name: "notes", CreatedAt: h.clock()}
	if err := h.store.Archives().Create(h.t.Context(), &archive); err != nil {
		h.t.Fatal(err)
	}
	if err := h.store.Archives().Attach(h.t.Context(), a.ID, archive.ID); err != nil {
		h.t.Fatal(err)
	}
	for _, n := range notes {
		p := core.Passage{ID: core.NewPassageID(), Archive: archive.ID, Text: n, CreatedAt: h.clock()}
		if err := h.store.Passages().Insert(h.t.Context(), &p); err != nil {
			h.t.Fatal(err)
		}
	}
	return a
}

// recalled returns the records of what was recalled in a request.
func recalled(req core.ChatRequest) []string {
	var out []string
	for _, text := range reminders(req) {
		if strings.HasPrefix(text, recalledHead) {
			out = append(out, text)
		}
	}
	return out
}

// reminders returns what the program says in a request, in messages of its own or before what a person says.
func reminders(req core.ChatRequest) []string {
	var out []string
	for _, m := range req.Messages {
		if m.Role == core.ChatReminder {
			out = append(out, m.Text)
		}
		out = append(out, m.Joined...)
	}
	return out
}

// lastAsked is the newest user message of a request.
func lastAsked(req core.ChatRequest) string {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if req.Messages[i].Role == core.ChatUser {
			return req.Messages[i].Text
		}
	}
	return ""
}

func notice(events []core.Event) (core.Notice, bool) {
	for _, ev := range events {
		if n, ok := ev.Body.(core.Notice); ok && n.Kind == engine.NoticeRecalled {
			return n, true
		}
	}
	return core.Notice{}, false
}

func TestMemoriesJoinTheTurnAsOneHiddenRecord(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.rememberer(800, "The lighthouse keeper is called Odd.", "Bread is bought on Fridays.")
	elsewhere := core.Conversation{ID: core.NewConversationID(), Agent: a.ID}
	if err := h.store.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
		return h.engine.Prompts().Begin(ctx, tx, &elsewhere, nil)
	}); err != nil {
		t.Fatal(err)
	}
	req := h.request(a, "My lighthouse has a red door.")
	req.Conversation = elsewhere.ID
	h.submit(req)
	run, events := h.send(a, "Tell me of the lighthouse")
	reqs := h.model.sent()
	records := recalled(reqs[1])
	if len(records) != 1 || !strings.Contains(records[0], "note: The lighthouse keeper is called Odd.") ||
		!strings.Contains(records[0], "user: My lighthouse has a red door.") || strings.Contains(records[0], "Bread") {
		t.Fatalf("recalled %q", records)
	}
	if last := reqs[1].Messages[len(reqs[1].Messages)-1]; !strings.HasSuffix(last.Text, "\nTell me of the lighthouse") {
		t.Errorf("the question does not stand last: %q", last.Text)
	}
	if n, ok := notice(events); !ok || n.Text != "recalled 2 memories" || n.Data["text"] != records[0] {
		t.Errorf("the run tells %+v", n)
	}
	for _, m := range h.list(a) {
		if strings.Contains(m.PlainText(), recalledHead) {
			t.Error("the record is listed")
		}
	}
	if found, err := h.cfg.Search.Messages(
		t.Context(),
		core.SearchQuery{Text: "recalled memory out of date"},
		core.MessageFilter{Agent: a.ID},
	); err != nil ||
		len(found.Hits) > 0 {
		t.Errorf("the record is found: %v %v", found.Hits, err)
	}
	steps, err := h.store.Steps().List(t.Context(), core.StepFilter{Run: run.ID}, core.Page{})
	if err != nil || len(steps) != 1 {
		t.Fatal(err)
	}
	again, err := h.past().Reproduce(t.Context(), steps[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(reqs[1], again); diff != "" {
		t.Errorf("the step is reproduced otherwise (-sent +reproduced):\n%s", diff)
	}

	// The same again finds nothing new, and what was sent stays as it was.
	if _, events := h.send(a, "Tell me more of the lighthouse"); len(recalled(h.model.sent()[2])) != 1 {
		t.Error("what the window holds was recalled again")
	} else if _, ok := notice(events); ok {
		t.Error("a recall of nothing is told")
	}
	prefixHolds(t, 2, reqs[1], h.model.sent()[2])
}

func TestWhatStandsInTheWindowIsNotRecalled(t *testing.T) {
	t.Parallel()
	h := open(t, func(_ int, req core.ChatRequest) turn {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case last.Role == core.ChatUser && strings.Contains(last.Text, "Note it"):
			return calling("archival_memory_insert", map[string]any{"content": "The \"submarine\" dives at noon."})
		case last.Role == core.ChatUser && strings.Contains(last.Text, "Look it up"):
			return calling("archival_memory_search", map[string]any{"query": "windmill"})
		}
		return say("ok")
	})
	a := h.rememberer(800)
	h.send(a, "My accordion is green.")
	h.send(a, "Note it")
	p := core.Passage{ID: core.NewPassageID(), Text: "The windmill stands still.", CreatedAt: h.clock()}
	archive, _, err := h.store.Archives().OfAgent(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	p.Archive = archive.ID
	if err := h.store.Passages().Insert(t.Context(), &p); err != nil {
		t.Fatal(err)
	}
	h.send(a, "Look it up")
	for _, q := range []string{"What colour is my accordion?", "When does the submarine dive?", "Does the windmill stand?"} {
		h.send(a, q)
	}
	reqs := h.model.sent()
	if got := recalled(reqs[len(reqs)-1]); len(got) != 0 {
		t.Errorf("recalled what was said, written or read in this window: %q", got)
	}
}

func TestRecallOffRecallsNothing(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.rememberer(0, "The lighthouse keeper is called Odd.")
	h.send(a, "Tell me of the lighthouse")
	if got := recalled(h.model.sent()[0]); len(got) != 0 {
		t.Errorf("recalled %q", got)
	}
}

func TestTheProgramsOwnMessagesRecallNothing(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.rememberer(800, "The lighthouse keeper is called Odd.")
	h.send(a, `{"type":"heartbeat","reason":"the lighthouse","time":"now"}`)
	req := h.request(a, "Tell me of the lighthouse")
	req.Input[0].Role = core.RoleSystem
	h.submit(req)
	for i, r := range h.model.sent() {
		if got := recalled(r); len(got) != 0 {
			t.Errorf("request %d recalled %q", i, got)
		}
	}
}

func TestAMessageOfTheProgramBehindThePersonsHidesNothing(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.rememberer(800, "The lighthouse keeper is called Odd.")
	req := h.request(a, "Tell me of the lighthouse")
	req.Input = append(req.Input, engine.Input{Role: core.RoleSystem, Text: "The window is open."})
	h.submit(req)
	if got := recalled(h.model.sent()[0]); len(got) != 1 {
		t.Errorf("recalled %q", got)
	}
}

// slow makes searches wait until they are given up, or fail.
type slow struct{ err error }

func (s slow) Messages(ctx context.Context, _ core.SearchQuery, _ core.MessageFilter) (core.Results[core.MessageHit], error) {
	return core.Results[core.MessageHit]{}, s.wait(ctx)
}

func (s slow) Passages(ctx context.Context, _ core.SearchQuery, _ core.PassageFilter) (core.Results[core.PassageHit], error) {
	return core.Results[core.PassageHit]{}, s.wait(ctx)
}

func (s slow) wait(ctx context.Context) error {
	if s.err != nil {
		return s.err
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestASearchThatFailsOrIsLateCostsTheRecordAlone(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{"late": nil, "broken": core.E(core.Unavailable, "no index")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, func(int, core.ChatRequest) turn { return say("ok") }, func(c *engine.Config) {
				c.Search, c.RecallWait = slow{failure}, 20*time.Millisecond
			})
			a := h.rememberer(800, "The lighthouse keeper is called Odd.")
			run, events := h.send(a, "Tell me of the lighthouse")
			if run.Status != core.RunCompleted || said(events) != "ok" || len(recalled(h.model.sent()[0])) != 0 {
				t.Errorf("the run is %+v", run)
			}
		})
	}
}

func TestRecallMakesNothingLeaveTheWindow(t *testing.T) {
	t.Parallel()
	for _, tokens := range []int{0, 1500} {
		t.Run(fmt.Sprint(tokens), func(t *testing.T) {
			t.Parallel()
			h := open(t, func(int, core.ChatRequest) turn { return say(strings.Repeat("well then ", 20)) })
			h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: 4000, Tools: true, CacheTTL: 5 * time.Minute}
			var notes []string
			for i := range 40 {
				notes = append(notes, fmt.Sprintf("Number %d of the lighthouse: %s", i, strings.Repeat("light and sea ", 10)))
			}
			a := h.rememberer(tokens, notes...)
			for i := range 20 {
				before := len(h.model.sent())
				_, events := h.send(a, fmt.Sprintf("Tell me of the lighthouse, number %d", i))
				record := 0
				for _, r := range recalled(h.model.sent()[before]) {
					record += core.EstimateTokens(r)
				}
				gone := false
				for _, ev := range events {
					if n, ok := ev.Body.(core.Notice); ok && n.Kind == "evicted" {
						gone = true
					}
				}
				if _, new := notice(events); new && gone {
					t.Errorf("turn %d recalled, and something left for it", i)
				}
				if tokens == 0 && record > 0 {
					t.Errorf("turn %d recalled", i)
				}
			}
			if tokens > 0 {
				whole := ""
				for _, r := range h.model.sent() {
					whole += strings.Join(recalled(r), "")
				}
				if whole == "" {
					t.Error("nothing was recalled: the test does not cover it")
				}
			}
		})
	}
}

func TestAResumedRunRecallsAnew(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return turn{deltas: say("I begin").deltas, gate: gate}
		}
		return say("ok")
	})
	a := h.rememberer(800, "The lighthouse keeper is called Odd.")
	req := h.request(a, "Tell me of the lighthouse")
	req.Background = true
	run, err := h.engine.Submit(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range h.engine.Follow(t.Context(), run.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, begun := ev.Body.(core.Said); begun {
			break
		}
	}
	h.restart()
	if run, _ := h.follow(run.ID); run.Status != core.RunCompleted {
		t.Fatalf("%+v", run)
	}
	h.send(a, "go on")
	reqs := h.model.sent()
	first, again, next := recalled(reqs[0]), recalled(reqs[1]), recalled(reqs[2])
	if len(first) != 1 || len(again) != 1 || len(next) != 1 || again[0] != next[0] {
		t.Errorf("recalled %q, resumed %q, then %q", first, again, next)
	}
	rows, err := h.store.Messages().Context(t.Context(), core.DefaultConversation(a.ID))
	if err != nil {
		t.Fatal(err)
	}
	records := 0
	for _, r := range rows {
		if r.Message.Hidden == core.HiddenRecall {
			records++
			if len(r.Message.Recalled) != 1 {
				t.Errorf("the record names %q", r.Message.Recalled)
			}
		}
	}
	if records != 1 {
		t.Errorf("%d records are in the window", records)
	}
}

func TestARewindRestoresRecall(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.rememberer(800)
	run, _ := h.send(a, "one")
	steps, err := h.store.Steps().List(t.Context(), core.StepFilter{Run: run.ID}, core.Page{})
	if err != nil || len(steps) != 1 {
		t.Fatal(err)
	}
	now, err := h.store.Agents().Get(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	now.Recall = 0
	if err := h.store.Agents().Update(t.Context(), &now); err != nil {
		t.Fatal(err)
	}
	back, err := h.past().Rewind(t.Context(), core.DefaultConversation(a.ID), steps[0].ID, past.RewindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if now, _ = h.store.Agents().Get(t.Context(), a.ID); now.Recall != 800 {
		t.Errorf("recall is %d after the rewind", now.Recall)
	}
	if _, err := h.past().UndoRewind(t.Context(), back.ID, ""); err != nil {
		t.Fatal(err)
	}
	if now, _ = h.store.Agents().Get(t.Context(), a.ID); now.Recall != 0 {
		t.Errorf("recall is %d after the undo", now.Recall)
	}
	made, err := h.past().CopyAgent(t.Context(), a.ID, past.CopyOptions{Step: steps[0].ID})
	if err != nil || made.Recall != 800 {
		t.Errorf("the copy recalls %d: %v", made.Recall, err)
	}
}

// rebuilding is a store whose search index cannot be read.
type rebuilding struct{ *storage.Store }

func (rebuilding) View(context.Context, search.Scope, []search.Vector) (search.View, error) {
	return nil, search.ErrUnavailable
}

// TestASearchToolThatMeetsARebuildDoesNotEndTheRun: what was inserted before it in the same turn stays, so that a retry would
// double it.
func TestASearchToolThatMeetsARebuildDoesNotEndTheRun(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, req core.ChatRequest) turn {
		switch n {
		case 0:
			return calling("archival_memory_insert", map[string]any{"content": "The windmill stands still."},
				calling("archival_memory_search", map[string]any{"query": "lighthouse"}))
		case 1:
			return calling(
				"archival_memory_search",
				map[string]any{"query": "windmill"},
				calling("conversation_search", map[string]any{"query": "lighthouse"}),
			)
		}
		return say("ok")
	}, func(c *engine.Config) {
		store, _ := c.Store.(*storage.Store)
		c.Search = finder.New(finder.Config{Store: rebuilding{store}})
	})
	a := h.rememberer(0, "Another note.")
	run, events := h.send(a, "Note it, and look")
	if run.Status != core.RunCompleted || said(events) != "ok" {
		t.Fatalf("the run is %+v", run)
	}
	var returns []string
	for _, m := range h.list(a) {
		for _, r := range m.Returns {
			returns = append(returns, r.Text)
		}
	}
	if len(returns) != 4 || !strings.Contains(returns[1], "No results found. Not everything could be searched") ||
		!strings.Contains(
			returns[2],
			"The windmill stands still.",
		) || !strings.Contains(returns[2], `"partial":true`) || !strings.Contains(returns[3], "Not everything could be searched") {
		t.Errorf("the tools returned %q", returns)
	}
	archive, _, err := h.store.Archives().OfAgent(t.Context(), a.ID)
	if err != nil || archive.Passages != 2 {
		t.Errorf("%d passages are kept: %v", archive.Passages, err)
	}
}
