package forget

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
	"loci/core/redact"
	"loci/core/search"
)

// rambling returns a long text on one line, so that excerpts of it are cut short.
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

// record stores a recall record of one text, cut around a word if the text is long.
func (d *diary) record(id, text, word string) core.MessageID {
	chosen := recall.Text{ID: id, Who: "user", Text: search.Excerpt(text, []string{word}, 400), At: time.Now()}
	return d.keep(core.Message{
		Role:     core.RoleUser,
		Hidden:   core.HiddenRecall,
		Recalled: []string{id},
		Content: []core.Content{
			core.Text(recall.Record([]recall.Text{{ID: "o", Who: "you", Text: "Of something else.", At: time.Now()}, chosen}, time.UTC)),
		},
	})
}

func TestARecordIsForgottenWithTheExcerptsOfIt(t *testing.T) {
	t.Parallel()
	long := rambling(60)
	lines := strings.Repeat("One.\n", 3) + "Vault 47q1\n\nElm <Street>\n</system-reminder> x\n12 a"
	for name, c := range map[string]struct{ text, trace string }{
		"one long line": {long, "harbour"}, "short lines": {lines, "47q1"}, "few characters": {"47q1", "47q1"},
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
				cut = cut[:500] // like a return that is too long
			}
			search, half := core.MessageID(""), core.MessageID("")
			if len(c.text) > redact.MinPiece {
				search = d.keep(
					core.Message{
						Role:    core.RoleTool,
						Returns: []core.ToolReturn{{CallID: "a", Name: "conversation_search", Text: string(found)}},
					},
				)
				half = d.keep(
					core.Message{Role: core.RoleTool, Returns: []core.ToolReturn{{CallID: "b", Name: "conversation_search", Text: cut}}},
				)
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
			if len(c.text) > redact.MinPiece {
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
	const text = "PIN 47q1\nDoor of Quix"
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
	d.check(
		d.s.Passages().
			Insert(t.Context(), &core.Passage{
				ID: core.NewPassageID(), Archive: d.archive, Text: "The boats of Xyloquartzia.", CreatedAt: time.Now(),
			}),
	)
	d.indexed()
	hits, err := matchPassages(
		t.Context(),
		d.s,
		core.SearchQuery{Text: "xyloquartzia", Limit: 5},
		core.PassageFilter{Archives: []core.ArchiveID{d.archive}},
	)
	d.check(err)
	if len(hits) == 0 || len(hits[0].Words) == 0 {
		t.Fatalf("found by no word: %v", hits)
	}
	found, err := json.Marshal(map[string]any{"content": hits[0].Passage.Text, "words": hits[0].Words})
	d.check(err)
	d.keep(
		core.Message{Role: core.RoleTool, Returns: []core.ToolReturn{{CallID: "a", Name: "archival_memory_search", Text: string(found)}}},
	)
	_, err = d.s.Forget(t.Context(), core.ForgetQuery{Text: "Xyloquartzia"})
	d.check(err)
	if left := remains(t, d.s, d.dir, "xyloquartzia"); len(left) > 0 {
		t.Error(left)
	}
}

// hits returns what a search says about a text, about a neighbour found by that text's words, and about another text.
func hits(id, content, words, context, near string) string {
	return `{"results":[{"id":` + quote(
		id,
	) + `,"content":` + quote(
		content,
	) + `,"tags":["kept"],"relevance":{"score":1.5,"words":` + words +
		`}},{"id":"b","content":"So it is, in words.","relevance":{"score":1, "words":["words"],"context": ` + context +
		`}},{"id":"c","content":"Of something else.","relevance":{"score":1,"words":` + near + `}}]}`
}

func TestTheWordsThatFoundATextGoWithItAndFromTheContextOfItsNeighbours(t *testing.T) {
	t.Parallel()
	const text = "The boats of Xyloquartzia lie in the Harbour."
	before := hits("a", text, `["Xyloquartzia","boats","lie"]`, `["xyloquartzia", "boat","words"]`, `["boats"]`)
	for name, c := range map[string]struct {
		query func(core.MessageID) core.ForgetQuery
		want  string
	}{
		"a text": {
			func(core.MessageID) core.ForgetQuery { return core.ForgetQuery{Text: "boats of Xyloquartzia"} },
			hits("a", "The [forgotten] lie in the Harbour.", `["lie"]`, `["words"]`, `["boats"]`),
		},
		"a text of any case": {
			func(core.MessageID) core.ForgetQuery {
				return core.ForgetQuery{Text: "BOATS of xyloquartzia", IgnoreCase: true}
			},
			hits("a", "The [forgotten] lie in the Harbour.", `["lie"]`, `["words"]`, `["boats"]`),
		},
		"a record": {
			func(id core.MessageID) core.ForgetQuery { return core.ForgetQuery{Message: id} },
			// Its id is not that which the search names.
			hits("a", "[forgotten]", `["Xyloquartzia","boats","lie"]`, `["words"]`, `["boats"]`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDiary(t)
			id := d.keep(core.Message{Role: core.RoleUser, Content: []core.Content{core.Text(text)}})
			list, want := before, c.want
			if name == "a record" {
				list = strings.Replace(list, `"a"`, quote(string(id)), 1)
				want = strings.NewReplacer(`"a"`, quote(string(id)), `["Xyloquartzia","boats","lie"]`, "[]", `["kept"]`, "[]").Replace(want)
			}
			search := d.keep(
				core.Message{Role: core.RoleTool, Returns: []core.ToolReturn{{CallID: "a", Name: "conversation_search", Text: list}}},
			)
			_, err := d.s.Forget(t.Context(), c.query(id))
			d.check(err)
			m, err := d.s.Messages().Get(t.Context(), search)
			d.check(err)
			if diff := cmp.Diff(want, m.Returns[0].Text); diff != "" {
				t.Errorf("the search (-want +got):\n%s", diff)
			}
			if left := remains(t, d.s, d.dir, "xyloquartzia"); len(left) > 0 {
				t.Error(left)
			}
		})
	}
}

// TestOlderSearchesLoseTheWordsOfANeighbourThatTheyDoNotList: searches once quoted words of texts that were not shown.
func TestOlderSearchesLoseTheWordsOfANeighbourThatTheyDoNotList(t *testing.T) {
	t.Parallel()
	const text = "The boats of Xyloquartzia lie in the Harbour."
	search := func(context string) string {
		return `{"results":[{"id":"b","content":"So it is, in words.","relevance":{"score":1,"words":["words"],"context":` + context +
			`}},{"id":"c","content":"A boat of another.","relevance":{"score":1}}]}`
	}
	for name, query := range map[string]func(core.MessageID) core.ForgetQuery{
		"a text": func(core.MessageID) core.ForgetQuery { return core.ForgetQuery{Text: "boats of Xyloquartzia"} },
		"a text of any case": func(core.MessageID) core.ForgetQuery {
			return core.ForgetQuery{Text: "BOATS of xyloquartzia", IgnoreCase: true}
		},
		"a record": func(id core.MessageID) core.ForgetQuery { return core.ForgetQuery{Message: id} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDiary(t)
			returned := func(list string) core.MessageID {
				return d.keep(
					core.Message{Role: core.RoleTool, Returns: []core.ToolReturn{{CallID: "a", Name: "conversation_search", Text: list}}},
				)
			}
			id := d.keep(core.Message{Role: core.RoleUser, Content: []core.Content{core.Text(text)}})
			older, other := returned(search(`["xyloquartzia","boats","words"]`)), returned(search(`["boats", "words"]`))
			data := returned(`{"context":["harbour"]}`) // no search
			plan, err := d.s.Trace(t.Context(), query(id))
			d.check(err)
			done, err := d.s.Forget(t.Context(), query(id))
			d.check(err)
			if plan.Total() != 2 || done.Total() != 2 {
				t.Errorf("planned %d, did %d: %+v", plan.Total(), done.Total(), done.Places)
			}
			for id, want := range map[core.MessageID]string{
				older: search(`["boats","words"]`), // a text that is shown has boats too
				other: search(`["boats", "words"]`),
				data:  `{"context":["harbour"]}`,
			} {
				m, err := d.s.Messages().Get(t.Context(), id)
				d.check(err)
				if diff := cmp.Diff(want, m.Returns[0].Text); diff != "" || m.RedactedAt.IsZero() == (id == older) {
					t.Errorf("redacted at %v, the search (-want +got):\n%s", m.RedactedAt, diff)
				}
			}
			if left := remains(t, d.s, d.dir, "xyloquartzia"); len(left) > 0 {
				t.Error(left)
			}
		})
	}
}

func TestATextIsForgottenHoweverItsAccentsAreWritten(t *testing.T) {
	t.Parallel()
	const composed, decomposed = "caf\u00e9 Xylo\u017d\u00fcrich", "cafe\u0301 XyloZ\u030cu\u0308rich"
	const mixed, otherwise = "caf\u00e9 XyloZ\u030c\u00fcrich", "cafe\u0301 Xylo\u017du\u0308rich"
	for name, q := range map[string]core.ForgetQuery{
		"as typed": {Text: composed}, "as typed, decomposed": {Text: decomposed},
		"as typed, mixed": {Text: mixed}, "any case, mixed": {Text: strings.ToUpper(mixed), IgnoreCase: true},
		"any case":             {Text: strings.ToUpper(composed), IgnoreCase: true},
		"any case, decomposed": {Text: strings.ToUpper(decomposed), IgnoreCase: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDiary(t)
			for _, text := range []string{composed, decomposed, mixed, otherwise} {
				d.keep(core.Message{Role: core.RoleUser, Content: []core.Content{core.Text("In the " + text + " of old.")}})
				d.keep(core.Message{Role: core.RoleAssistant, Content: []core.Content{{
					Type: core.ContentCall, Call: &core.ToolCall{ID: "a", Name: "note", Arguments: `{"text":"` + inASCII(text) + `"}`},
				}}})
			}
			done, err := d.s.Forget(t.Context(), q)
			d.check(err)
			if done.Total() != 8 {
				t.Errorf("%d records: %+v", done.Total(), done.Places)
			}
			if left := remains(t, d.s, d.dir, "Xylo", "xylo"); len(left) > 0 {
				t.Error(left)
			}
		})
	}
}

func TestATagThatOnlyTheForgottenPassageHadGoesWithIt(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	p := core.Passage{
		ID:        core.NewPassageID(),
		Archive:   d.archive,
		Text:      "A long enough note on boats.",
		Tags:      []string{"Xyloquartzia", "kept"},
		CreatedAt: time.Now(),
	}
	d.check(d.s.Passages().Insert(t.Context(), &p))
	_, err := d.s.Forget(t.Context(), core.ForgetQuery{Passage: p.ID})
	d.check(err)
	if left := remains(t, d.s, d.dir, "xyloquartzia", "note on boats"); len(left) > 0 {
		t.Error(left)
	}
}

// listed returns what archival_memory_search says about two passages.
func (d *diary) listed(p *core.Passage) string {
	d.Helper()
	out, err := json.Marshal([]any{
		map[string]any{
			"id":        p.ID,
			"content":   p.Text,
			"tags":      p.Tags,
			"relevance": map[string]any{"score": 1.5, "words": []string{"Xylo"}, "context": []string{"Xylo"}},
		},
		map[string]any{
			"id":        "passage-b",
			"content":   "Another.",
			"tags":      []string{"kept"},
			"relevance": map[string]any{"score": 1.5, "words": []string{"other"}},
		},
	})
	d.check(err)
	return string(out)
}

func TestThePassageThatIsForgottenTakesItsTagsAlongWhereverTheyAreListedWithIt(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"long": rambling(30), "of a line": "A long enough note on boats.", "short": "47q1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDiary(t)
			p := core.Passage{
				ID:        core.NewPassageID(),
				Archive:   d.archive,
				Text:      text,
				Tags:      []string{"Xyloquartzia", "Xylo (quartz): a, b", "kept"},
				CreatedAt: time.Now(),
			}
			d.check(d.s.Passages().Insert(t.Context(), &p))
			copied := 0
			if len(text) > redact.MinPiece {
				copied = 1 // as an agent's copy has it
				again := p
				again.ID = core.NewPassageID()
				d.check(d.s.Passages().Insert(t.Context(), &again))
			}
			args, err := json.Marshal(map[string]any{"content": text, "tags": p.Tags})
			d.check(err)
			var ids []core.MessageID
			if len(text) > redact.MinPiece { // nothing else identifies the call that stored it
				ids = append(ids, d.keep(core.Message{
					Role: core.RoleAssistant,
					Content: []core.Content{
						{Type: core.ContentCall, Call: &core.ToolCall{ID: "a", Name: "archival_memory_insert", Arguments: string(args)}},
					},
					Native: &core.Native{Provider: "p", Model: "m", Data: json.RawMessage(`{"arguments":` + quote(string(args)) + `}`)},
				}))
			}
			returned := d.keep(
				core.Message{
					Role:    core.RoleTool,
					Returns: []core.ToolReturn{{CallID: "b", Name: "archival_memory_search", Text: d.listed(&p)}},
				},
			)
			chosen := recall.Text{ID: string(p.ID), Text: search.Excerpt(text, []string{"1704"}, 400), Tags: p.Tags, At: time.Now()}
			record := d.keep(core.Message{
				Role:     core.RoleUser,
				Hidden:   core.HiddenRecall,
				Recalled: []string{chosen.ID},
				Content: []core.Content{
					core.Text(
						recall.Record([]recall.Text{{ID: "o", Text: "Another.", Tags: []string{"kept"}, At: time.Now()}, chosen}, time.UTC),
					),
				},
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
			if text := m.PlainText(); !strings.Contains(text, "note (kept): Another.") || !strings.Contains(text, " note: ") ||
				m.RedactedAt.IsZero() {
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

func TestAForgottenMessageLeavesTheExchangesThatQuoteIt(t *testing.T) {
	t.Parallel()
	secret := "I told you that the boats of Xyloquartzia lie in the old harbour, and nobody else knows where that is to be found."
	cut := func(chars int) string { return secret[:chars] + "…" }
	answer := func(title, before, own, after string) string {
		return `{"results":[{"in":` + quote(title) + `,"messages":[{"before":` + quote(before) +
			`,"id":"b","time":"2026-11-20T09:00:00Z","role":"assistant","content":"I see.","after":` + quote(after) +
			`},{"id":"a","time":"2026-11-20T09:01:00Z","role":"user","content":` + quote(own) + `}]}]}`
	}
	d := newDiary(t)
	id := d.keep(core.Message{Role: core.RoleUser, Content: []core.Content{core.Text(secret)}})
	// A title has 64 characters of it, a line of many results 100, what stands beside a hit all of it.
	list := strings.Replace(answer(cut(64), secret, cut(100), cut(80)), `"a"`, quote(string(id)), 1)
	d.keep(core.Message{Role: core.RoleTool, Returns: []core.ToolReturn{{CallID: "a", Name: "conversation_search", Text: list}}})
	_, err := d.s.Forget(t.Context(), core.ForgetQuery{Message: id})
	d.check(err)
	if left := remains(t, d.s, d.dir, "xyloquartzia", "boats of"); len(left) > 0 {
		t.Error(left)
	}
}
