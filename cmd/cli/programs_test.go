package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheDaemonStartsNoProgramInAFolderButInTheSandbox lists what starts programs at all, below the terminal. Git is started by the
// mirror of memory alone, in folders of its own: in a folder that a person works in, git would run what it finds there.
func TestTheDaemonStartsNoProgramInAFolderButInTheSandbox(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	starts := regexp.MustCompile(`"os/exec"|\b(syscall|unix)\.(ForkExec|Exec)\b|os\.StartProcess`)
	git := regexp.MustCompile(`(LookPath|Command|CommandContext)\([^)]*"git"`)
	var found, runGit []string
	for _, layer := range []string{"core", "daemon", "providers", "sandbox", "storage", "tools"} {
		err := filepath.WalkDir(filepath.Join(root, layer), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, filepath.Dir(path))
			if starts.Match(text) {
				found = append(found, filepath.ToSlash(name))
			}
			if git.Match(text) {
				runGit = append(runGit, filepath.ToSlash(name))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"daemon/client",              // the daemon itself
		"daemon/hooks",               // the person's own programs
		"daemon/mirror",              // git, in the mirror's folder
		"providers/facts/generate",   // makes the table of models, and is no part of the program
		"providers/internal/command", // the person's own command for a token
		"sandbox",                    // the launcher
		"sandbox/sandboxtest",        // tests
		"sandbox/stage",              // what is confined
		"tools/custom/javascript",    // node, by the worker that is confined
	}
	slices.Sort(found)
	if got := slices.Compact(found); !slices.Equal(got, want) {
		t.Errorf("programs are started in %q, and this knows of %q", got, want)
	}
	if got := slices.Compact(runGit); !slices.Equal(got, []string{"daemon/mirror", "sandbox/sandboxtest"}) {
		t.Errorf("git is started in %q", got)
	}
}
