package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
	"loci/tools/workspace"
)

func TestWhatACutOffWriteLeftIsSweptAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{
		"sub/.loci-abcdefgh2345.tmp", "sub/.loci-notours.tmp", "sub/loci-abcdefgh2345.tmp", "sub/.loci-abcdefgh2345.tmp.bak", "sub/a.go",
		".loci-abcdefgh2345.tmp", "sub/deep/.loci-abcdefgh2345.tmp",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub", ".loci-bbbbbbbbbbbb.tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []core.FileChange{
		{Workspace: dir, Path: "sub/a.go"}, {Workspace: dir, Path: "gone/a.go"}, {Workspace: filepath.Join(dir, "gone"), Path: "a.go"},
	} {
		if err := workspace.Sweep(&c); err != nil {
			t.Errorf("%s: %v", c.Path, err)
		}
	}
	var left []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path) // it is below
		left = append(left, filepath.ToSlash(rel))
		return err
	})
	want := ". .loci-abcdefgh2345.tmp sub sub/.loci-abcdefgh2345.tmp.bak sub/.loci-bbbbbbbbbbbb.tmp sub/.loci-notours.tmp sub/a.go " +
		"sub/deep sub/deep/.loci-abcdefgh2345.tmp sub/loci-abcdefgh2345.tmp"
	if got := strings.Join(left, " "); err != nil || got != want {
		t.Errorf("left are\n%s, want\n%s (%v)", got, want, err)
	}
}
