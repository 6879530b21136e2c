package tui

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestAnEditorThatFailsIsToldInPlainWords(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("it has no command that fails")
	}
	dir := t.TempDir()
	locked := filepath.Join(dir, "locked")
	if err := os.WriteFile(locked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		filepath.Join(dir, "missing") + " -w": "there is no program " + filepath.Join(dir, "missing"),
		"no-such-editor":                      "there is no program no-such-editor",
		locked:                                locked + " may not be run",
		"false":                               "false ended with status 1",
	} {
		e := &editor{command: command, file: "x"}
		if got := EditorFailure(e.command, e.Run()); got == nil || got.Error() != want {
			t.Errorf("%s: %v, want %s", command, got, want)
		}
	}
	if err := EditorFailure("x", nil); err != nil {
		t.Error(err)
	}
}
