package wire

import (
	"encoding/json"
	"strings"
)

// Splitter extracts reasoning from a text that starts with a <think> block, for servers that leave the block in the
// text, or only its end. Other text passes through unchanged and without delay.
type Splitter struct {
	Hold  bool // the server is known to drop the opening mark: hold text back until the block ends
	state splitState
	begun bool // some reasoning has been returned
	shown bool // some text has been returned
	early bool // there was an opening mark in the text
	last  byte // last byte of the text returned
	held  string
}

type splitState int

const (
	splitBefore splitState = iota
	splitInside
	splitClosed // until the first visible character
	splitAfter
	splitPlain // text that does not start with the mark
)

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// mostThought limits what is held back.
const mostThought = 256 << 10

// Split is what a piece consists of. Flip says that all text returned so far was reasoning.
type Split struct {
	Flip            bool
	Reasoning, Text string
}

// Add takes the next piece and returns what is reasoning and what is text.
func (s *Splitter) Add(piece string) Split {
	if s.state == splitAfter {
		return Split{Text: piece}
	}
	s.held += piece
	if s.state == splitBefore {
		lead := strings.TrimLeft(s.held, " \r\n\t")
		switch {
		case len(lead) < len(thinkOpen) && strings.HasPrefix(thinkOpen, lead):
			return Split{}
		case strings.HasPrefix(lead, thinkOpen):
			s.state, s.held = splitInside, lead[len(thinkOpen):]
		default:
			s.state = splitPlain
		}
	}
	var out Split
	switch s.state {
	case splitInside:
		out.Reasoning = s.inside()
	case splitPlain:
		out = s.plain(false)
	case splitBefore, splitClosed, splitAfter:
	}
	if s.state != splitClosed {
		return out
	}
	if s.held = strings.TrimLeft(s.held, " \r\n\t"); s.held != "" {
		out.Text, s.held, s.state = s.held, "", splitAfter
	}
	return out
}

func (s *Splitter) inside() (reasoning string) {
	if !s.begun {
		s.held = strings.TrimLeft(s.held, "\r\n")
	}
	before, after, closed := strings.Cut(s.held, thinkClose)
	if closed {
		s.state, s.held = splitClosed, after
		return before
	}
	keep := partial(s.held, thinkClose)
	reasoning, s.held = s.held[:len(s.held)-keep], s.held[len(s.held)-keep:]
	s.begun = s.begun || reasoning != ""
	return reasoning
}

// plain passes text on, watching for the end of a block whose opening mark the server dropped.
func (s *Splitter) plain(end bool) Split {
	at := strings.Index(s.held, thinkClose)
	switch {
	case at < 0:
	case at+len(thinkClose) == len(s.held) && !end:
		return s.pass(at) // depends on what follows
	case s.closes(at):
		out := Split{Flip: s.shown, Reasoning: s.held[:at]}
		s.state, s.held = splitClosed, s.held[at+len(thinkClose):]
		return out
	}
	if s.Hold && !end && !s.early && at < 0 && len(s.held) < mostThought {
		return Split{}
	}
	if end {
		return s.pass(len(s.held))
	}
	return s.pass(len(s.held) - max(partial(s.held, thinkClose), partial(s.held, thinkOpen)))
}

// closes distinguishes a mark from text that mentions it.
func (s *Splitter) closes(at int) bool {
	if s.early || strings.Contains(s.held[:at], thinkOpen) {
		return false
	}
	before := s.last
	if at > 0 {
		before = s.held[at-1]
	}
	rest := s.held[at+len(thinkClose):]
	switch before {
	case '`', '"', '\'', '(':
		return false
	case ' ':
		return rest == "" || rest[0] == '\n' || rest[0] == '\r'
	}
	return true
}

func (s *Splitter) pass(n int) Split {
	text := s.held[:n]
	s.held = s.held[n:]
	if text != "" {
		s.shown, s.last = true, text[len(text)-1]
		s.early = s.early || strings.Contains(text, thinkOpen)
	}
	return Split{Text: text}
}

// End returns what is still held back.
func (s *Splitter) End() Split {
	if s.state == splitPlain {
		return s.plain(true)
	}
	held := s.held
	s.held = ""
	if s.state == splitInside {
		return Split{Reasoning: held}
	}
	return Split{Text: held}
}

// partial returns how many bytes at the end of text may be the start of mark.
func partial(text, mark string) int {
	for n := min(len(text), len(mark)-1); n > 0; n-- {
		if strings.HasSuffix(text, mark[:n]) {
			return n
		}
	}
	return 0
}

// Arguments returns the JSON text of arguments sent as an object or as text; "{}" if there are none.
func Arguments(raw json.RawMessage) string {
	s := text(raw)
	if strings.TrimSpace(s) == "" {
		return "{}"
	}
	return s
}
