package tui

import (
	"path/filepath"
	"strings"

	"loci/daemon/api"
	"loci/tui/transcript"
)

// settings draws the git settings that a line wants to leave behind: what each would be, what it was, and what git may do because
// of it. Nothing is cut.
func (h *hostQuestion) settings(q api.Question, width int) (rows []string) {
	th := h.ui.theme
	width = max(width-4, 4)
	add := func(indent, text string, style func(...string) string) {
		for i, row := range strings.Split(wrapTo(text, width), "\n") {
			if i > 0 {
				row = "  " + row
			}
			rows = append(rows, indent+style(row))
		}
	}
	for _, s := range q.Settings {
		shown := func(text string) string { return transcript.OneLine(transcript.Reveal(text)) }
		text := shown(s.Name)
		switch was := shown(strings.Join(s.Was, ", ")); {
		case len(s.Values) == 0:
			text += " is removed"
			if was != "" {
				text += " (it is " + was + ")"
			}
		case was != "":
			text += " = " + shown(strings.Join(s.Values, ", ")) + " (it is " + was + ")"
		default:
			text += " = " + shown(strings.Join(s.Values, ", "))
		}
		if s.File != filepath.Join(q.Folder, ".git", "config") {
			text += ", in " + shown(s.File)
		}
		add("  ", text, th.Strong.Render)
		add("    ", shown(s.May), th.Dim.Render)
	}
	return rows
}
