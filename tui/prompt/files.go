package prompt

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"loci/tui/transcript"
)

// Files are the names that @ completes.
type Files struct {
	names   []string
	lower   []string
	partial bool // there are more
}

// NewFiles takes names, which may have been made up by anybody: those that can't be shown are left out.
func NewFiles(names []string, partial bool) *Files {
	f := &Files{partial: partial}
	for _, name := range names {
		if !strings.ContainsAny(name, "\"\n\t") && !strings.ContainsFunc(name, unicode.IsControl) && transcript.Reveal(name) == name {
			f.names, f.lower = append(f.names, name), append(f.lower, strings.ToLower(name))
		}
	}
	return f
}

// filesMost is how many names are offered.
const filesMost = 50

// match finds the names that a word means, the likeliest first: where it stands in the file's own name before elsewhere in its
// path, and both before letters of it that stand apart.
func (f *Files) match(word string) []string {
	word = strings.ToLower(word)
	type hit struct{ rank, length, at int }
	var hits []hit
	for i, name := range f.lower {
		if rank := rankOf(name, word); rank >= 0 {
			hits = append(hits, hit{rank, len(name), i})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.length, b.length), cmp.Compare(a.at, b.at))
	})
	var out []string
	for _, h := range hits[:min(len(hits), filesMost)] {
		out = append(out, f.names[h.at])
	}
	return out
}

// rankOf says how well a word stands for a name, the lower the better; below zero: not at all.
func rankOf(name, word string) int {
	own := name[strings.LastIndexByte(name, '/')+1:]
	switch {
	case name == word:
		return 0
	case own == word:
		return 1
	case strings.HasPrefix(own, word):
		return 2
	case strings.HasPrefix(name, word):
		return 3
	case strings.Contains(own, word):
		return 4
	case strings.Contains(name, word):
		return 5
	}
	rest := name
	for _, c := range word {
		i := strings.IndexRune(rest, c)
		if i < 0 {
			return -1
		}
		rest = rest[i+len(string(c)):]
	}
	return 6
}

// SetFiles gives the prompt names to complete.
func (p *Prompt) SetFiles(f *Files) { p.files, p.found = f, nil }

// WantsFiles reports whether a name is being typed that names could complete.
func (p *Prompt) WantsFiles() bool {
	_, _, ok := p.mention()
	return ok && !p.closed
}

// mention is the word behind an @ in which the caret is, and where it begins, in characters.
func (p *Prompt) mention() (word string, from int, ok bool) {
	before := []rune(p.area.Value())
	before = before[:min(p.caret(), len(before))]
	quoted := false
	for i := len(before) - 1; i >= 0; i-- {
		switch c := before[i]; {
		case c == '@' && (i == 0 || unicode.IsSpace(before[i-1])):
			word = string(before[i+1:])
			return strings.TrimPrefix(word, `"`), i, !quoted || strings.HasPrefix(word, `"`)
		case c == '"':
			if quoted {
				return "", 0, false
			}
			quoted = true
		case c == '\n', len(before)-i > 300:
			return "", 0, false
		case unicode.IsSpace(c) && !quoted && !openQuote(before[:i]):
			return "", 0, false
		}
	}
	return "", 0, false
}

// openQuote reports whether an @" stands open at the end of a text.
func openQuote(before []rune) bool {
	text := string(before)
	i := strings.LastIndex(text, `@"`)
	return i >= 0 && !strings.Contains(text[i+2:], `"`)
}

// matches are the names that the word at the caret may mean.
func (p *Prompt) matches() []string {
	if p.files == nil || p.closed {
		return nil
	}
	word, _, ok := p.mention()
	if !ok {
		return nil
	}
	if p.found == nil || p.found.word != word {
		p.found = &foundFiles{word, p.files.match(word)}
	}
	if len(p.found.names) == 1 && p.found.names[0] == word {
		return nil // there is nothing to complete
	}
	return p.found.names
}

// foundFiles are the names found for a word.
type foundFiles struct {
	word  string
	names []string
}

// complete puts a name in the place of the word at the caret.
func (p *Prompt) complete(name string) {
	_, from, ok := p.mention()
	if !ok {
		return
	}
	text, to := []rune(p.area.Value()), p.caret()
	p.area.SetValue(string(text[:from]) + Mention(name) + " " + string(text[to:]))
	p.setCaret(from + len([]rune(Mention(name))) + 1)
	p.touched()
}

// Mention is how a message names a file.
func Mention(name string) string {
	if strings.ContainsFunc(name, unicode.IsSpace) || strings.TrimRight(name, ".,;:!?)") != name {
		return `@"` + name + `"`
	}
	return "@" + name
}
