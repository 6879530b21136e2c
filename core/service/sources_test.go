package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

// taught is an agent whose memory came partly from outside.
type taught struct {
	*Services
	t       *testing.T
	agent   core.Agent
	block   core.Block
	archive core.Archive
}

func newTaught(t *testing.T) *taught {
	t.Helper()
	s := newServices(t, nil)
	a, b := blockOf(t, s, "0")
	h := &taught{Services: s, t: t, agent: a, block: b, archive: core.Archive{ID: core.NewArchiveID(), Name: "a"}}
	h.ok(s.Agents.Store.Archives().Create(t.Context(), &h.archive))
	h.ok(s.Agents.Store.Archives().Attach(t.Context(), a.ID, h.archive.ID))
	return h
}

func (h *taught) ok(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// by is the agent that has read from a source, or without one a person.
func (h *taught) by(source string) core.Author {
	if source == "" {
		return core.Author{Kind: core.AuthorUser}
	}
	return core.Author{Kind: core.AuthorAgent, ID: string(h.agent.ID), Source: strings.TrimPrefix(source, "nothing")}
}

func (h *taught) write(text, source string) {
	h.t.Helper()
	b, err := h.Agents.Store.Blocks().Get(h.t.Context(), h.block.ID)
	h.ok(err)
	b.Value = text
	h.ok(h.Agents.Store.Blocks().Update(h.t.Context(), &b, h.by(source)))
}

func (h *taught) keep(text, source string) core.PassageID {
	h.t.Helper()
	p := core.Passage{
		ID: core.NewPassageID(), Archive: h.archive.ID, Text: text, Agent: h.agent.ID, Step: core.NewStepID(), Source: source,
		CreatedAt: time.Now(),
	}
	h.ok(h.Agents.Store.Passages().Insert(h.t.Context(), &p))
	return p.ID
}

func (h *taught) change(id core.PassageID, text, source string) {
	h.t.Helper()
	p, err := h.Agents.Store.Passages().Get(h.t.Context(), id)
	h.ok(err)
	p.Text = text
	h.ok(h.Agents.Store.Passages().Update(h.t.Context(), &p, h.by(source)))
}

// undo undoes what came after a source and says what became of each, the newest first.
func (h *taught) undo(source string, try bool) (said []string) {
	h.t.Helper()
	all, err := h.Sources.Undo(h.t.Context(), h.agent.ID, source, "client-x", try)
	h.ok(err)
	for _, one := range all {
		name := one.Label
		if one.Passage != "" {
			p, err := h.Agents.Store.Passages().Version(h.t.Context(), one.Passage, 1)
			h.ok(err)
			name = p.Text
		}
		said = append(said, fmt.Sprint(name, " ", one.Taken, " ", one.Gone, " ", one.Kept))
	}
	return said
}

func (h *taught) texts() (block string, passages []string) {
	h.t.Helper()
	b, err := h.Agents.Store.Blocks().Get(h.t.Context(), h.block.ID)
	h.ok(err)
	all, err := h.Agents.Store.Passages().List(h.t.Context(), core.PassageFilter{Archives: []core.ArchiveID{h.archive.ID}}, core.Page{})
	h.ok(err)
	for i := range all {
		passages = append(passages, all[i].Text)
	}
	return b.Value, passages
}

func (h *taught) want(block string, passages ...string) {
	h.t.Helper()
	b, ps := h.texts()
	if diff := cmp.Diff(passages, ps); b != block || diff != "" {
		h.t.Errorf("the block is %q, want %q; passages (-want +got):\n%s", b, block, diff)
	}
}

func TestWhatCameAfterASourceIsTakenBackTheNewestFirst(t *testing.T) {
	t.Parallel()
	h := newTaught(t)
	h.write("mine", "")
	h.write("one", "https://evil.example/a\nhttps://good.example/")
	h.write("two", "https://evil.example/b")
	old := h.keep("old", "")
	h.keep("new", "https://www.evil.example/c")
	h.keep("other", "https://good.example/")
	h.change(old, "changed", "https://evil.example/d?q")
	tried := h.undo("evil.example", true)
	h.want("two", "changed", "new", "other")
	got := h.undo("evil.example", false)
	want := []string{"old 1 false ", "new 1 true ", "human 2 false "}
	if diff := cmp.Diff(want, got) + cmp.Diff(want, tried); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	h.want("mine", "old", "other")
	if _, err := h.Sources.Undo(t.Context(), h.agent.ID, "evil.example", "", false); core.KindOf(err) != core.NotFound ||
		!strings.Contains(core.HintOf(err), "https://good.example/") {
		t.Errorf("once more: %v, %s", err, core.HintOf(err))
	}
	for _, text := range []string{"one", "two"} { // each is redone by itself
		if b, _, err := h.History.Redo(t.Context(), h.block.ID, 0, ""); err != nil || b.Value != text {
			t.Errorf("redone %q, %v", b.Value, err)
		}
	}
}

func TestWhatOthersChangedSinceIsNamedAndNotOverwritten(t *testing.T) {
	t.Parallel()
	h := newTaught(t)
	h.write("one", "https://evil.example/a")
	h.write("mine", "")
	h.write("two", "https://evil.example/b")
	id := h.keep("seen", "https://evil.example/a")
	h.change(id, "corrected", "")
	got := h.undo("https://evil.example/", false)
	want := []string{
		"seen 0 false version 1 stays, for a person changed it after that, in version 2",
		"human 1 false version 2 stays, for a person changed it after that, in version 3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	h.want("mine", "corrected")
	h.write("by itself", "nothing") // the agent, in a run that read nothing from outside
	if got := h.undo("evil.example", false); !strings.Contains(got[1], "human 0 false version 2 stays") {
		t.Errorf("then %q", got)
	}
	h.want("by itself", "corrected")
}

func TestASourceIsNamedExactlyByItsHostOrByWhatItBeginsWith(t *testing.T) {
	t.Parallel()
	const sources = "https://docs.example.org/a/b?c\nnode_modules/left-pad/README.md\nregistry.npmjs.org\nweb search by SearXNG"
	for wanted, is := range map[string]bool{
		"https://docs.example.org/a/b?c": true, "https://docs.example.org/a": true, "https://docs.example.org/": true,
		"docs.example.org": true, "EXAMPLE.ORG": true, "docs.example.org/a/b": true, "npmjs.org": true, "node_modules": true,
		"node_modules/left-pad/": true, "web search by SearXNG": true,
		"": false, "https://docs.example.org/a/bc": false, "ple.org": false, "example": false, "docs.example.org.evil": false,
		"node_mod": false, "left-pad": false, "\n": false, "http": false, "https": false, "https:": false, "https://": false,
		"org": false, "ORG": false, ".org": false, "/": false, "https://example.org": false, "://": false, "web search": true,
	} {
		if which := core.CameAfter(sources, wanted); len(which) > 0 != is {
			t.Errorf("%q: %v", wanted, !is)
		}
	}
}
