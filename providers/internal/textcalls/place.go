package textcalls

import (
	"strings"
	"unicode/utf8"
)

// mostLine is how much of a line's beginning is looked at.
const mostLine = 64

// thoughtEnds are marks of the end of reasoning, as some servers leave them in an answer. What follows begins it anew.
var thoughtEnds = [...]string{"</think>", "[/THINK]"}

// place is where in a Markdown text the next character stands.
type place struct {
	part    []byte // a character that is not whole
	line    []byte // the beginning of the line
	long    bool   // the line goes on behind that
	ticks   int    // runs of backticks in the line
	prev    rune   // the last character of the line; 0: there is none
	tail    []byte // the last bytes of the line, enough for a mark of the end of reasoning
	fence   string // the fence of the code block that is open
	item    bool   // the last line that wasn't indented begins an item of a list
	cited   bool   // the line before is part of a blockquote
	thought bool   // the reasoning has ended
	quotation
}

// standing says what a form is that stands at a place.
type standing int

const (
	meant  standing = iota // it begins the answer or a line: a call
	inline                 // it is part of a line, an item or a quotation
	shown                  // it is code, or in quotation marks
)

// see takes text that was handed out.
func (p *place) see(text string) {
	for i := range len(text) {
		if len(p.part) == 0 && text[i] < utf8.RuneSelf {
			p.character(rune(text[i]))
			continue
		}
		p.part = append(p.part, text[i])
		for part := p.part; utf8.FullRune(part); part = p.part {
			r, n := utf8.DecodeRune(part)
			p.part = part[:copy(part, part[n:])]
			p.character(r)
		}
	}
}

func (p *place) character(r rune) {
	p.quote(r, p.prev, p.code)
	if r == '\n' {
		p.newline()
		return
	}
	if r == '`' && p.prev != '`' {
		p.ticks++
	}
	p.prev = r
	if len(p.line) < mostLine {
		p.line = utf8.AppendRune(p.line, r)
	} else {
		p.long = true
	}
	if len(p.tail) == len(thoughtEnds[0]) {
		p.tail = p.tail[:copy(p.tail, p.tail[1:])]
	}
	if p.tail = append(p.tail, byte(min(r, utf8.RuneSelf))); p.thought || r != '>' && r != ']' || p.code() {
		return
	}
	for _, end := range thoughtEnds {
		if strings.HasSuffix(string(p.tail), end) {
			*p = place{thought: true}
		}
	}
}

func (p *place) newline() {
	line := string(p.line)
	run, rest := fenceOf(line)
	switch {
	case run == "":
	case p.fence == "":
		p.fence = run
	case run[0] == p.fence[0] && len(run) >= len(p.fence) && strings.TrimSpace(rest) == "" && !p.long:
		p.fence = ""
	}
	text := strings.TrimSpace(line)
	p.cited = strings.HasPrefix(text, ">") && strings.Trim(text, "> ") != ""
	switch {
	case text == "":
		p.paragraph()
	case line[0] != ' ' && line[0] != '\t':
		p.item = isItem(text)
	}
	p.line, p.long, p.ticks, p.prev, p.tail = p.line[:0], false, 0, 0, p.tail[:0]
}

// isItem reports whether a line begins an item of a list.
func isItem(line string) bool {
	mark, _, _ := strings.Cut(line, " ")
	if mark == "-" || mark == "*" || mark == "+" {
		return true
	}
	number := strings.TrimRight(mark, ".)")
	return len(mark) == len(number)+1 && number != "" && strings.Trim(number, "0123456789") == ""
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

// code reports whether what follows is in a block or a span of code.
func (p *place) code() bool {
	run, _ := fenceOf(string(p.line))
	return p.fence != "" || run != "" || p.ticks%2 == 1
}

// stands says what a form is that follows.
func (p *place) stands() standing {
	line := string(p.line)
	text := strings.TrimLeft(line, " \t")
	indented := text == "" && !p.long && (len(line) >= 4 || strings.Contains(line, "\t"))
	switch {
	case p.code() || indented || strings.HasPrefix(text, ">"):
		return shown
	case strings.TrimSpace(text) != "" || p.long:
		if p.open() || strings.ContainsRune("`\"'([{“”„‘’«»‹›「『", p.prev) {
			return shown
		}
		return inline
	case p.open() || p.cited || p.item && line != "":
		return inline
	}
	return meant
}
