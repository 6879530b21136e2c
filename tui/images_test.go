package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/client"
)

func TestAnImageThatIsDraggedInStandsInThePromptByItsPath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "my shot.png")
	if err := os.WriteFile(path, []byte("pixels"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRobot(t, newFake(), 80, 24)
	r.feed(tea.PasteMsg{Content: "'" + path + "'"})
	if got := r.m.prompt.Text(); got != client.ImageMark(path)+" " {
		t.Errorf("the prompt holds %q", got)
	}
	r.feed(tea.PasteMsg{Content: "/no/such/file.png"})
	if got := r.m.prompt.Text(); !strings.HasSuffix(got, "/no/such/file.png") {
		t.Errorf("any other text is pasted as it is: %q", got)
	}
}

func TestWhoPastesAnImageFromTheClipboardIsToldTheWay(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24)
	r.feed(tea.PasteMsg{})
	if !strings.Contains(r.m.ui.flash, "paste its path") {
		t.Errorf("it says %q", r.m.ui.flash)
	}
}
