package files

import (
	"strings"
	"testing"

	"loci/core"
	"loci/core/ingest"
)

func TestASearchThatWasCutShortByTimeIsNoSuccess(t *testing.T) {
	t.Parallel()
	late := core.E(core.Timeout, "too long")
	found := ingest.GrepResult{
		Pattern: "tea",
		Looked:  2,
		Total:   1,
		Files:   []ingest.GrepCount{{Name: "a.txt", Count: 1}},
		Matches: []ingest.GrepMatch{
			{File: "a.txt", Line: 3, First: 3, Rows: []string{"tea"}},
		},
	}
	if got, err := told(
		found,
		late,
		0,
	); err != nil || !got.IsError || !strings.Contains(got.Text, "> 3: tea") ||
		!strings.Contains(got.Text, "not complete") {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := told(ingest.GrepResult{Pattern: "tea", Looked: 2}, late, 0); err != nil || !got.IsError {
		t.Errorf("without a match: %+v, %v", got, err)
	}
	if got, err := told(found, nil, 0); err != nil || got.IsError || strings.Contains(got.Text, "not complete") {
		t.Errorf("a whole search: %+v, %v", got, err)
	}
	if _, err := told(ingest.GrepResult{}, late, 0); core.KindOf(err) != core.Invalid {
		t.Errorf("before the first file: %v", err)
	}
}
