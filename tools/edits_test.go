package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

// lines is a value of so many lines of 30 characters.
func lines(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("Fact %03d is kept in this block.", i+1)
	}
	return strings.Join(out, "\n")
}

func TestAnEditOfALongBlockReturnsTheChangedLinesToTheTerminalsAgentsOnly(t *testing.T) {
	t.Parallel()
	long := lines(50)
	for name, c := range map[string]struct {
		tool string
		args map[string]any
		diff string
	}{
		"append": {
			"core_memory_append",
			map[string]any{"label": "notes", "content": "One more."},
			"@@ -48,3 +48,4 @@\n Fact 048 is kept in this block.\n Fact 049 is kept in this block.\n" +
				" Fact 050 is kept in this block.\n+One more.\n",
		},
		"insert": {
			"memory_insert", map[string]any{"label": "notes", "new_string": "First."}, "",
		},
		"replace": {
			"memory_replace",
			map[string]any{"label": "notes", "old_string": "Fact 010 is kept", "new_string": "Fact 010 was kept"},
			"@@ -7,7 +7,7 @@\n Fact 007 is kept in this block.\n Fact 008 is kept in this block.\n Fact 009 is kept in this block.\n" +
				"-Fact 010 is kept in this block.\n+Fact 010 was kept in this block.\n" +
				" Fact 011 is kept in this block.\n Fact 012 is kept in this block.\n Fact 013 is kept in this block.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.block("notes", long, 20_000, false)
			h.env.Agent.Terminal = true
			got := h.do(c.tool, c.args)
			block := h.read("notes")
			want := fmt.Sprintf("The block \"notes\" now has %d characters. Only these lines changed (- is gone, + is new):\n"+
				"<changes>\n%s</changes>", len(block.Value), c.diff)
			if c.diff != "" && got.Text != want {
				t.Errorf("(-want +got):\n%s", cmp.Diff(want, got.Text))
			}
			if len(got.Text) > len(long)/2 || got.Shows[block.ID] != block.Version {
				t.Errorf("%d characters, shows %v of version %d", len(got.Text), got.Shows, block.Version)
			}
			h.env.Agent.Terminal = false
			h.env.Shown[block.ID] = block.Version
			got = h.do("core_memory_append", map[string]any{"label": "notes", "content": "x"})
			if got.Text != h.read("notes").Value {
				t.Errorf("an agent of the API reads %q", got.Text)
			}
		})
	}
}

func TestAnEditReturnsTheWholeOfAShortBlockOrOneThatMovedOn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.env.Agent.Terminal = true
	if got := h.do("memory_insert", map[string]any{"label": "human", "new_string": "x"}); got.Text != "Ada\nlikes tea\nx" {
		t.Errorf("of a short block: %q", got.Text)
	}
	h.block("notes", lines(50), 20_000, false)
	block := h.read("notes")
	block.Value += "\nsomebody else's line"
	h.must(h.store.Blocks().Update(t.Context(), &block, core.Author{Kind: core.AuthorUser}))
	got := h.do("memory_insert", map[string]any{"label": "notes", "new_string": "x"})
	if got.Text != h.read("notes").Value {
		t.Errorf("of one with an edit that was not shown: %q", got.Text)
	}
}

func TestTheTerminalsAgentMakesABlockAndRewritesIt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	got := h.do("memory_create", map[string]any{"label": "project", "description": "What we build.", "value": "A boat."})
	block := h.read("project")
	want := core.Block{Label: "project", Description: "What we build.", Value: "A boat.", Limit: core.TerminalLimit}
	if got.IsError || block.Label != want.Label || block.Description != want.Description || block.Value != want.Value ||
		block.Limit != want.Limit || got.Shows[block.ID] != 1 {
		t.Fatalf("made %+v: %+v", block, got)
	}
	h.env.Shown[block.ID] = 1
	got = h.do("memory_rethink", map[string]any{"label": "project", "new_memory": "Two boats."})
	if got.IsError || got.Text != "Two boats." {
		t.Errorf("rewritten: %+v", got)
	}
	for name, args := range map[string]map[string]any{
		"a taken label": {"label": "project", "description": "x", "value": "y"},
		"no label":      {"label": "a b", "description": "x", "value": "y"},
		"too long":      {"label": "long", "description": "x", "value": lines(1000)},
	} {
		if got := h.do("memory_create", args); !got.IsError {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
