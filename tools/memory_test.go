package tools_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

func TestMemoryIsRewrittenPatchedAndRenamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool string
		args map[string]any
		text string // of the return; empty: the value
		want string // the value of human
	}{
		"rethink": {"memory_rethink", map[string]any{"label": "human", "new_memory": "Ada, of Leipzig"}, "", "Ada, of Leipzig"},
		"patch": {
			"memory_apply_patch", map[string]any{"label": "human", "patch": " Ada\n-likes tea\n+likes coffee"}, "", "Ada\nlikes coffee",
		},
		"str_replace": {
			"memory",
			map[string]any{"command": "str_replace", "path": "/memories/human", "old_string": "tea", "new_string": "coffee"},
			"",
			"Ada\nlikes coffee",
		},
		"removing": {"memory", map[string]any{"command": "str_replace", "path": "human", "old_string": "\nlikes tea"}, "", "Ada"},
		"insert": {
			"memory",
			map[string]any{"command": "insert", "path": "/memories/human", "insert_line": 1, "insert_text": "x"},
			"",
			"Ada\nx\nlikes tea",
		},
		"insert last": {"memory", map[string]any{"command": "insert", "path": "/human", "insert_text": "x"}, "", "Ada\nlikes tea\nx"},
		"several": {
			"memory_apply_patch",
			map[string]any{
				"label": "", "patch": "*** Update Block: human\n-Ada\n+Eve\n*** Add Block: pets\nDescription: Her pets.\n+Turing\n+Gödel",
			},
			"The patch was applied: updated human; added pets.", "Eve\nlikes tea",
		},
		"done": {"memory_finish_edits", map[string]any{}, "None", "Ada\nlikes tea"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			got := h.do(tt.tool, tt.args)
			block := h.read("human")
			if tt.text == "" {
				tt.text = tt.want
			}
			if got.IsError || got.Text != tt.text || block.Value != tt.want {
				t.Errorf("return %q, block %q; want %q, %q", got.Text, block.Value, tt.text, tt.want)
			}
			if name == "several" {
				pets := h.read("pets")
				if pets.Value != "Turing\nGödel" || pets.Description != "Her pets." || pets.Limit != core.DefaultBlockLimit {
					t.Errorf("added %+v", pets)
				}
				if diff := cmp.Diff(map[core.BlockID]int{pets.ID: 1}, got.Shows); diff != "" {
					t.Errorf("only the added one is shown whole:\n%s", diff)
				}
			}
		})
	}
}

func TestTheOmniToolMakesRenamesAndDetachesBlocks(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	do := func(want string, args map[string]any) core.ToolResult {
		t.Helper()
		got := h.do("memory", args)
		if got.IsError || got.Text != want {
			t.Errorf("%v: %+v, want %q", args, got, want)
		}
		return got
	}
	made := do(
		`The block "project/loci" was made.`,
		map[string]any{"command": "create", "path": "/memories/project/loci", "description": "What we build.", "file_text": "A home."},
	)
	block := h.read("project/loci")
	if diff := cmp.Diff(
		map[core.BlockID]int{block.ID: 1},
		made.Shows,
	); diff != "" || block.Value != "A home." ||
		block.Description != "What we build." {
		t.Errorf("made %+v, shows %v", block, made.Shows)
	}
	do(
		`The description of the block "project/loci" was changed.`,
		map[string]any{"command": "rename", "path": "project/loci", "description": "Our work."},
	)
	do(
		`The block "project/loci" is now "work".`,
		map[string]any{"command": "rename", "old_path": "/memories/project/loci", "new_path": "/memories/work"},
	)
	if got := h.read("work"); got.ID != block.ID || got.Description != "Our work." || got.Value != "A home." || got.Version != 3 {
		t.Errorf("renamed %+v", got)
	}
	do(`The block "work" is no longer part of your memory.`, map[string]any{"command": "delete", "path": "/memories/work"})
	if got, err := h.store.Blocks().Get(t.Context(), block.ID); err != nil || got.Value != "A home." {
		t.Errorf("the detached block is gone: %+v, %v", got, err)
	}
	versions, err := h.store.Blocks().Versions(t.Context(), block.ID, core.Page{})
	h.must(err)
	for _, v := range versions {
		if v.Author.Kind != core.AuthorAgent || v.Author.ID != string(h.env.Agent.ID) {
			t.Errorf("version %d is by %+v", v.Version, v.Author)
		}
	}
}

func TestMemoryEditsThatMakeNoSenseChangeNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool string
		args map[string]any
		want string
	}{
		"rethink of nothing": {"memory_rethink", map[string]any{"label": "nope", "new_memory": "x"}, "Your blocks are: human, rules"},
		"rethink of read-only": {
			"memory_rethink", map[string]any{"label": "rules", "new_memory": "x"}, "This block is read-only and cannot be edited.",
		},
		"rethink with numbers": {"memory_rethink", map[string]any{"label": "human", "new_memory": "1→ x"}, "without them"},
		"rethink over the limit": {
			"memory_rethink", map[string]any{"label": "human", "new_memory": strings.Repeat("x", 101)}, "1 more than its limit of 100",
		},
		"a patch that misses": {"memory_apply_patch", map[string]any{"label": "human", "patch": "-likes milk"}, "do not occur"},
		"half a patch": {
			"memory_apply_patch",
			map[string]any{"label": "", "patch": "*** Update Block: human\n-Ada\n+Eve\n*** Delete Block: rules"},
			"This block is read-only",
		},
		"a label that is taken": {
			"memory_apply_patch",
			map[string]any{"label": "", "patch": "*** Add Block: human\n+x"},
			`already has a block labelled "human"`,
		},
		"a move onto another": {
			"memory", map[string]any{"command": "rename", "old_path": "human", "new_path": "rules"}, `labelled "rules"`,
		},
		"create twice": {
			"memory", map[string]any{"command": "create", "path": "human", "description": "x"}, `already has a block labelled "human"`,
		},
		"no description": {
			"memory", map[string]any{"command": "create", "path": "x"}, "the command create needs the argument description",
		},
		"no path":              {"memory", map[string]any{"command": "insert", "insert_text": "x"}, "needs the argument path"},
		"a label that is none": {"memory", map[string]any{"command": "create", "path": "a b", "description": "x"}, "block label"},
		"another command":      {"memory", map[string]any{"command": "view", "path": "human"}, "must be one of create, str_replace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			got := h.do(tt.tool, tt.args)
			if !got.IsError || !strings.HasPrefix(got.Text, "Error executing function "+tt.tool+": ") ||
				!strings.Contains(got.Text, tt.want) {
				t.Errorf("%+v, want %q", got, tt.want)
			}
			blocks, err := h.store.Blocks().OfAgent(t.Context(), h.env.Agent.ID)
			if err != nil || len(blocks) != 2 || blocks[0].Version != 1 || blocks[1].Version != 1 {
				t.Errorf("a refused edit changed a block: %+v, %v", blocks, err)
			}
		})
	}
}

// TestOverwritesOfASharedBlockLoseNothingSilently lets two agents overwrite one block in every order of what each sees and
// writes: a text that is not there at the end was overwritten by one who had read it, or is named in an error.
func TestOverwritesOfASharedBlockLoseNothingSilently(t *testing.T) {
	t.Parallel()
	const perAgent = 3 // look, write, write again
	for order := range 1 << (2 * perAgent) {
		steps := make([]int, 2*perAgent)
		count := 0
		for i := range steps {
			steps[i] = order >> i & 1
			count += steps[i]
		}
		if count != perAgent {
			continue
		}
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			block := h.read("human")
			shown := []map[core.BlockID]int{{block.ID: 1}, {block.ID: 1}}
			read := []string{block.Value, block.Value}
			done := []int{0, 0}
			value := block.Value
			for _, who := range steps {
				done[who]++
				h.env.Shown = shown[who]
				if done[who] == 1 { // the window is brought up to date
					now := h.read("human")
					shown[who], read[who] = map[core.BlockID]int{block.ID: now.Version}, now.Value
					continue
				}
				text := fmt.Sprintf("text %d of agent %d", done[who], who)
				got := h.do("memory_rethink", map[string]any{"label": "human", "new_memory": text})
				switch {
				case !got.IsError && read[who] != value:
					t.Errorf("%q overwrote %q, which its author had not read", text, value)
				case !got.IsError:
					value = text
				case !strings.Contains(got.Text, text) || !strings.HasSuffix(got.Text, "The value is now:\n"+value):
					t.Errorf("%q was refused with %q", text, got.Text)
				}
				for id, v := range got.Shows {
					shown[who], read[who] = map[core.BlockID]int{id: v}, value
				}
			}
			if now := h.read("human"); now.Value != value {
				t.Errorf("the block holds %q, want %q", now.Value, value)
			}
			versions, err := h.store.Blocks().Versions(t.Context(), block.ID, core.Page{})
			if err != nil || !slices.IsSortedFunc(versions, func(a, b core.BlockVersion) int { return b.Version - a.Version }) {
				t.Errorf("versions %+v, %v", versions, err)
			}
		})
	}
}
