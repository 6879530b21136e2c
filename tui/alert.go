package tui

import (
	"strings"
	"time"

	"loci/tui/term"
	"loci/tui/transcript"
)

// Values of Options.Notify. Empty is by what the terminal is known to show.
const (
	notifyOff     = "off"
	notifyBell    = "bell"
	notifyDesktop = "desktop"
)

const (
	// alertMost bounds a notification, in cells.
	alertMost = 120
	// awayAfter is how long nobody must have pressed a key to be away, where the
	// terminal doesn't say whether it has the focus; hereAfter, where it has.
	awayAfter = 10 * time.Second
	hereAfter = time.Minute
	// longRun is how long a run must have taken for its end to call somebody who
	// is away.
	longRun = 30 * time.Second
)

// alert is how a terminal calls a person who isn't looking: by its bell, and by
// a notification if it knows one. The number is that of the sequence.
type alert struct {
	number string // empty: the bell only
	off    bool
	within string // the multiplexer that has to pass it on: tmux, screen or none
}

// alertOf finds out which notifications a terminal knows. Of a multiplexer nobody
// can tell what it runs in: it passes on the bell, and more if the person says so.
func alertOf(getenv func(string) string, notify string) alert {
	a := alert{off: notify == notifyOff}
	if getenv == nil || a.off || notify == notifyBell {
		return a
	}
	switch {
	case getenv("TMUX") != "":
		a.within = "tmux"
	case getenv("STY") != "":
		a.within = "screen"
	}
	if a.within == "" {
		a.number = known(getenv("TERM_PROGRAM"), getenv("TERM"))
	}
	if a.number == "" && notify == notifyDesktop {
		a.number = "9"
	}
	return a
}

// known is the notification that a terminal is known to show, if any.
func known(program, name string) string {
	switch program {
	case "iTerm.app", "WezTerm", "ghostty":
		return "9"
	}
	switch {
	case name == "xterm-kitty", name == "xterm-ghostty":
		return "9"
	case strings.HasPrefix(name, "foot"), strings.HasPrefix(name, "rxvt-unicode"):
		return "777"
	}
	return ""
}

// sequence is what to write to the terminal.
func (a alert) sequence(text string) string {
	if a.off {
		return ""
	}
	text = transcript.Short(strings.ReplaceAll(transcript.OneLine(text), ";", ","), alertMost)
	seq := ""
	switch a.number {
	case "9":
		seq = "\x1b]9;" + text + "\x1b\\"
	case "777":
		seq = "\x1b]777;notify;Loci;" + text + "\x1b\\"
	}
	switch {
	case seq == "":
	case a.within == "tmux":
		seq = "\x1bPtmux;" + strings.ReplaceAll(seq, "\x1b", "\x1b\x1b") + "\x1b\\"
	case a.within == "screen": // a string within ends by a bell: what ends ours would end screen's
		seq = "\x1bP" + strings.TrimSuffix(seq, "\x1b\\") + "\a\x1b\\"
	}
	return "\a" + seq
}

// caller calls the person when nobody looks. Whether somebody does, the terminal
// says by its focus, where it reports that, and the keys say it elsewhere.
type caller struct {
	screen *term.Screen
	now    func() time.Time
	alert  alert

	knows   bool      // the terminal has reported its focus
	focused bool      // as far as it has
	last    time.Time // when a key was pressed
}

// pressed notes that somebody is there.
func (c *caller) pressed() { c.last = c.now() }

// looks notes whether the terminal has the focus.
func (c *caller) looks(focused bool) { c.knows, c.focused = true, focused }

// away is how long it takes until nobody looks, if nobody presses a key; zero or less: nobody does.
func (c *caller) away() time.Duration {
	idle := c.now().Sub(c.last)
	switch {
	case !c.knows:
		return awayAfter - idle
	case c.focused:
		return hereAfter - idle
	}
	return 0
}

// call calls the person.
func (c *caller) call(text string) {
	if seq := c.alert.sequence(text); seq != "" {
		c.screen.Send(seq)
	}
}

// ended calls a person who doesn't look at the end of a run that took long.
func (c *caller) ended(took time.Duration, text string) {
	if took >= longRun && c.away() <= 0 {
		c.call(text)
	}
}
