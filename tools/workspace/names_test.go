package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"loci/core"
	"loci/tools/workspace"
)

func TestNamesAreThoseOfAllFilesThatGitWouldNotLeaveOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a b.txt", "src/漢字.go", "out/x.o", ".git/config", ".gitignore"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("out/\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names, partial, err := workspace.Names(context.Background(), dir)
	if want := []string{".gitignore", "a b.txt", "src/漢字.go"}; err != nil || partial || !slices.Equal(names, want) {
		t.Errorf("%q, %v, %v", names, partial, err)
	}
	if _, _, err := workspace.Names(context.Background(), filepath.Join(dir, "none")); core.KindOf(err) != core.NotFound {
		t.Errorf("a folder that isn't there: %v", err)
	}
}
