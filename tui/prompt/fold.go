package prompt

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// The name of a folded paste behaves as one unit in the text, and so does a
// character of several code points, such as an emoji of a family: the caret
// never stops inside it, and a key that would delete part of it deletes all of
// it.

func pasteName(i int, text string) string {
	if lines := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1; lines > 1 {
		return fmt.Sprintf("[paste %d: %d lines]", i+1, lines)
	}
	return fmt.Sprintf("[paste %d: %d characters]", i+1, utf8.RuneCountInString(text))
}

// maxKnown is how many folded pastes are remembered.
const maxKnown = 32

// fold gives a text a name to stand for it.
func (p *Prompt) fold(text string) string {
	p.pastes = append(p.pastes, text)
	return pasteName(len(p.pastes)-1, text)
}

// Know folds a text wherever it comes back, as if it had been pasted.
func (p *Prompt) Know(text string) { p.know(text) }

// know remembers a paste that was folded.
func (p *Prompt) know(text string) {
	p.known = append(slices.DeleteFunc(p.known, func(k string) bool { return k == text }), text)
	p.known = p.known[max(0, len(p.known)-maxKnown):]
}

// refold folds what was folded before in a text that comes back. Sending drops
// the space at the end.
func (p *Prompt) refold(text string) string {
	for _, full := range p.known {
		if strings.Contains(text, full) {
			text = strings.ReplaceAll(text, full, p.fold(full))
		} else if bare := strings.TrimRight(full, " \n"); bare != "" && strings.HasSuffix(text, bare) {
			text = strings.TrimSuffix(text, bare) + p.fold(bare)
		}
	}
	return text
}

// span is a part of a text, in runes.
type span struct{ from, to int }

// units finds the names of pastes in a text, and the characters of several code
// points.
func (p *Prompt) units(text []rune) []span {
	out := clusters(string(text))
	for i, full := range p.pastes {
		name := []rune(pasteName(i, full))
		for at := 0; at+len(name) <= len(text); at++ {
			if slices.Equal(text[at:at+len(name)], name) {
				out = append(out, span{at, at + len(name)})
			}
		}
	}
	return out
}

// clusters finds the characters of several code points in a text.
func clusters(text string) []span {
	var out []span
	if strings.IndexFunc(text, func(c rune) bool { return c >= firstJoining }) < 0 {
		return nil
	}
	for at := 0; text != ""; {
		c, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		n := utf8.RuneCountInString(c)
		if n > 1 {
			out = append(out, span{at, at + n})
		}
		at, text = at+n, text[len(c):]
	}
	return out
}

// firstJoining is the first code point that can join another: most texts have
// none, and need no look at each character.
const firstJoining = 0x300

// caret is the caret's position in the text.
func (p *Prompt) caret() int {
	at := p.area.Column()
	for i, line := range strings.Split(p.area.Value(), "\n") {
		if i == p.area.Line() {
			break
		}
		at += utf8.RuneCountInString(line) + 1
	}
	return at
}

func (p *Prompt) setCaret(at int) {
	p.area.MoveToBegin()
	lines := strings.Split(p.area.Value(), "\n")
	line := 0
	for line < len(lines)-1 && at > utf8.RuneCountInString(lines[line]) {
		at -= utf8.RuneCountInString(lines[line]) + 1
		line++
	}
	for p.area.Line() < line {
		p.area.CursorDown()
	}
	p.area.SetCursorColumn(at)
}

// mend repairs units after a key. Text and caret are from before the key.
func (p *Prompt) mend(text string, caret int) {
	before, after := []rune(text), []rune(p.area.Value())
	units := p.units(before)
	if len(units) == 0 {
		return
	}
	if p.area.Value() == text {
		p.leap(units, caret)
		return
	}
	from, most := 0, min(len(before), len(after), caret, p.caret()) // which of two equal characters it was, the caret says
	for from < most && before[from] == after[from] {
		from++
	}
	tail := 0
	for tail < min(len(before), len(after))-from && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	cut := span{from, len(before) - tail}
	put := after[from : len(after)-tail]
	whole := cut
	for _, f := range units {
		if cut.from < f.to && f.from < cut.to {
			whole = span{min(whole.from, f.from), max(whole.to, f.to)}
		}
	}
	if whole != cut {
		p.area.SetValue(string(slices.Concat(before[:whole.from], put, before[whole.to:])))
		p.setCaret(whole.from + len(put))
	}
}

// leap moves a caret that stopped inside a unit to whichever end it was heading
// for.
func (p *Prompt) leap(units []span, before int) {
	at := p.caret()
	for _, f := range units {
		if f.from < at && at < f.to {
			if at < before {
				p.setCaret(f.from)
			} else {
				p.setCaret(f.to)
			}
			return
		}
	}
}
