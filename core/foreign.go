package core

import (
	"slices"
	"strings"
	"unicode"
)

// foreignTag marks texts that come from outside.
const foreignTag = "foreign"

// maxSource bounds what is kept of where a text comes from, in characters.
const maxSource = 300

// Foreign marks a text that comes from outside, so that a model can tell it from what people and the house say. The text can't
// end the mark, or begin another one.
func Foreign(source, text string) string {
	return "<" + foreignTag + ` from="` + SourceName(source) + "\">\n" + Untagged(strings.TrimSuffix(text, "\n"), foreignTag) +
		"\n</" + foreignTag + ">"
}

// SourceName is where a text comes from, as it is kept and shown: one line, bounded, without what could end a mark.
func SourceName(source string) string {
	source = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '"':
			return '\''
		case r == '<':
			return '‹'
		case r == '>':
			return '›'
		case !unicode.IsGraphic(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(source, "\ufffd"))
	if r := []rune(source); len(r) > maxSource {
		return string(r[:maxSource-1]) + "…"
	}
	return source
}

// foreignFolders are the folders of a project in which package managers and people keep what others wrote.
func foreignFolders() []string {
	return []string{
		"node_modules", "bower_components", "vendor", "third_party", ".venv", "venv", "site-packages", "dist-packages", "Pods", ".cargo",
		".m2", ".gradle", ".yarn", "go-mod",
	}
}

// ForeignPath reports whether a path, with slashes, leads into a folder that holds what others wrote.
func ForeignPath(path string) bool {
	parts := strings.Split(path, "/")
	return strings.Contains("/"+path, "/go/pkg/mod/") ||
		slices.ContainsFunc(foreignFolders(), func(name string) bool { return slices.Contains(parts, name) })
}

// CameAfter reports whether one of the sources of a version, one a line, is the wanted one: exactly, or an address that begins
// with it at one of its parts, or whose host it is or lies below.
func CameAfter(sources, wanted string) bool {
	wanted = strings.ToLower(SourceName(strings.TrimSpace(wanted)))
	for source := range strings.Lines(sources) {
		source = strings.ToLower(strings.TrimSpace(source))
		_, bare, _ := strings.Cut(source, "://")
		host, _, _ := strings.Cut(bare, "/")
		if wanted != "" && (beginsWith(source, wanted) || beginsWith(bare, wanted) || strings.HasSuffix(source, "."+wanted) ||
			strings.HasSuffix(host, "."+wanted)) {
			return true
		}
	}
	return false
}

// beginsWith reports whether an address begins with another one that ends where a part of it does.
func beginsWith(source, wanted string) bool {
	rest, ok := strings.CutPrefix(source, wanted)
	return ok && (rest == "" || strings.HasSuffix(wanted, "/") || strings.ContainsAny(rest[:1], "/?#: "))
}
