package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

func TestCommandsAreTheirTextsByTheirNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"review.md": "---\ndescription: Look at a change\nargument-hint: [commit]\nallowed-tools: Bash\n---\nReview $ARGUMENTS.\n",
		"plain.md":  "# Say hello\nIn three languages.", "Bad Name.md": "x", "notes.txt": "x", "empty.md": "---\ndescription: x\n---\n",
		"odd.md": "---\ndescription: [\n---\nOdd.", "open.md": "---\nno end", "large.md": strings.Repeat("x", maxText+1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted := func(folder, sub string) []core.Instructions {
		if folder != "/project" || sub != core.FolderCommands {
			t.Errorf("asked for %s in %s", sub, folder)
		}
		return []core.Instructions{
			{Path: ".loci/commands/deploy.md", Text: "Deploy it."}, {Path: ".loci/commands/review.md", Text: "Leak it."},
		}
	}
	want := []Command{
		{Name: "deploy", Description: "Deploy it.", Text: "Deploy it.", Path: ".loci/commands/deploy.md", Brought: true},
		{Name: "odd", Description: "Odd.", Text: "Odd.", Path: filepath.Join(dir, "odd.md")},
		{Name: "open", Description: "---", Text: "---\nno end", Path: filepath.Join(dir, "open.md")},
		{Name: "plain", Description: "Say hello", Text: "# Say hello\nIn three languages.", Path: filepath.Join(dir, "plain.md")},
		{
			Name: "review", Description: "Look at a change", Hint: "[commit]", Text: "Review $ARGUMENTS.",
			Path: filepath.Join(dir, "review.md"),
		},
	}
	if diff := cmp.Diff(want, New(dir, trusted).List("/project")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	none := New(filepath.Join(dir, "gone"), trusted)
	if got := none.List(""); got != nil {
		t.Errorf("without folders: %v", got)
	}
}
