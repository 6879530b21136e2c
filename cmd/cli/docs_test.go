package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testable = regexp.MustCompile("(?ms)^```sh\n# runs\n(.*?)^```$")

// TestDocumentedCommandsWorkAsTyped runs the blocks of each page that begin with "# runs", in a home of its own and
// without a key.
func TestDocumentedCommandsWorkAsTyped(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	ran := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			if strings.HasSuffix(page, "README.md") && os.IsNotExist(err) {
				continue
			}
			t.Fatal(err)
		}
		blocks := testable.FindAllSubmatch(text, -1)
		ran += len(blocks)
		if len(blocks) == 0 {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			program := build(t)
			env := homeEnv(t)
			for i, v := range env {
				if rest, ok := strings.CutPrefix(v, "PATH="); ok {
					env[i] = "PATH=" + filepath.Dir(program) + string(filepath.ListSeparator) + rest
				}
			}
			folder := t.TempDir()
			for _, block := range blocks {
				// A file, so that a command that reads standard input does not eat the rest of the block.
				script := filepath.Join(t.TempDir(), "block.sh")
				if err := os.WriteFile(script, block[1], 0o600); err != nil {
					t.Fatal(err)
				}
				cmd := exec.CommandContext(t.Context(), "sh", "-eu", script)
				cmd.Dir, cmd.Env = folder, env
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s\n%s", err, block[1], out)
				}
			}
		})
	}
	if ran < 10 {
		t.Errorf("only %d blocks are tested", ran)
	}
}

var linked = regexp.MustCompile(`\]\(([a-z-]+\.md)\)`)

func TestDocsLinkToPagesThatExist(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range linked.FindAllSubmatch(text, -1) {
			if !fileExists(filepath.Join("../../docs", string(m[1]))) {
				t.Errorf("%s links to %s", page, m[1])
			}
		}
	}
}
