package ingest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"loci/core"
)

// Limits on a search by regular expression.
const (
	MaxPattern   = 1000            // characters of a pattern
	MaxProgram   = 5000            // instructions it may compile to
	GrepPage     = 20              // matches on a page
	GrepTime     = 3 * time.Second // of one search
	maxContext   = 20              // lines before and after
	maxRowChars  = 1000            // of a line in a result
	grepBatch    = 64              // files searched in parallel
	maxNamed     = 50              // files listed with their count
	straightScan = 4 << 10         // bytes matched without checking the clock
)

// GrepQuery asks for lines that match a regular expression, ignoring case.
type GrepQuery struct {
	Pattern string
	Include string        // which files; empty: all
	Context core.Opt[int] // lines before and after a match, 1 if unset
	Offset  int           // matches to skip
}

// GrepFile is a file to search.
type GrepFile struct {
	Name  string
	Lines []Line
}

// GrepResult is one page of matches, with totals.
type GrepResult struct {
	Pattern string
	Total   int // matches in all files
	Looked  int // files searched to the end
	Offset  int
	Files   []GrepCount
	Matches []GrepMatch
}

// GrepCount says how many lines of a file match.
type GrepCount struct {
	Name  string
	Count int
}

// GrepMatch is a matching line with its context.
type GrepMatch struct {
	File  string
	Line  int      // from 1, as in a view
	Page  int      // 0 where the format has none
	First int      // number of Rows[0]
	Rows  []string // one for each line; of a long line that matches, the part around the match
}

// hit is a matching line: its first row, and the byte of the line where the match begins.
type hit struct{ row, at int }

// Grep searches files line by line, in order. Its time is bounded whatever the pattern and the files: matching is
// linear, the pattern's size is limited, and the clock is checked within long lines too. A pattern that is wrong or too
// large is invalid; running out of time is a timeout, returned with what was found so far.
func Grep(ctx context.Context, files iter.Seq2[GrepFile, error], q GrepQuery) (GrepResult, error) {
	re, err := compile(q.Pattern)
	if err != nil {
		return GrepResult{}, err
	}
	wanted, err := Include(q.Include)
	if err != nil {
		return GrepResult{}, err
	}
	around := q.Context.Or(1)
	if around < 0 || around > maxContext || q.Offset < 0 {
		return GrepResult{}, core.E(core.Invalid, "context lines must be 0 to %d and an offset cannot be negative", maxContext)
	}
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		GrepTime,
		core.E(core.Timeout, "searching for %q took longer than %s", q.Pattern, GrepTime).WithHint("use a simpler pattern or fewer files"),
	)
	defer cancel()
	out := GrepResult{Pattern: q.Pattern, Offset: q.Offset}
	var batch []GrepFile
	for file, err := range files {
		if err != nil {
			return out, cmp.Or(out.search(ctx, re, batch, around), err)
		}
		if !wanted(file.Name) {
			continue
		}
		if batch = append(batch, file); len(batch) < grepBatch {
			continue
		}
		if err := out.search(ctx, re, batch, around); err != nil {
			return out, err
		}
		batch = batch[:0]
	}
	return out, out.search(ctx, re, batch, around)
}

// search searches files in parallel and adds results in file order, up to the first file that wasn't finished.
func (r *GrepResult) search(ctx context.Context, re *regexp.Regexp, files []GrepFile, around int) error {
	hits, errs := make([][]hit, len(files)), make([]error, len(files))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				hits[i], errs[i] = matching(ctx, re, files[i].Lines)
			}
		})
	}
	wg.Wait()
	for i, file := range files {
		r.add(file, hits[i], around)
		if errs[i] != nil {
			return errs[i]
		}
		r.Looked++
	}
	return nil
}

// matching returns which lines match; a long line counts as a whole.
func matching(ctx context.Context, re *regexp.Regexp, lines []Line) (hits []hit, err error) {
	i := 0
	for n := 0; i < len(lines); n++ {
		if n%64 == 0 && ctx.Err() != nil {
			return hits, context.Cause(ctx)
		}
		next := endOf(lines, i)
		at, err := matches(ctx, re, whole(lines[i:next]))
		if err != nil {
			return hits, err
		}
		if at >= 0 {
			hits = append(hits, hit{i, at})
		}
		i = next
	}
	return hits, nil
}

// endOf returns the index behind the last piece of the line whose first is given.
func endOf(lines []Line, first int) int {
	end := first + 1
	for end < len(lines) && lines[end].Number == lines[first].Number {
		end++
	}
	return end
}

// whole joins the pieces of a line.
func whole(pieces []Line) string {
	if len(pieces) == 1 {
		return pieces[0].Text
	}
	var b strings.Builder
	for i := range pieces {
		b.WriteString(pieces[i].Text)
	}
	return b.String()
}

func (r *GrepResult) add(file GrepFile, hits []hit, around int) {
	if len(hits) == 0 {
		return
	}
	r.Files = append(r.Files, GrepCount{file.Name, len(hits)})
	for _, h := range hits {
		r.Total++
		if r.Total > r.Offset && len(r.Matches) < GrepPage {
			r.Matches = append(r.Matches, matchAt(file, h, around))
		}
	}
}

func matchAt(file GrepFile, h hit, around int) GrepMatch {
	line := file.Lines[h.row]
	first, last := max(1, line.Number-around), min(CountLines(file.Lines), line.Number+around)
	m := GrepMatch{File: file.Name, Line: line.Number, Page: line.Page, First: first}
	for i := rowOf(file.Lines, first); i < len(file.Lines) && file.Lines[i].Number <= last; {
		end := endOf(file.Lines, i)
		if i == h.row {
			m.Rows = append(m.Rows, excerpt(whole(file.Lines[i:end]), h.at))
		} else {
			m.Rows = append(m.Rows, excerpt(whole(file.Lines[i:min(end, i+3)]), 0)) // more than fits in a row
		}
		i = end
	}
	return m
}

// beforeMatch is how many characters of a long line are shown before the match.
const beforeMatch = 200

// excerpt returns as much of a line as fits in a row: from its start, or around the byte where a match begins.
func excerpt(line string, at int) string {
	lead := ""
	if head := firstRunes(line, maxRowChars-beforeMatch); len(head) < at {
		from := at
		for range beforeMatch {
			_, n := utf8.DecodeLastRuneInString(line[:from])
			from -= n
		}
		lead, line = "… ", line[from:]
	}
	row := firstRunes(line, maxRowChars)
	if len(row) < len(line) {
		return lead + row + " …"
	}
	return lead + row
}

// matches returns where a match begins; -1 if there is none. It checks the clock while reading a long line.
func matches(ctx context.Context, re *regexp.Regexp, line string) (int, error) {
	if len(line) <= straightScan {
		return begin(re.FindStringIndex(line)), nil
	}
	at := begin(re.FindReaderIndex(&clockReader{ctx: ctx, s: line}))
	if at < 0 && ctx.Err() != nil {
		return -1, context.Cause(ctx)
	}
	return at, nil
}

func begin(loc []int) int {
	if loc == nil {
		return -1
	}
	return loc[0]
}

// clockReader ends early when the context does.
type clockReader struct {
	ctx  context.Context // lives for one match
	s    string
	read int
}

func (c *clockReader) ReadRune() (rune, int, error) {
	if c.read++; c.read%1024 == 0 && c.ctx.Err() != nil || c.s == "" {
		return 0, 0, io.EOF
	}
	r, n := utf8.DecodeRuneInString(c.s)
	c.s = c.s[n:]
	return r, n, nil
}

// compile compiles a regular expression of limited size that ignores case.
func compile(pattern string) (*regexp.Regexp, error) { return Compile(pattern, syntax.FoldCase) }

// Compile compiles a regular expression of limited size.
func Compile(pattern string, flags syntax.Flags) (*regexp.Regexp, error) {
	switch n := utf8.RuneCountInString(pattern); {
	case n == 0:
		return nil, core.E(core.Invalid, "a search needs a pattern")
	case n > MaxPattern:
		return nil, core.E(core.Invalid, "the pattern has %d characters, more than the %d allowed", n, MaxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl|flags)
	if err != nil {
		return nil, core.E(core.Invalid, "the pattern %q is no regular expression: %v", pattern, err).
			WithHint(`put a \ before characters that are meant as they are; look-around and back references do not exist`)
	}
	if programSize(tree) > MaxProgram {
		return nil, core.E(core.Invalid, "the pattern %q is too large once its repetitions are counted", pattern).
			WithHint("use smaller counts in {}")
	}
	if flags&syntax.FoldCase != 0 {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, core.E(core.Invalid, "the pattern %q is no regular expression: %v", pattern, err)
	}
	return re, nil
}

// programSize estimates how large a syntax tree will be when compiled.
func programSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		if size += programSize(sub); size > MaxProgram {
			return size
		}
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return size
}

// minWord is the shortest word worth checking before a search; shorter ones occur in most texts.
const minWord = 3

// Needed returns the longest word of ASCII letters and digits that every match must contain, ignoring case; empty if
// there is none. A text without it need not be searched.
func Needed(pattern string) string {
	if utf8.RuneCountInString(pattern) > MaxPattern {
		return ""
	}
	tree, err := syntax.Parse(pattern, syntax.Perl|syntax.FoldCase)
	if err != nil {
		return ""
	}
	if word := neededBy(tree); len(word) >= minWord {
		return word
	}
	return ""
}

func neededBy(re *syntax.Regexp) string {
	best := ""
	switch re.Op {
	case syntax.OpLiteral:
		for _, word := range strings.FieldsFunc(string(re.Rune), func(r rune) bool {
			return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			if len(word) > len(best) {
				best = word
			}
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if word := neededBy(sub); len(word) > len(best) {
				best = word
			}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return neededBy(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return neededBy(re.Sub[0])
		}
	case syntax.OpNoMatch,
		syntax.OpEmptyMatch,
		syntax.OpCharClass,
		syntax.OpAnyCharNotNL,
		syntax.OpAnyChar,
		syntax.OpBeginLine,
		syntax.OpEndLine,
		syntax.OpBeginText,
		syntax.OpEndText,
		syntax.OpWordBoundary,
		syntax.OpNoWordBoundary,
		syntax.OpStar,
		syntax.OpQuest,
		syntax.OpAlternate:
		// they may match without any particular word
	}
	return best
}

// Next returns the offset of the next page, and whether there is one.
func (r GrepResult) Next() (int, bool) {
	next := r.Offset + len(r.Matches)
	return next, next < r.Total && len(r.Matches) > 0
}

// String renders the page as a tool returns it.
func (r GrepResult) String() string {
	switch {
	case r.Total == 0:
		return fmt.Sprintf("No matches found for pattern: '%s'", r.Pattern)
	case len(r.Matches) == 0:
		return fmt.Sprintf("Found %d total matches across %d files, none of them behind offset %d", r.Total, len(r.Files), r.Offset)
	}
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"Found %d total matches across %d files (showing matches %d-%d of %d)\n\nFiles with matches:\n",
		r.Total,
		len(r.Files),
		r.Offset+1,
		r.Offset+len(r.Matches),
		r.Total,
	)
	for i, f := range r.Files {
		if i == maxNamed {
			fmt.Fprintf(&b, "- and %d more files\n", len(r.Files)-i)
			break
		}
		fmt.Fprintf(&b, "- %s (%d matches)\n", f.Name, f.Count)
	}
	for _, m := range r.Matches {
		fmt.Fprintf(&b, "\n=== %s:%d ===\n", m.File, m.Line)
		for i, row := range m.Rows {
			mark := ' '
			if m.First+i == m.Line {
				mark = '>'
			}
			fmt.Fprintf(&b, "%c %d: %s\n", mark, m.First+i, row)
		}
	}
	if next, more := r.Next(); more {
		fmt.Fprintf(&b, "\n%d more matches: call again with offset=%d\n", r.Total-next, next)
	}
	return strings.TrimRight(b.String(), "\n")
}
