package client

import (
	"testing"

	"loci/daemon/api"
)

func TestUndoAndRedoOfRewindsFindTheLastOne(t *testing.T) {
	t.Parallel()
	rewind := func(id string) api.Rewind { return api.Rewind{ID: id} }
	undo := func(id, of string) api.Rewind { return api.Rewind{ID: id, Undoes: &of} }
	for name, tt := range map[string]struct {
		newestFirst  []api.Rewind
		undone, redo string // what is found; empty: nothing
	}{
		"nothing":                 {nil, "", ""},
		"one":                     {[]api.Rewind{rewind("a")}, "a", ""},
		"one undone":              {[]api.Rewind{undo("b", "a"), rewind("a")}, "", "b"},
		"one done again":          {[]api.Rewind{undo("c", "b"), undo("b", "a"), rewind("a")}, "a", ""},
		"done again and undone":   {[]api.Rewind{undo("d", "c"), undo("c", "b"), undo("b", "a"), rewind("a")}, "", "d"},
		"the second undone":       {[]api.Rewind{undo("c", "b"), rewind("b"), rewind("a")}, "a", "c"},
		"a new one after an undo": {[]api.Rewind{rewind("c"), undo("b", "a"), rewind("a")}, "c", ""},
	} {
		if got, ok := LastRewind(tt.newestFirst); got.ID != tt.undone || ok != (tt.undone != "") {
			t.Errorf("%s: an undo takes %q back, want %q", name, got.ID, tt.undone)
		}
		if got, ok := LastUndo(tt.newestFirst); got.ID != tt.redo || ok != (tt.redo != "") {
			t.Errorf("%s: a redo takes %q back, want %q", name, got.ID, tt.redo)
		}
	}
}
