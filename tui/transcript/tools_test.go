package transcript

import (
	"testing"

	"loci/tui/theme"

	"github.com/charmbracelet/x/ansi"
)

func TestCallsThatLookIntoFilesAreOneRow(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.None), 80)
	for _, c := range []struct {
		call Call
		want string
	}{
		{
			Call{
				Name: "open_files", Arguments: `{"file_requests":[{"file_name":"docs/a.md","offset":10},{"file_name":"docs/b.md"}]}`,
				Return: "* Opened …", Done: true,
			}, "▸ opens docs/a.md, docs/b.md",
		},
		{Call{Name: "open_files", Arguments: `{"file_requests":"docs/a.md"}`}, "▸ opens docs/a.md · …"},
		{
			Call{
				Name: "archival_memory_insert", Arguments: `{"content":"tea"}`, Done: true,
				Return: "[ran with arguments changed by the person: {\"content\":\"coffee\"}]\nKept as passage-1.",
			}, "✎ keeps “tea” · with arguments that a person changed",
		},
		{Call{Name: "archival_memory_insert", Arguments: `{"content":"tea"}`, Return: "Kept as passage-1.", Done: true}, "✎ keeps “tea”"},
		{Call{Name: "open_files", Arguments: `{"file_requests":[{"file_na`}, "▸ opens · …"},
		{
			Call{
				Name: "grep_files", Arguments: `{"pattern":"harb\\w+"}`,
				Return: "Found 12 total matches across 2 files (showing …)\n\nFiles", Done: true,
			}, `⌕ searches the files “harb\w+” · 12 found`,
		},
		{
			Call{Name: "grep_files", Arguments: `{"pattern":"x"}`, Return: "No matches found for pattern: 'x'", Done: true},
			"⌕ searches the files “x” · nothing found",
		},
		{
			Call{Name: "grep_files", Arguments: `{"pattern":"x"}`, Return: "No files are currently attached to search", Done: true},
			"⌕ searches the files “x” · No files are currently attached to sear…",
		},
		{
			Call{
				Name: "semantic_search_files", Arguments: `{"query":"the keeper"}`,
				Return: "Found 1 semantic matches in 1 file(s) for query: 'the keeper'", Done: true,
			}, "⌕ searches the files “the keeper” · 1 found",
		},
		{
			Call{
				Name: "conversation_search", Arguments: `{"query":"ice"}`,
				Return: `{"results":[{"in":"Sea","messages":[{"id":"a"},{"id":"b"}]},{"in":"Ice","messages":[{"id":"c"}]}]}`, Done: true,
			}, "⌕ searches conversations “ice” · 3 found",
		},
		{
			Call{Name: "semantic_search_files", Arguments: `{"query":"x"}`, Return: "No semantic matches found for query: 'x'", Done: true},
			"⌕ searches the files “x” · nothing found",
		},
	} {
		if got := ansi.Strip(r.Tool(c.call)); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.call.Name, c.call.Arguments, got, c.want)
		}
	}
}
