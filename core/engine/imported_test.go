package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"loci/core"
)

// imported gives an agent a second conversation that begins with turns of two messages each.
func (h *house) imported(a core.Agent, turns int) core.ConversationID {
	h.t.Helper()
	first := make([]core.Message, 0, 2*turns)
	for i := range turns {
		for _, role := range []core.Role{core.RoleUser, core.RoleAssistant} {
			text := fmt.Sprintf("imported %s message %d, as long as people write", role, i)
			first = append(first, core.Message{Role: role, Content: []core.Content{core.Text(text)}})
		}
	}
	conv := core.Conversation{ID: core.NewConversationID(), Agent: a.ID}
	if err := h.store.Tx(
		h.t.Context(),
		func(ctx context.Context, tx core.Store) error { return h.engine.Prompts().Begin(ctx, tx, &conv, first) },
	); err != nil {
		h.t.Fatal(err)
	}
	return conv.ID
}

func (h *house) sendTo(a core.Agent, conv core.ConversationID, text string) (core.Run, []core.Event) {
	h.t.Helper()
	req := h.request(a, text)
	req.Conversation = conv
	return h.submit(req)
}

func (h *house) window(conv core.ConversationID) []core.InContext {
	h.t.Helper()
	rows, err := h.store.Messages().Context(h.t.Context(), conv)
	if err != nil {
		h.t.Fatal(err)
	}
	return rows
}

func TestOfAnImportedHistoryOnlyWhatFitsStandsInTheWindow(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	h.engine.Prompts().NoteWindow("openai/gpt-test", 8_000)
	h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: 8_000, Tools: true, CacheTTL: 5 * time.Minute}
	a := h.agent(nil)
	const turns = 500
	conv := h.imported(a, turns)
	rows := h.window(conv)
	var marker *core.Message
	tokens, said := 0, 0
	for _, r := range rows[1:] {
		tokens += r.Message.Tokens
		if r.Message.Hidden == core.HiddenMarker {
			marker = &r.Message
			continue
		}
		said++
	}
	if first := rows[1].Message; first.Role != core.RoleUser || said%2 != 0 || said == 0 || tokens > 8_000*6/10 {
		t.Fatalf("%d messages of %d tokens stay, the first one of the %s", said, tokens, first.Role)
	}
	if want := fmt.Sprint(2*turns - said); marker == nil || marker.Name != want || !strings.Contains(marker.PlainText(), want) {
		t.Fatalf("the marker is %+v, want %s", marker, want)
	}
	all, err := h.store.Messages().List(t.Context(), core.MessageFilter{Conversation: conv}, core.Page{Limit: 3 * turns})
	if err != nil || len(all) != 2*turns+1 {
		t.Errorf("%d messages are listed: %v", len(all), err)
	}
	run, events := h.sendTo(a, conv, "What did I say?")
	for _, e := range events {
		if n, ok := e.Body.(core.Notice); ok && n.Kind == "evicted" {
			t.Errorf("the first message evicts: %s", n.Text)
		}
	}
	sent := h.model.requests[0]
	if got := len(sent.Messages); got != said+2 { // the marker and the question
		t.Errorf("%d messages are sent, of %d", got, said)
	}
	again, err := h.past().Reproduce(t.Context(), h.firstStep(run).ID)
	if err != nil || fmt.Sprint(again.Messages) != fmt.Sprint(sent.Messages) {
		t.Errorf("reproduced %d messages: %v", len(again.Messages), err)
	}
}

func TestAnImportedHistoryThatFitsStandsInTheWindowWhole(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	h.engine.Prompts().NoteWindow("openai/gpt-test", 128_000)
	if got := len(h.window(h.imported(h.agent(nil), 500))); got != 1001 {
		t.Errorf("%d rows", got)
	}
}

func TestALongTurnThatWasImportedStays(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.agent(func(a *core.Agent) { a.Settings.ContextWindow = 4_000 })
	conv := core.Conversation{ID: core.NewConversationID(), Agent: a.ID}
	first := []core.Message{
		{Role: core.RoleUser, Content: []core.Content{core.Text("one")}},
		{Role: core.RoleAssistant, Content: []core.Content{core.Text("two")}},
		{Role: core.RoleUser, Content: []core.Content{core.Text(strings.Repeat("three ", 4_000))}},
	}
	if err := h.store.Tx(
		t.Context(),
		func(ctx context.Context, tx core.Store) error { return h.engine.Prompts().Begin(ctx, tx, &conv, first) },
	); err != nil {
		t.Fatal(err)
	}
	if rows := h.window(conv.ID); len(rows) != 3 || rows[1].Message.ID != first[2].ID {
		t.Errorf("%d rows stay", len(rows))
	}
}

// BenchmarkFirstMessageAfterAnImport measures the first message behind an imported history, and the import.
func BenchmarkFirstMessageAfterAnImport(b *testing.B) {
	for _, n := range []int{1_000, 20_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := open(b, func(int, core.ChatRequest) turn { return say("ok") })
			a := h.agent(nil)
			var begin, send time.Duration
			for b.Loop() {
				start := time.Now()
				conv := h.imported(a, n/2)
				begin += time.Since(start)
				start = time.Now()
				h.sendTo(a, conv, "hello")
				send += time.Since(start)
			}
			b.ReportMetric(float64(send.Milliseconds())/float64(b.N), "first-ms")
			b.ReportMetric(float64(begin.Milliseconds())/float64(b.N), "import-ms")
		})
	}
}
