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
	// generated is a view of the folder that Letta Code writes for itself; it is nobody's memory.
	generated = blocksDir + "/memory_filesystem" + extension
	maxDepth  = 16
	maxName   = 200 // bytes of a part of a path; file systems take 255, and a conflict adds to it
)

// pathOf returns the file of a label, or why it has none.
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

// labelOf returns the label that a file is named for.
func labelOf(file string) string {
	return strings.TrimSuffix(strings.TrimPrefix(file, blocksDir+"/"), extension)
}

// conflictMark stands between the name of a file and the number of a text that was found in it.
const conflictMark = ".conflict-"

// unconflicted is a name without the mark and number of a conflict, if it has them.
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

// isConflict says whether a file holds the losing text of a conflict.
func isConflict(file string) bool { return conflictOf(file) != file }

// conflictPath is the n-th name for a text that was found in a file and must not be lost.
func conflictPath(file string, n int) string {
	return strings.TrimSuffix(file, extension) + conflictMark + strconv.Itoa(n) + extension
}

// conflictOf is the file that a conflict belongs to.
func conflictOf(file string) string {
	return unconflicted(strings.TrimSuffix(file, extension)) + extension
}

// fold makes names equal that some file systems hold for the same.
func fold(file string) string { return strings.ToLower(file) }

// readable says whether a name can be a file of a memory folder at all: hidden files and other kinds are not looked at.
func readable(name string) bool {
	return strings.HasSuffix(name, extension) && !strings.HasPrefix(name, ".") && utf8.ValidString(name)
}
