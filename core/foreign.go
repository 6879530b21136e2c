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

// CameAfter returns those of the sources of a version, one a line, that a name stands for: the source itself, one that begins with
// the name where a part of it ends, or an address whose host lies below it. The scheme of an address names none, and the last part of
// a host names only itself.
func CameAfter(sources, name string) (which []string) {
	name = strings.ToLower(SourceName(strings.TrimSpace(name)))
	for source := range strings.Lines(sources) {
		if source = strings.TrimSpace(source); named(strings.ToLower(source), name) {
			which = append(which, source)
		}
	}
	return which
}

func named(source, name string) bool {
	scheme, bare, address := strings.Cut(source, "://")
	if !address {
		bare = source
	}
	rest, whole := strings.CutPrefix(name, scheme+"://")
	host := bare
	if i := strings.IndexAny(bare, "/?#:"); i >= 0 {
		host = bare[:i]
	}
	switch {
	case source == name:
		return name != ""
	case strings.Trim(rest, "/.:?# ") == "":
		return false
	case beginsWith(bare, rest):
		return true
	}
	return !whole && strings.Contains(name, ".") && strings.HasSuffix(host, "."+name)
}

// beginsWith reports whether a source begins with a name that ends where a part of it does.
func beginsWith(source, name string) bool {
	rest, ok := strings.CutPrefix(source, name)
	return ok && (rest == "" || strings.HasSuffix(name, "/") || strings.ContainsAny(rest[:1], "/?#: "))
}
