package mirror

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The layout of a memory folder.
const (
	blocksDir = "system"
	extension = ".md"
	// generated is a view of the folder that Letta Code writes for itself; it isn't anybody's memory.
	generated = blocksDir + "/memory_filesystem" + extension
	maxDepth  = 16
	maxName   = 200 // bytes per path element; file systems allow 255, and a conflict adds to it
)

// pathOf returns the file for a label, or why it has none.
func pathOf(label string) (file, problem string) {
	if path.Clean(label) != label || strings.HasPrefix(label, "/") || strings.Count(label, "/") >= maxDepth {
		return "", "its label is no path"
	}
	for part := range strings.SplitSeq(label, "/") {
		switch {
		case strings.HasPrefix(part, "."):
			return "", "a part of its label begins with a dot"
		case len(part) > maxName:
			return "", "its label is too long for a file name"
		case unconflicted(part) != part:
			return "", "its label is named like a conflict"
		}
	}
	file = blocksDir + "/" + label + extension
	if file == generated {
		return "", "its label is reserved"
	}
	return file, ""
}

// labelOf returns the label that a file is named after.
func labelOf(file string) string {
	return strings.TrimSuffix(strings.TrimPrefix(file, blocksDir+"/"), extension)
}

// conflictMark separates a file's name from the number of a text that was saved from it.
const conflictMark = ".conflict-"

// unconflicted returns a name without the mark and number of a conflict, if it has them.
func unconflicted(name string) string {
	at := strings.LastIndex(name, conflictMark)
	if at < 0 {
		return name
	}
	number := name[at+len(conflictMark):]
	if number == "" || strings.Trim(number, "0123456789") != "" {
		return name
	}
	return name[:at]
}

// isConflict reports whether a file holds the losing text of a conflict.
func isConflict(file string) bool { return conflictOf(file) != file }

// conflictPath returns the n-th name for a text that was found in a file and must not be lost.
func conflictPath(file string, n int) string {
	return strings.TrimSuffix(file, extension) + conflictMark + strconv.Itoa(n) + extension
}

// conflictOf returns the file that a conflict belongs to.
func conflictOf(file string) string {
	return unconflicted(strings.TrimSuffix(file, extension)) + extension
}

// fold maps names to the same text if some file systems treat them as equal.
func fold(file string) string { return strings.ToLower(file) }

// readable reports whether a name can be a file of a memory folder at all: hidden files and other kinds are skipped.
func readable(name string) bool {
	return strings.HasSuffix(name, extension) && !strings.HasPrefix(name, ".") && utf8.ValidString(name)
}
