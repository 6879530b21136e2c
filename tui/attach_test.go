package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func (r *robot) file(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.m.attach.folder, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func TestAFileThatAMessageNamesGoesAlongOnce(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24, inFolder(t, "docs/two words 漢字.md", "one\ntwo\n")).connect()
	r.typ("Read @twowor")
	r.until("the names", func() bool { return strings.Contains(r.view(), "▸ docs/two words 漢字.md") })
	if strings.Contains(r.view(), "evil") {
		t.Error("a name with an escape is offered")
	}
	r.key(tea.Key{Code: tea.KeyTab})
	r.holds(`Read @"docs/two words 漢字.md" `)
	r.typ(`and @"docs/two words 漢字.md", for @ada`)
	r.enter()
	r.until("the message", func() bool { return len(r.f.heard()) == 1 })
	want := `Read @"docs/two words 漢字.md" and @"docs/two words 漢字.md", for @ada` +
		"\n\n[File docs/two words 漢字.md, 2 lines]\n```\none\ntwo\n```"
	if got := r.f.heard()[0]; got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
	if !strings.Contains(r.said(), "for @ada\n  + File docs/two words 漢字.md, 2 lines\n") {
		t.Error(r.said())
	}
	r.idle()
	r.say("And now?")
	r.until("the message", func() bool { return len(r.f.heard()) == 2 })
	if got := r.f.heard()[1]; got != "And now?" {
		t.Errorf("it went along again: %q", got)
	}
}

func TestAFileThatARuleClosesIsAskedAboutOnceOrStaysOut(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24, inFolder(t, "secret", "x")).connect()
	r.file(".env", "KEY=1\n")
	r.file("a.png", "\x89PNG\r\n\x1a\n")
	r.file("a.bin", "\x00")
	r.say("See @.env @secret @a.png @a.bin")
	r.until("the question", func() bool { return strings.Contains(r.view(), "Send .env too?") })
	r.enter()
	if len(r.f.heard()) > 0 {
		t.Fatal("it was sent unasked")
	}
	r.typ("s")
	r.until("the message", func() bool { return len(r.f.heard()) == 1 })
	if got := r.f.heard()[0]; got != "See @.env @secret @a.png @a.bin\n\n[File .env, 1 line]\n```\nKEY=1\n```" {
		t.Errorf("heard %q", got)
	}
	for _, note := range []string{
		"secret does not go along. The rule read(secret)", "a.png does not go along: it is an image (PNG)",
		"a.bin does not go along: it is no text",
	} {
		if !strings.Contains(r.said(), note) {
			t.Errorf("%q is not said:\n%s", note, r.said())
		}
	}
	r.idle()
	r.say("Again @.env")
	r.until("the message", func() bool { return len(r.f.heard()) == 2 })
}

func TestALargeFileGoesAlongInPart(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24, inFolder(t, "a", strings.Repeat("0123456789\n", 10_000))).connect()
	r.say("See @a.")
	r.until("the message", func() bool { return len(r.f.heard()) == 1 })
	got := r.f.heard()[0]
	if !strings.HasPrefix(got, "See @a.\n\n[File a, the first 5957 of 10000 lines]\n") || len(got) > attachBytes+200 {
		t.Errorf("%d bytes: %.100q", len(got), got)
	}
}
