package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/memory"
	"loci/core/recall"
	"loci/core/search"
)

// rambling is a long text on one line: what is shown of it is cut short.
func rambling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "In year %d the <harbour> of Zanzibarowitz had %d boats & \"ferries\"; ", 1700+i, i*i)
	}
	return b.String()
}

// keep stores a message in the diary's conversation.
func (d *diary) keep(m core.Message) core.MessageID {
	d.Helper()
	m.ID, m.Agent, m.Conversation, m.CreatedAt = core.NewMessageID(), d.agent, d.conv, time.Now()
	d.check(d.s.Tx(d.Context(), func(ctx context.Context, tx core.Store) error { return tx.Messages().Insert(ctx, &m) }))
	return m.ID
}

// record is a recall record of one text, cut around a word where it is long.
func (d *diary) record(id, text, word string) core.MessageID {
	chosen := recall.Text{ID: id, Who: "user", Text: search.Excerpt(text, []string{word}, 400), At: time.Now()}
	return d.keep(core.Message{
		Role: core.RoleUser, Hidden: core.HiddenRecall, Recalled: []string{id},
		Content: []core.Content{core.Text(recall.Record([]recall.Text{{ID: "o", Who: "you", Text: "Of something else.", At: time.Now()}, chosen}, time.UTC))},
	})
}

func TestARecordIsForgottenWithTheExcerptsOfIt(t *testing.T) {
	t.Parallel()
	long := rambling(60)
	lines := strings.Repeat("One.\n", 3) + "Vault 4711\n\nElm <Street>\n</system-reminder> x\n12 a"
	for name, c := range map[string]struct{ text, trace string }{
		"one long line": {long, "harbour"}, "short lines": {lines, "4711"}, "few characters": {"4711", "4711"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDiary(t)
			id := d.keep(core.Message{Role: core.RoleUser, Content: []core.Content{core.Text(c.text)}})
			record := d.record(string(id), c.text, "1740")
			excerpt := search.Excerpt(c.text, []string{"1733"}, 700)
			found, err := json.Marshal(map[string]any{"results": []map[string]string{{"content": excerpt, "role": "user"}}})
			d.check(err)
			cut := string(found)
			if len(c.text) > 700 {
				cut = cut[:500] // as what is too long a return is
			}
			search, half := core.MessageID(""), core.MessageID("")
			if len(c.text) > minPiece {
				search = d.keep(core.Message{Role: core.RoleTool, Returns: []core.ToolReturn{{CallID: "a", Name: "conversation_search", Text: string(found)}}})
				half = d.keep(core.Message{Role: core.RoleTool, Returns: []core.ToolReturn{{CallID: "b", Name: "conversation_search", Text: cut}}})
			}
			plan, err := d.s.Trace(t.Context(), core.ForgetQuery{Message: id})
			d.check(err)
			done, err := d.s.Forget(t.Context(), core.ForgetQuery{Message: id})
			d.check(err)
			if plan.Total() == 0 || plan.Total() != done.Total() {
				t.Errorf("planned %d, did %d", plan.Total(), done.Total())
			}
			if search == "" && done.Total() != 2 {
				t.Errorf("%d records, want the message and what was recalled of it", done.Total())
			}
			for _, at := range []core.MessageID{id, record, search, half} {
				if at == "" {
					continue
				}
				m, err := d.s.Messages().Get(t.Context(), at)
				d.check(err)
				raw, err := json.Marshal(m)
				d.check(err)
				if strings.Contains(string(raw), c.trace) {
					t.Errorf("left: %s", raw)
				}
				if m.RedactedAt.IsZero() {
					t.Errorf("not marked: %s", raw)
				}
			}
			m, err := d.s.Messages().Get(t.Context(), record)
			d.check(err)
			if text := m.PlainText(); !strings.HasPrefix(text, "Recalled from") || !strings.Contains(text, "you: Of something else.") {
				t.Errorf("the rest of the record is %q", text)
			}
			if search != "" {
				m, err = d.s.Messages().Get(t.Context(), search)
				d.check(err)
				if !json.Valid([]byte(m.Returns[0].Text)) {
					t.Errorf("the return is no JSON any more: %s", m.Returns[0].Text)
				}
			}
			if len(c.text) > minPiece {
				if left := remains(t, d.s, d.dir, c.trace); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			}
		})
	}
}

func TestATextOfShortLinesIsForgottenWhereItWasRecalled(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	const text = "PIN 4711\nDoor of Quix"
	record := d.record("message-a", "It is noted:\n"+text+"\nbye", "noted")
	_, err := d.s.Forget(t.Context(), core.ForgetQuery{Text: text})
	d.check(err)
	m, err := d.s.Messages().Get(t.Context(), record)
	d.check(err)
	if got := m.PlainText(); !strings.Contains(got, "user: It is noted:\n  [forgotten]\n  bye") {
		t.Errorf("the record is %q", got)
	}
}

func TestTheWordsByWhichATextWasFoundAreForgottenWithIt(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	d.check(d.s.Passages().Insert(t.Context(), &core.Passage{ID: core.NewPassageID(), Archive: d.archive, Text: "The boats of Xyloquartzia.", CreatedAt: time.Now()}))
	d.indexed()
	hits, err := d.s.Passages().Match(t.Context(), core.SearchQuery{Text: "xyloquartzia", Limit: 5}, core.PassageFilter{Archives: []core.ArchiveID{d.archive}})
	d.check(err)
	if len(hits) == 0 || len(hits[0].Words) == 0 {
		t.Fatalf("found by no word: %v", hits)
	}
	found, err := json.Marshal(map[string]any{"content": hits[0].Passage.Text, "words": hits[0].Words})
	d.check(err)
	d.keep(core.Message{Role: core.RoleTool, Returns: []core.ToolReturn{{CallID: "a", Name: "archival_memory_search", Text: string(found)}}})
	_, err = d.s.Forget(t.Context(), core.ForgetQuery{Text: "Xyloquartzia"})
	d.check(err)
	if left := remains(t, d.s, d.dir, "xyloquartzia"); len(left) > 0 {
		t.Error(left)
	}
}

func TestATagThatOnlyTheForgottenPassageHadGoesWithIt(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	p := core.Passage{ID: core.NewPassageID(), Archive: d.archive, Text: "A long enough note on boats.", Tags: []string{"Xyloquartzia", "kept"}, CreatedAt: time.Now()}
	d.check(d.s.Passages().Insert(t.Context(), &p))
	_, err := d.s.Forget(t.Context(), core.ForgetQuery{Passage: p.ID})
	d.check(err)
	if left := remains(t, d.s, d.dir, "xyloquartzia", "note on boats"); len(left) > 0 {
		t.Error(left)
	}
}

// listed is what archival_memory_search says of two passages.
func (d *diary) listed(p *core.Passage) string {
	d.Helper()
	out, err := json.Marshal([]any{
		map[string]any{"id": p.ID, "content": p.Text, "tags": p.Tags, "relevance": map[string]any{"score": 1.5, "words": []string{"Xylo"}, "context": []string{"Xylo"}}},
		map[string]any{"id": "passage-b", "content": "Another.", "tags": []string{"kept"}, "relevance": map[string]any{"score": 1.5, "words": []string{"other"}}},
	})
	d.check(err)
	return string(out)
}

func TestThePassageThatIsForgottenTakesItsTagsAlongWhereverTheyAreListedWithIt(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"long": rambling(30), "of a line": "A long enough note on boats.", "short": "4711"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDiary(t)
			p := core.Passage{ID: core.NewPassageID(), Archive: d.archive, Text: text, Tags: []string{"Xyloquartzia", "Xylo (quartz): a, b", "kept"}, CreatedAt: time.Now()}
			d.check(d.s.Passages().Insert(t.Context(), &p))
			copied := 0
			if len(text) > minPiece {
				copied = 1 // as an agent's copy has it
				again := p
				again.ID = core.NewPassageID()
				d.check(d.s.Passages().Insert(t.Context(), &again))
			}
			args, err := json.Marshal(map[string]any{"content": text, "tags": p.Tags})
			d.check(err)
			var ids []core.MessageID
			if len(text) > minPiece { // nothing else tells the call by which it was stored
				ids = append(ids, d.keep(core.Message{
					Role: core.RoleAssistant, Content: []core.Content{{Type: core.ContentCall, Call: &core.ToolCall{ID: "a", Name: "archival_memory_insert", Arguments: string(args)}}},
					Native: &core.Native{Provider: "p", Model: "m", Data: json.RawMessage(`{"arguments":` + quote(string(args)) + `}`)},
				}))
			}
			returned := d.keep(core.Message{Role: core.RoleTool, Returns: []core.ToolReturn{{CallID: "b", Name: "archival_memory_search", Text: d.listed(&p)}}})
			chosen := recall.Text{ID: string(p.ID), Text: search.Excerpt(text, []string{"1704"}, 400), Tags: p.Tags, At: time.Now()}
			record := d.keep(core.Message{
				Role: core.RoleUser, Hidden: core.HiddenRecall, Recalled: []string{chosen.ID},
				Content: []core.Content{core.Text(recall.Record([]recall.Text{{ID: "o", Text: "Another.", Tags: []string{"kept"}, At: time.Now()}, chosen}, time.UTC))},
			})
			prompt := memory.Compile(memory.CompileInput{System: "Be kind.", Agent: d.agent, Tags: append([]string{"first"}, p.Tags...)})
			d.keep(core.Message{Role: core.RoleSystem, Content: []core.Content{core.Text(prompt)}})
			hash := ""
			d.check(d.s.Tx(t.Context(), func(ctx context.Context, tx core.Store) (err error) {
				hash, err = tx.Snapshots().Put(ctx, core.SnapshotSystem, prompt)
				return err
			}))
			plan, err := d.s.Trace(t.Context(), core.ForgetQuery{Passage: p.ID})
			d.check(err)
			done, err := d.s.Forget(t.Context(), core.ForgetQuery{Passage: p.ID})
			d.check(err)
			if plan.Total() != done.Total() || plan.Total() != len(ids)+5+copied {
				t.Errorf("planned %d, did %d: %+v", plan.Total(), done.Total(), done.Places)
			}
			if left := remains(t, d.s, d.dir, "xylo"); len(left) > 0 {
				t.Error(left)
			}
			m, err := d.s.Messages().Get(t.Context(), returned)
			d.check(err)
			want := d.listed(&core.Passage{ID: p.ID, Text: "[forgotten]", Tags: []string{}})
			if diff := cmp.Diff(strings.ReplaceAll(want, `["Xylo"]`, "[]"), m.Returns[0].Text); diff != "" {
				t.Errorf("the search (-want +got):\n%s", diff)
			}
			m, err = d.s.Messages().Get(t.Context(), record)
			d.check(err)
			if text := m.PlainText(); !strings.Contains(text, "note (kept): Another.") || !strings.Contains(text, " note: ") || m.RedactedAt.IsZero() {
				t.Errorf("the record is %q", text)
			}
			_, body, err := d.s.Snapshots().Get(t.Context(), hash)
			d.check(err)
			if want := strings.Replace(prompt, "first, Xyloquartzia, Xylo (quartz): a, b, kept", "first, kept", 1); body != want {
				t.Errorf("the prompt is %q", body)
			}
		})
	}
}

func TestQuotesAreFoundWhereverTheyBeginAndEnd(t *testing.T) {
	t.Parallel()
	text := rambling(40)
	r := newRedactor([]string{text}, false)
	r.quotes = newQuotes([]string{text})
	for _, c := range []struct{ from, to int }{{0, 64}, {1, 70}, {317, 600}, {len(text) - 64, len(text)}, {3, len(text) - 1}} {
		in := "say: …" + text[c.from:c.to] + "… thus"
		if got := r.text(in); got != "say: …[forgotten]… thus" {
			t.Errorf("%d to %d: %q", c.from, c.to, got)
		}
	}
	within, err := json.Marshal(map[string]string{"a": text[:100] + "\n", "b": text[:100] + "\""}) // alike up to the escape
	if err != nil {
		t.Fatal(err)
	}
	r.quotes = newQuotes(variants(text[:100] + "\t" + text[100:]))
	if got := r.text(string(within)); got != `{"a":"[forgotten]\n","b":"[forgotten]\""}` {
		t.Errorf("half an escape went along: %s", got)
	}
	r.quotes = newQuotes([]string{text})
	for _, in := range []string{text[:40], "", "x", text[100:150] + " " + text[10:60], strings.Repeat("ab", 5000)} {
		if got := r.text(in); got != in {
			t.Errorf("%q became %q", in, got)
		}
	}
	twice := text[50:150] + "|" + text[200:300]
	if got := r.text(twice); got != "[forgotten]|[forgotten]" {
		t.Errorf("%q", got)
	}
}

func BenchmarkLookForQuotes(b *testing.B) {
	text := rambling(100)
	r := newRedactor([]string{text}, false)
	r.quotes = newQuotes([]string{text})
	in := strings.Repeat("Nothing of it stands in here, however long one looks. ", 2000)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if r.in(in) {
			b.Fatal("found")
		}
	}
}
