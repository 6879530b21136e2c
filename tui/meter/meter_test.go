package meter

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"loci/daemon/api"
)

func window() api.ContextWindow {
	return api.ContextWindow{
		ContextWindowSizeMax: 10_000, ContextWindowSizeCurrent: 5020, NumMessages: 14, NumTokensSystem: 1000, NumTokensCoreMemory: 20,
		NumTokensFunctionsDefinitions: 2000, NumTokensSummaryMemory: 500, NumTokensMessages: 1500,
	}
}

func TestEachPartHasItsBar(t *testing.T) {
	t.Parallel()
	want := []string{
		"system   ████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░      1,000   10%",
		"memory   █░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░         20   <1%",
		"tools    ████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░      2,000   20%",
		"summary  ██░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░        500    5%",
		"messages ██████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░      1,500   15%",
		"free     ████████████████████░░░░░░░░░░░░░░░░░░░░      4,980   50%",
	}
	if diff := cmp.Diff(want, Rows(window(), 80)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Line(window()); got != "5,020 of 10,000 tokens (50%) · 14 messages" {
		t.Errorf("line %q", got)
	}
}

func TestRowsFitTheirWidthAndOddNumbersDrawToo(t *testing.T) {
	t.Parallel()
	full := api.ContextWindow{
		ContextWindowSizeMax:     10,
		ContextWindowSizeCurrent: 1_000_000,
		NumTokensMessages:        1_000_000,
		NumTokensDirectories:     3,
	}
	for _, w := range []api.ContextWindow{{}, full, window()} {
		for _, width := range []int{20, 25, 26, 34, 40, 66, 200} {
			for _, row := range Rows(w, width) {
				if n := utf8.RuneCountInString(row); w.ContextWindowSizeMax != 10 && n > width || strings.Contains(row, "█") && width < 34 {
					t.Errorf("width %d: %d: %q", width, n, row)
				}
			}
		}
	}
	if rows := strings.Join(Rows(full, 80), "\n"); !strings.Contains(rows, "files") || !strings.Contains(rows, "1,000,000") {
		t.Errorf("got\n%s", rows)
	}
}
