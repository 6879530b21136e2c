package core

import "slices"

// The keys of Agent.Extra that limit what of its files an agent sees at once, under the contract's names.
const (
	ExtraMaxFilesOpen  = "max_files_open"
	ExtraFileViewChars = "per_file_view_window_char_limit"
)

// The bounds of those limits, whatever was asked for.
const (
	maxFilesOpen     = 1000
	maxFileViewChars = 1_000_000
)

// FileLimits bound what of its files an agent sees at once.
type FileLimits struct {
	Open  int // files open at once
	Chars int // of the view of one file
}

// FileLimitsOf returns the limits of an agent: its own, and where it has none those that suit a context window of so many
// tokens (0: not known).
func FileLimitsOf(a *Agent, window int) FileLimits {
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
	if window <= 0 {
		l = FileLimits{5, 15_000}
	}
	if n, ok := extraNumber(a.Extra[ExtraMaxFilesOpen]); ok {
		l.Open = min(max(n, 1), maxFilesOpen)
	}
	if n, ok := extraNumber(a.Extra[ExtraFileViewChars]); ok {
		l.Chars = min(max(n, 1), maxFileViewChars)
	}
	return l
}

// extraNumber reads a number that was given by a program, or read back from JSON.
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

// FileName is what agents call a file.
func FileName(folder *Folder, file *File) string { return folder.Name + "/" + file.Name }

// LeastRecent returns which open files must be closed so that not more than most are open once these are opened: those
// used longest ago. opened is in the order of FileStore.Opened, those used last first.
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
