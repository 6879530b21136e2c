package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inFolder opens the chat in a folder with a file.
func inFolder(t *testing.T, name, text string) func(*Options) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(o *Options) { o.Who.Folder = dir }
}

func TestAQuestionSaysWhatOfTheFolderALineCouldNotUse(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.closed = []string{".env", "a.pem", "b.pem", "c.pem", "d.pem"}
	r := newRobot(t, f, 80, 24, inFolder(t, "a", "")).connect().asked("line")
	r.until("what is closed", func() bool { // wherever the folder's name makes it wrap
		return strings.Contains(strings.Join(strings.Fields(r.view()), " "), "can't read .env, a.pem, b.pem and 2 more")
	})
	r.key(keyOf('y'))
	if r.m.question.confirm != nil {
		t.Error("what came a moment ago can be allowed before it was read")
	}
}

func TestWhatAWriteChangesOfAFileIsShownAsADifference(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24, inFolder(t, "notes/tea.md", numbered(29)+"the end\n")).connect().asked("write")
	r.until("the file", func() bool { return len(r.m.question.before) > 0 })
	v := r.view()
	for _, part := range []string{"asks to change notes/tea.md", "- the end", "+ line 30", "y allow once"} {
		if !strings.Contains(v, part) {
			t.Errorf("%q is not there:\n%s", part, v)
		}
	}
	if strings.Contains(v, "⋮") {
		t.Errorf("what stays is shown:\n%s", v)
	}
}
