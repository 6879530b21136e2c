package shellline

import (
	"slices"
	"strings"

	"loci/core"
)

// Pattern is what a rule says about a command: a pattern for each word. A star at the end, as a word of its own, stands
// for any further words.
type Pattern struct {
	words []glob
	open  bool // any further words
}

// glob matches one word: a text in which stars stand for anything.
type glob []string // the texts between the stars

// ParsePattern reads a pattern: words between spaces, with quotes and backslashes as a shell has them. In what is quoted,
// a star is a star.
func ParsePattern(text string) (Pattern, error) {
	var p Pattern
	words, err := splitPattern(text)
	if err != nil {
		return p, err
	}
	if n := len(words); n > 0 && len(words[n-1]) == 2 && words[n-1][0] == "" && words[n-1][1] == "" {
		p.open, words = true, words[:n-1]
	}
	p.words = words
	if len(words) == 0 && !p.open {
		return p, core.E(core.Invalid, "the pattern is empty")
	}
	return p, nil
}

// splitPattern splits a pattern into words, and each word at its stars.
func splitPattern(text string) ([]glob, error) {
	var words []glob
	word, begun := glob{""}, false
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quote != '\'':
			if i++; i == len(text) {
				return nil, core.E(core.Invalid, "the pattern ends in a backslash")
			}
			c = text[i]
		case quote != 0 && c == quote:
			quote = 0
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
			continue
		case quote == 0 && c == '*':
			word, begun = append(word, ""), true
			continue
		case quote == 0 && (c == ' ' || c == '\t'):
			if begun {
				words = append(words, word)
			}
			word, begun = glob{""}, false
			continue
		}
		word[len(word)-1] += string([]byte{c})
		begun = true
	}
	if quote != 0 {
		return nil, core.E(core.Invalid, "the pattern has an open quote")
	}
	if begun {
		words = append(words, word)
	}
	return words, nil
}

// Match reports whether the pattern stands for the words.
func (p Pattern) Match(words []string) bool {
	if len(words) < len(p.words) || len(words) > len(p.words) && !p.open {
		return false
	}
	for i, g := range p.words {
		if !g.match(words[i]) {
			return false
		}
	}
	return true
}

// Exact reports whether the pattern stands for one command alone.
func (p Pattern) Exact() bool {
	return !p.open && !slices.ContainsFunc(p.words, func(g glob) bool { return len(g) > 1 })
}

// Literals returns the words that the pattern has whole, without a star.
func (p Pattern) Literals() []string {
	var words []string
	for _, g := range p.words {
		if len(g) == 1 {
			words = append(words, g[0])
		}
	}
	return words
}

func (g glob) match(word string) bool {
	rest, ok := strings.CutPrefix(word, g[0])
	if !ok {
		return false
	}
	if len(g) == 1 {
		return rest == ""
	}
	for _, text := range g[1 : len(g)-1] {
		i := strings.Index(rest, text)
		if i < 0 {
			return false
		}
		rest = rest[i+len(text):]
	}
	return strings.HasSuffix(rest, g[len(g)-1])
}

// quoteAll writes words so that a shell and ParsePattern read them back.
func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

func quote(word string) string {
	plain := word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./:=,@%+", r)
	})
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
