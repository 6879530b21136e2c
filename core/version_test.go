package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"loci/core"
)

// TestARewindMakesTheLineWhatItWas: what it takes back is redone by undoing the rewind, and by nothing else.
func TestARewindMakesTheLineWhatItWas(t *testing.T) {
	t.Parallel()
	edit := func(n int) core.VersionLink { return core.VersionLink{Version: n} }
	restores := func(n, of int) core.VersionLink { return core.VersionLink{Version: n, Restores: of} }
	rewinds := func(n, to int) core.VersionLink {
		return core.VersionLink{Version: n, Restores: to, Rewind: "rewind-1"}
	}
	line := func(past ...int) core.VersionLine { return core.VersionLine{Past: past} }
	for name, c := range map[string]struct {
		links []core.VersionLink
		want  core.VersionLine
	}{
		"an undo": {
			[]core.VersionLink{edit(1), edit(2), restores(3, 1)},
			core.VersionLine{Past: []int{1}, Future: []int{2}, Undid: []int{3}},
		},
		"a rewind of one edit": {[]core.VersionLink{edit(1), edit(2), rewinds(3, 1)}, line(1)},
		"a rewind of several":  {[]core.VersionLink{edit(1), edit(2), edit(3), rewinds(4, 1)}, line(1)},
		"its undo":             {[]core.VersionLink{edit(1), edit(2), edit(3), rewinds(4, 1), rewinds(5, 3)}, line(1, 2, 3)},
		"after an undo":        {[]core.VersionLink{edit(1), edit(2), restores(3, 1), rewinds(4, 2)}, line(1, 2)},
		"to what an undo was":  {[]core.VersionLink{edit(1), edit(2), restores(3, 1), edit(4), rewinds(5, 3)}, line(1)},
		"an edit after one":    {[]core.VersionLink{edit(1), edit(2), rewinds(3, 1), edit(4)}, line(1, 4)},
		"to a forgotten one": {
			[]core.VersionLink{edit(1), edit(3), edit(4), rewinds(5, 1)},
			core.VersionLine{Past: []int{3, 4, 5}, Forgotten: true},
		},
		"a jump and its undo": {
			[]core.VersionLink{edit(1), edit(2), edit(3), restores(4, 1), restores(5, 3)},
			core.VersionLine{Past: []int{1, 2, 3}, Future: []int{4}, Undid: []int{5}},
		},
		"an undo and its redo":  {[]core.VersionLink{edit(1), edit(2), restores(3, 1), restores(4, 2)}, line(1, 2)},
		"nothing at all":        {nil, core.VersionLine{}},
		"the beginning is gone": {[]core.VersionLink{edit(4), edit(5)}, core.VersionLine{Past: []int{4, 5}, Forgotten: true}},
	} {
		if diff := cmp.Diff(c.want, core.LineOf(c.links), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
