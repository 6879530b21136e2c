package panel

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"loci/tui/term"
	"loci/tui/theme"
	"loci/tui/transcript"
)

// maxSecret bounds what is typed or pasted, in characters.
const maxSecret = 10_000

// Secret takes a line that nobody may read from the screen: a dot stands for each character. Escape drops it.
type Secret struct {
	Theme theme.Theme
	Title string
	Note  string // under the title
	Empty string // what Enter does without a line; empty: nothing

	text    []rune
	problem string
}

// Key handles a key.
func (s *Secret) Key(msg tea.KeyPressMsg) Action {
	switch msg.String() {
	case "esc", "ctrl+c":
		s.text = nil
		return Action{Kind: Close}
	case "enter":
		if len(s.text) == 0 && s.Empty == "" {
			return Action{}
		}
		text := string(s.text)
		s.text = nil
		return Action{Kind: Save, Text: text}
	case "backspace":
		s.text = s.text[:max(len(s.text)-1, 0)]
	case "ctrl+u":
		s.text = nil
	default:
		s.Paste(msg.Text)
	}
	return Action{}
}

// Paste adds a line, without what no key has in it.
func (s *Secret) Paste(text string) {
	s.problem = ""
	for _, r := range strings.TrimSpace(text) {
		if unicode.IsPrint(r) && len(s.text) < maxSecret {
			s.text = append(s.text, r)
		}
	}
}

// Refuse says why the line wasn't taken.
func (s *Secret) Refuse(why string) { s.problem = why }

// View draws the title, the dots and the available keys.
func (s *Secret) View(width, height int) (string, *tea.Cursor) {
	body := []string{s.Theme.Strong.Render(s.Title)}
	if s.Note != "" && height >= 6 {
		for row := range strings.SplitSeq(term.Wrap(s.Note, max(width, 1)), "\n") {
			body = append(body, s.Theme.Dim.Render(row))
		}
		body = append(body, "")
	}
	dots := min(len(s.text), max(width-1, 0))
	at := len(body)
	body = append(body, strings.Repeat("•", dots))
	foot := "enter saves · ctrl+u clears · esc"
	if s.Empty != "" && len(s.text) == 0 {
		foot = "enter " + s.Empty + " · esc"
	}
	foot = s.Theme.Dim.Render(foot)
	if s.problem != "" {
		foot = s.Theme.Bad.Render(transcript.OneLine(s.problem))
	}
	return frame(body, foot, width, height), tea.NewCursor(dots, min(at, max(height-2, 0)))
}
