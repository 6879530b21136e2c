package core

import "slices"

// The keys of Agent.Extra, named as in the contract, that limit how much of its files an agent sees at once.
const (
	ExtraMaxFilesOpen  = "max_files_open"
	ExtraFileViewChars = "per_file_view_window_char_limit"
)

// The bounds of those limits, whatever the agent asks for.
const (
	maxFilesOpen     = 1000
	maxFileViewChars = 1_000_000
)

// FileLimits limit how much of its files an agent sees at once.
type FileLimits struct {
	Open  int // files open at once
	Chars int // of the view of one file
}

// FileLimitsOf returns the agent's own limits or, if it has none, limits that suit the context window in force.
func FileLimitsOf(a *Agent, window int) FileLimits {
	window = ShownWindow(a, window)
	var l FileLimits
	switch {
	case window <= 8_192:
		l = FileLimits{3, 5_000}
	case window <= 32_768:
		l = FileLimits{5, 15_000}
	case window <= 131_072:
		l = FileLimits{10, 25_000}
	case window <= 200_000:
		l = FileLimits{10, 40_000}
	default:
		l = FileLimits{15, 40_000}
	}
	if n, ok := extraNumber(a.Extra[ExtraMaxFilesOpen]); ok {
		l.Open = min(max(n, 1), maxFilesOpen)
	}
	if n, ok := extraNumber(a.Extra[ExtraFileViewChars]); ok {
		l.Chars = min(max(n, 1), maxFileViewChars)
	}
	return l
}

// extraNumber reads a number that was set by a program, or read back from JSON.
func extraNumber(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case *int:
		if n != nil {
			return *n, true
		}
	case float64:
		return int(min(max(n, 0), 1<<30)), true
	}
	return 0, false
}

// FileName is the name agents use for a file.
func FileName(folder *Folder, file *File) string { return folder.Name + "/" + file.Name }

// LeastRecent returns which open files to close, least recently used first, so that at most most are open once those in
// opening are. opened is in the order of FileStore.Opened: most recently used first.
func LeastRecent(opened []OpenFile, opening []FileID, most int) []FileID {
	room := most - len(opening)
	var out []FileID
	for _, o := range opened {
		if !o.Open || slices.Contains(opening, o.File) {
			continue
		}
		if room--; room < 0 {
			out = append(out, o.File)
		}
	}
	return out
}
