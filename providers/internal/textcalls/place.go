package textcalls

import (
	"strings"
	"unicode/utf8"
)

// mostLine is how much of a line's beginning is looked at.
const mostLine = 64

// place is where in a Markdown text the next character stands.
type place struct {
	line  []byte // the beginning of the line
	long  bool   // the line goes on behind that
	ticks int    // runs of backticks in the line
	last  []byte // the last bytes of the line, enough for a character
	fence string // the fence of the code block that is open
}

// see takes text that was handed out.
func (p *place) see(text string) {
	for i := range len(text) {
		b := text[i]
		if b == '\n' {
			p.newline()
			continue
		}
		if b == '`' && (len(p.last) == 0 || p.last[len(p.last)-1] != '`') {
			p.ticks++
		}
		if len(p.line) < mostLine {
			p.line = append(p.line, b)
		} else {
			p.long = true
		}
		if len(p.last) == utf8.UTFMax {
			copy(p.last, p.last[1:])
			p.last = p.last[:utf8.UTFMax-1]
		}
		p.last = append(p.last, b)
	}
}

func (p *place) newline() {
	run, rest := fenceOf(string(p.line))
	switch {
	case run == "":
	case p.fence == "":
		p.fence = run
	case run[0] == p.fence[0] && len(run) >= len(p.fence) && strings.TrimSpace(rest) == "" && !p.long:
		p.fence = ""
	}
	p.line, p.long, p.ticks, p.last = p.line[:0], false, 0, p.last[:0]
}

// fenceOf returns the fence that a line begins with, and what stands behind it.
func fenceOf(line string) (run, rest string) {
	line = strings.TrimLeft(line, " \t")
	for _, mark := range []string{"`", "~"} {
		rest = strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 {
			return line[:n], rest
		}
	}
	return "", ""
}

// quotes reports whether what follows is shown and not meant: it stands in code, in quotation marks or in a quotation.
func (p *place) quotes() bool {
	line := string(p.line)
	text := strings.TrimLeft(line, " \t")
	run, _ := fenceOf(line)
	indented := text == "" && !p.long && (len(line) >= 4 || strings.Contains(line, "\t"))
	if p.fence != "" || run != "" || p.ticks%2 == 1 || indented || strings.HasPrefix(text, ">") {
		return true
	}
	if len(p.last) == 0 {
		return false
	}
	r, _ := utf8.DecodeLastRune(p.last)
	return strings.ContainsRune("`\"'([{“”„‘’«»‹›「『", r)
}
