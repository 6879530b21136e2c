package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"loci/tui/theme"
)

func TestTheThemeOfTheConfigurationHoldsWhateverTheTerminalSays(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]theme.Kind{"light": theme.Light, "dark": theme.Dark} {
		r := newRobot(t, newFake(), 80, 24, func(o *Options) { o.NoColor, o.Theme = false, name })
		r.feed(firstFrameMsg{})
		r.connect()
		if r.m.background(name == "light"); r.m.ui.theme.Kind != kind {
			t.Errorf("%s: the theme is %v", name, r.m.ui.theme.Kind)
		}
	}
}

func TestTheEditorOfTheConfigurationChangesWhatIsTyped(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$1 and more\" >> \"$2\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("typed"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &editor{command: script + " with", file: file}
	if err := e.Run(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != "typedwith and more\n" {
		t.Errorf("%q, %v", got, err)
	}
	r := newRobot(t, newFake(), 80, 24).connect()
	r.key(tea.Key{Code: 'g', Mod: tea.ModCtrl})
	if s := r.status(); !strings.Contains(s, "no editor") {
		t.Errorf("status %q", s)
	}
	r.feed(editedMsg{text: "edited\nlines", take: r.m.prompt.Set})
	r.holds("edited\nlines")
}

func TestAProblemInTheStatusLineWraps(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 40, 24).connect()
	r.m.ui.flash = "the model openai/gpt-4o cannot be asked: the key is refused (check OPENAI_API_KEY)"
	if got, want := r.status(), "the model openai/gpt-4o cannot be asked:\nthe key is refused (check\nOPENAI_API_KEY)\n"+
		"ask mode · Ada · openai/gpt-4o · 12%"; got != want {
		t.Errorf("status\n%s\nwant\n%s", got, want)
	}
}
