package tools_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

// keptID returns the id that an insert of the terminal's agent names.
func (h *home) keptID(r core.ToolResult) core.PassageID {
	h.t.Helper()
	id, ok := strings.CutPrefix(r.Text, "Kept as ")
	if id, _, _ = strings.Cut(id, "."); !ok || !core.ValidID("passage", id) {
		h.t.Fatalf("the return names no passage: %q", r.Text)
	}
	return core.PassageID(id)
}

// texts returns what the archive holds.
func (h *home) texts() (out []string) {
	h.t.Helper()
	list, err := h.store.Passages().List(h.t.Context(), core.PassageFilter{}, core.Page{})
	h.must(err)
	for _, p := range list {
		out = append(out, p.Text)
	}
	return out
}

func terminalHome(t *testing.T) *home {
	t.Helper()
	h := newHome(t)
	h.env.Agent.Terminal = true
	return h
}

func TestPassagesAreReplacedAndDeletedByTheirIDs(t *testing.T) {
	t.Parallel()
	h := terminalHome(t)
	id := h.keptID(h.do("archival_memory_insert", map[string]any{"content": "Ada works on compilers.", "tags": []string{"work"}}))
	other := h.keptID(h.do("archival_memory_insert", map[string]any{"content": "The ferry leaves at nine."}))
	if h.texts()[0] != "Ada works on compilers." || other == id {
		t.Fatal(h.texts())
	}
	h.env.Author.Step = "step-later"
	got := h.do("archival_memory_replace", map[string]any{"id": id, "content": "Ada works on databases."})
	if want := "Replaced " + string(id) + ", of 2026-11-23, which said: Ada works on compilers."; got.Text != want || got.IsError {
		t.Errorf("%+v, want %q", got, want)
	}
	p, err := h.store.Passages().Get(t.Context(), id)
	if err != nil || p.Text != "Ada works on databases." || !cmp.Equal(p.Tags, []string{"work"}) || p.Step != h.env.Step {
		t.Errorf("%+v, %v", p, err)
	}
	if found := h.do("archival_memory_search", map[string]any{"query": "compilers"}); found.Text != "No results found." {
		t.Errorf("the old text is found: %s", found.Text)
	}
	h.do("archival_memory_replace", map[string]any{"id": id, "content": "Ada works on databases.", "tags": []string{}})
	got = h.do("archival_memory_delete", map[string]any{"id": id})
	if want := "Deleted " + string(id) + ", of 2026-11-23, which said: Ada works on databases."; got.Text != want || got.IsError {
		t.Errorf("%+v, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"The ferry leaves at nine."}, h.texts()); diff != "" {
		t.Error(diff)
	}
	versions, err := h.store.Passages().Versions(t.Context(), id, core.Page{})
	if err != nil || len(versions) != 4 || !versions[0].Gone || versions[1].Tags != nil || versions[2].Author != h.env.Author {
		t.Errorf("%+v, %v", versions, err)
	}
}

func TestOnlyPassagesOfTheAgentsOwnArchiveAreChanged(t *testing.T) {
	t.Parallel()
	h := terminalHome(t)
	ctx := t.Context()
	archive := core.Archive{ID: core.NewArchiveID(), Name: "another's"}
	theirs := core.Passage{ID: core.NewPassageID(), Archive: archive.ID, Text: "theirs"}
	h.must(h.store.Archives().Create(ctx, &archive))
	h.must(h.store.Passages().Insert(ctx, &theirs))
	id := h.keptID(h.do("archival_memory_insert", map[string]any{"content": "mine"}))
	for _, tt := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"archival_memory_delete", map[string]any{"id": theirs.ID}, "has no passage " + string(theirs.ID)},
		{"archival_memory_replace", map[string]any{"id": theirs.ID, "content": "x"}, "has no passage " + string(theirs.ID)},
		{"archival_memory_delete", map[string]any{"id": core.NewPassageID()}, "has no passage"},
		{"archival_memory_delete", map[string]any{"id": strings.Repeat("1", 5000)}, "is not the id of a passage"},
		{"archival_memory_replace", map[string]any{"id": id, "content": " "}, "use archival_memory_delete"},
		{"archival_memory_replace", map[string]any{"id": id, "content": strings.Repeat("x", core.MaxPassageChars+1)}, "32000 that fit"},
		{"archival_memory_replace", map[string]any{"id": id, "content": "x", "tags": []string{"t"}}, ""},
	} {
		got := h.do(tt.tool, tt.args)
		if got.IsError != (tt.want != "") || !strings.Contains(got.Text, tt.want) || len(got.Text) > 400 {
			t.Errorf("%s %v: %+v", tt.tool, tt.args, got)
		}
	}
	if diff := cmp.Diff([]string{"theirs", "x"}, h.texts()); diff != "" {
		t.Error(diff)
	}
}

func TestAnInsertTellsWhatIsSimilarAlready(t *testing.T) {
	t.Parallel()
	h := terminalHome(t)
	insert := func(text string) core.ToolResult {
		return h.call("archival_memory_insert", map[string]any{"content": text})
	}
	starter := "The sourdough starter is named Klaus. Feed him equal parts of rye and water, keep him at 24 degrees."
	first := h.keptID(h.apply(insert(starter))[0])
	h.env.Now = h.env.Now.Add(48 * time.Hour)
	long := "Klaus, the sourdough starter, is kept at 21 degrees and fed equal parts of rye and water. " +
		strings.Repeat("Rye is good. ", 40)
	for _, tt := range []struct{ text, told string }{
		{"Rye flour is cheapest at the mill in Ahrensburg.", ""},
		{long, "\nSimilar to " + string(first) + ", of 2026-11-23: " + starter},
	} {
		got := h.apply(insert(tt.text))[0]
		if want := "Kept as " + string(h.keptID(got)) + "." + tt.told; got.Text != want || got.IsError {
			t.Errorf("%q, want %q", got.Text, want)
		}
	}
	// What changes between the call and the save counts: one that is gone, or says something else by then, is not told.
	late := insert(starter)
	h.do("archival_memory_delete", map[string]any{"id": first})
	if got := h.apply(late)[0].Text; strings.Contains(got, string(first)) || !strings.Contains(got, "of 2026-11-25: Klaus, the") {
		t.Errorf("%q", got)
	}
	if got := h.apply(insert(starter))[0].Text; len(got) > 2*400 || strings.Count(got, "Similar to") != 2 {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestAReplacementTellsWhatOtherPassageIsSimilar(t *testing.T) {
	t.Parallel()
	h := terminalHome(t)
	keep := func(text string) core.PassageID {
		return h.keptID(h.do("archival_memory_insert", map[string]any{"content": text}))
	}
	graz, ferry := keep("Berta studies medicine in Graz."), keep("The ferry leaves at nine.")
	replace := func(id core.PassageID, text string) core.ToolResult {
		return h.call("archival_memory_replace", map[string]any{"id": id, "content": text})
	}
	got := h.apply(replace(ferry, "Berta studies medicine in Vienna."))[0].Text
	want := "Replaced " + string(ferry) + ", of 2026-11-23, which said: The ferry leaves at nine." +
		"\nSimilar to " + string(graz) + ", of 2026-11-23: Berta studies medicine in Graz."
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	h.do("archival_memory_delete", map[string]any{"id": graz})
	if got := h.apply(replace(ferry, "Berta studies medicine in Linz."))[0].Text; strings.Contains(got, "Similar") {
		t.Errorf("similar to itself: %q", got)
	}
	first := h.call("archival_memory_insert", map[string]any{"content": "Carl plays the oboe on Mondays."})
	h.env.Kept = append(h.env.Kept, first.Keeps...)
	both := h.apply(first, replace(ferry, "Carl plays the oboe on Tuesdays."))
	if want := "\nSimilar to " + string(h.keptID(both[0])) + ", of"; !strings.Contains(both[1].Text, want) {
		t.Errorf("%q, want %q in it", both[1].Text, want)
	}
	h.env.Kept, h.env.Agent.Terminal = nil, false
	if got := h.apply(replace(ferry, "Carl plays the oboe on Fridays."))[0].Text; strings.Contains(got, "Similar") {
		t.Errorf("an agent of the API reads %q", got)
	}
}

func TestAnInsertTellsWhatEarlierCallsOfTheResponseKeep(t *testing.T) {
	t.Parallel()
	h := terminalHome(t)
	a := h.call("archival_memory_insert", map[string]any{"content": "Berta studies medicine in Graz."})
	h.env.Kept = append(h.env.Kept, a.Keeps...)
	b := h.call("archival_memory_insert", map[string]any{"content": "Berta studies medicine in Vienna."})
	got := h.apply(a, b)
	want := "\nSimilar to " + string(h.keptID(got[0])) + ", of 2026-11-23: Berta studies medicine in Graz."
	if !strings.HasSuffix(got[1].Text, want) {
		t.Errorf("%q, want %q", got[1].Text, want)
	}
}

func TestAnAgentOfTheAPIReadsTheReferencesReturn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for range 2 {
		if got := h.do("archival_memory_insert", map[string]any{"content": "Ada works on compilers."}); got.Text != "None" || got.IsError {
			t.Errorf("%+v", got)
		}
	}
}
