package shellline

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// literal is a word whose value is known before it runs, or the names that a pattern stands for.
type literal struct {
	text string
	glob bool // it stands for the files that match it, if any
}

// literal returns the value of a word; ok is false if it is only known when the line runs.
func (w *walk) literal(word *syntax.Word) (value literal, ok bool) {
	var text strings.Builder
	for i, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			plain, glob, known := unescape(p.Value, i == 0)
			if !known {
				return literal{}, false
			}
			value.glob = value.glob || glob
			text.WriteString(plain)
		case *syntax.SglQuoted:
			if p.Dollar {
				return literal{}, false
			}
			text.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return literal{}, false
			}
			for _, inner := range p.Parts {
				lit, plain := inner.(*syntax.Lit)
				if !plain {
					return literal{}, false
				}
				text.WriteString(unquote(lit.Value))
			}
		default:
			return literal{}, false
		}
	}
	value.text = text.String()
	return value, true
}

// unescape reads text outside of quotes. Known is false where the shell would replace a home folder or braces.
func unescape(text string, first bool) (plain string, glob, known bool) {
	if first && strings.HasPrefix(text, "~") {
		return "", false, false
	}
	var b strings.Builder
	brace := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] != '\n' {
				b.WriteByte(text[i])
			}
			continue
		case strings.IndexByte("*?[", c) >= 0:
			glob = glob || text != "["
		case c == '{':
			brace = true
		case brace && (c == ',' || c == '.' && strings.HasPrefix(text[i:], "..")):
			return "", false, false
		}
		b.WriteByte(text[i])
	}
	// what a brace opens may go on in the next part of the word
	return b.String(), glob, !brace || text == "{}" || strings.Contains(text, "@{") && strings.HasSuffix(text, "}")
}

// unquote reads text between double quotes, where a backslash protects only what would be special there.
func unquote(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0 {
			i++
			if text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// fileOf returns the part of a word that may name a file: an option's value, or the whole word.
func fileOf(word string) string {
	if !strings.HasPrefix(word, "-") {
		return word
	}
	if _, value, ok := strings.Cut(word, "="); ok {
		return value
	}
	if len(word) > 2 && word[1] != '-' {
		return word[2:]
	}
	return ""
}

// hidesFile reports whether short options that stand together may end in the name of a file that is not in the folder.
func hidesFile(word string) bool {
	return strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && (strings.Contains(word, "/") || strings.Contains(word, ".."))
}

// path returns the absolute path that a word names where the line begins.
func (w *walk) path(word string) string {
	if filepath.IsAbs(word) {
		return filepath.Clean(word)
	}
	return filepath.Join(w.at.Dir, word)
}

// outside reports whether a word may name something outside of the workspace.
func (w *walk) outside(word string) bool {
	if word == "/dev/null" {
		return false
	}
	if !filepath.IsAbs(word) {
		up := strings.TrimLeft(word+"/", "./") // ".." after a name may follow a link
		if hasDots(up) || w.moved && hasDots(word) {
			return true
		}
	} else if hasDots(word) {
		return true
	}
	path := w.path(word)
	return !Inside(w.at.Root, path) && !slices.ContainsFunc(w.at.Beside, func(dir string) bool { return Inside(dir, path) })
}

// hasDots reports whether ".." is an element of the path.
func hasDots(path string) bool {
	for element := range strings.SplitSeq(path, "/") {
		if element == ".." {
			return true
		}
	}
	return false
}

// Inside reports whether a cleaned path is the root or below it.
func Inside(root, path string) bool {
	if root == "" {
		return false
	}
	rest, below := strings.CutPrefix(path, strings.TrimSuffix(root, "/"))
	return below && (rest == "" || rest[0] == '/')
}
