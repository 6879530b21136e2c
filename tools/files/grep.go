package files

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"unicode/utf8"

	"loci/core"
	"loci/core/ingest"
)

// GrepDoc tells a model what grep_files does.
const GrepDoc = "Search the attached files by a regular expression, line by line, upper and lower case alike. Shows the lines " +
	"found with their numbers."

// GrepArgs are the arguments of grep_files.
type GrepArgs struct {
	Pattern string `json:"pattern" jsonschema:"The regular expression (RE2: no look-around, no back references)."`
	Include string `json:"include,omitempty" jsonschema:"Only files whose name matches, e.g. *.md or notes/*."`
	Context *int   `json:"context_lines,omitempty" jsonschema:"Lines to show around each match, default 1."`
	Offset  *int   `json:"offset,omitempty" jsonschema:"How many matches to skip, for the next page."`
}

// noFiles is what a search says where nothing is attached.
const noFiles = "No files are currently attached to search"

// Grep is grep_files.
func Grep(ctx context.Context, args GrepArgs, env core.ToolEnv) (core.ToolResult, error) {
	shelf, err := shelfOf(ctx, env.Read, env.Agent.ID)
	if err != nil {
		return core.ToolResult{}, err
	}
	wanted, err := ingest.Include(args.Include)
	if err != nil {
		return core.ToolResult{}, err
	}
	q := ingest.GrepQuery{Pattern: args.Pattern}
	if args.Context != nil {
		q.Context = core.Some(*args.Context)
	}
	if args.Offset != nil {
		q.Offset = *args.Offset
	}
	found, err := ingest.Grep(ctx, shelf.lines(ctx, wanted, ingest.Needed(args.Pattern)), q)
	if ctx.Err() != nil {
		return core.ToolResult{}, context.Cause(ctx)
	}
	if err == nil && found.Looked == 0 {
		return shelf.nothing(ctx, args.Include)
	}
	return told(found, err, env.MaxReturn)
}

// told is what a model reads of a search. One that was cut short by time is no success, whatever it found until then: it
// does not say what there is.
func told(found ingest.GrepResult, err error, room int) (core.ToolResult, error) {
	switch {
	case core.KindOf(err) == core.Timeout && found.Looked > 0:
		note := fmt.Sprintf(
			"\n\nThe search is not complete: it stopped after %s, when %d files had been searched. Name fewer files with include, "+
				"or use a simpler pattern.",
			ingest.GrepTime,
			found.Looked,
		)
		return core.ToolError(fit(found, room-utf8.RuneCountInString(note)) + note), nil
	case core.KindOf(err) == core.Timeout:
		return core.ToolResult{}, core.E(core.Invalid, "%v", err)
	case err != nil:
		return core.ToolResult{}, err
	}
	return core.ToolResult{Text: fit(found, room)}, nil
}

// How many files are read at once, while those before are searched: so many, of so many characters together.
const (
	maxAhead      = 256
	maxAheadChars = 4 << 20
)

// lines gives the wanted files that have been read, in their order; those without a word that is needed have no lines.
func (s *shelf) lines(ctx context.Context, wanted func(string) bool, word string) iter.Seq2[ingest.GrepFile, error] {
	return func(yield func(ingest.GrepFile, error) bool) {
		var ready []grepFile
		var next []core.File
		chars := 0
		// turn gives what is ready while the next files are read.
		turn := func() (more bool) {
			var read []grepFile
			var wg sync.WaitGroup
			wg.Go(func() { read = s.load(ctx, next, word) })
			more = give(ready, yield)
			wg.Wait()
			ready, next, chars = read, next[:0], 0
			return more
		}
		for f, err := range s.all(ctx) {
			if err != nil {
				yield(ingest.GrepFile{}, err)
				return
			}
			if !wanted(s.name(&f)) {
				continue
			}
			next, chars = append(next, f), chars+f.Chars
			if (len(next) == maxAhead || chars > maxAheadChars) && !turn() {
				return
			}
		}
		if turn() {
			give(ready, yield)
		}
	}
}

// give yields what was read; it reports whether more is wanted.
func give(files []grepFile, yield func(ingest.GrepFile, error) bool) (more bool) {
	for _, l := range files {
		if (l.ok || l.err != nil) && (!yield(l.file, l.err) || l.err != nil) {
			return false
		}
	}
	return true
}

// grepFile is a file with its lines; neither ok nor an error: it has not been read yet, or was deleted meanwhile.
type grepFile struct {
	file ingest.GrepFile
	ok   bool
	err  error
}

// load reads files side by side, some at a time: taking a text apart is most of the work of a search.
func (s *shelf) load(ctx context.Context, files []core.File, word string) []grepFile {
	out := make([]grepFile, len(files))
	parts := min(runtime.GOMAXPROCS(0), len(files))
	var wg sync.WaitGroup
	for i := range parts {
		from, to := i*len(files)/parts, (i+1)*len(files)/parts
		wg.Go(func() { s.loadPart(ctx, files[from:to], word, out[from:to]) })
	}
	wg.Wait()
	return out
}

func (s *shelf) loadPart(ctx context.Context, files []core.File, word string, out []grepFile) {
	at := make(map[core.FileID]int, len(files))
	ids := make([]core.FileID, len(files))
	for i := range files {
		ids[i], at[files[i].ID] = files[i].ID, i
	}
	docs, err := s.files.Documents(ctx, ids, word)
	if err != nil {
		out[0].err = err
		return
	}
	for _, d := range docs {
		i := at[d.File]
		out[i] = grepFile{file: ingest.GrepFile{Name: s.name(&files[i])}, ok: true}
		if !d.Without {
			out[i].file.Lines = ingest.Lines(d.Doc)
		}
	}
}

// nothing says why no file was searched.
func (s *shelf) nothing(ctx context.Context, include string) (core.ToolResult, error) {
	n, err := s.count(ctx)
	switch {
	case err != nil:
		return core.ToolResult{}, err
	case n == 0:
		return core.ToolResult{Text: noFiles}, nil
	case include != "":
		return core.ToolResult{
			Text: fmt.Sprintf("None of the %d attached files that matches %q can be searched", n, clip(include, 200)),
		}, nil
	default:
		return core.ToolResult{Text: "None of the attached files has been read yet; try again in a moment"}, nil
	}
}

// count returns how many files the shelf holds, those of these states if any are given.
func (s *shelf) count(ctx context.Context, status ...core.FileStatus) (int, error) {
	if len(s.folders) == 0 {
		return 0, nil
	}
	return s.files.Count(ctx, core.FileFilter{Folders: s.ids(), Status: status})
}

// fit writes a page of matches, as many of them as there is room for; the rest is on the next page.
func fit(r ingest.GrepResult, room int) string {
	text := r.String()
	for room > 0 && len(r.Matches) > 1 && utf8.RuneCountInString(text) > room {
		r.Matches = r.Matches[:len(r.Matches)-1]
		text = r.String()
	}
	return text
}
