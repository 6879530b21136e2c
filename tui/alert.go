package tui

import (
	"strings"

	"loci/tui/transcript"
)

// alertMost bounds a notification, in cells.
const alertMost = 120

// alert is how a terminal calls a person who isn't looking: by its bell, and by
// a notification if it knows one. The number is that of the sequence.
type alert string

const (
	bell       alert = ""
	alertITerm alert = "9"
	alertURxvt alert = "777"
)

// alertOf finds out which notifications a terminal knows. A multiplexer passes on
// only the bell.
func alertOf(getenv func(string) string) alert {
	if getenv == nil || getenv("TMUX") != "" || getenv("STY") != "" {
		return bell
	}
	switch getenv("TERM_PROGRAM") {
	case "iTerm.app", "WezTerm", "ghostty":
		return alertITerm
	}
	name := getenv("TERM")
	switch {
	case name == "xterm-kitty", name == "xterm-ghostty":
		return alertITerm
	case strings.HasPrefix(name, "foot"), strings.HasPrefix(name, "rxvt-unicode"):
		return alertURxvt
	}
	return bell
}

// sequence is what to write to the terminal.
func (a alert) sequence(text string) string {
	text = transcript.Short(strings.ReplaceAll(transcript.OneLine(text), ";", ","), alertMost)
	switch a {
	case alertITerm:
		return "\a\x1b]9;" + text + "\x1b\\"
	case alertURxvt:
		return "\a\x1b]777;notify;Loci;" + text + "\x1b\\"
	case bell:
	}
	return "\a"
}
