package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"loci/core"
	"loci/core/ingest"
)

// GrepDoc tells a model what grep does.
const GrepDoc = "Search the text files of the open folder line by line, without those that .gitignore leaves out."

// GrepArgs are the arguments of grep.
type GrepArgs struct {
	Pattern string `json:"pattern" jsonschema:"A regular expression (RE2); (?i) in front ignores case."`
	Path    string `json:"path,omitempty" jsonschema:"Only this file, or below this folder."`
	Glob    string `json:"glob,omitempty" jsonschema:"Only files with such names, e.g. *.go."`
	Context int    `json:"context,omitempty" jsonschema:"Lines to show before and after each match."`
	Literal bool   `json:"literal,omitempty" jsonschema:"The pattern is plain text."`
	Offset  *int   `json:"offset,omitempty" jsonschema:"How many matches to skip, for the rest of many."`
}

// Bounds of one search.
const (
	maxMatches    = 100 // shown at once
	maxCounted    = 10_000
	maxContext    = 20
	maxMatchChars = 300
	batch         = 256      // files read side by side
	chunk         = 64 << 10 // bytes searched without looking at the clock
)

// Grep is the tool grep.
func Grep(ctx context.Context, args GrepArgs, env core.ToolEnv) (core.ToolResult, error) {
	return within(ctx, env, args.Path, func(ctx context.Context, f *folder) (core.ToolResult, error) { return f.grep(ctx, args) })
}

// search is one grep under way.
type search struct {
	f       *folder
	re      *regexp.Regexp
	needed  []byte // every match holds it; empty: not known
	context int
	skip    int
	found   int // matches
	files   int // looked at
	large   int // left out for their size
	closed  int // left out by rules of permission
	b       strings.Builder
	shown   int
	sources []string // of what is shown
}

// fileMatches are the lines of a file that match.
type fileMatches struct {
	raw     []byte // as it stands on disk
	content []byte
	at      []int // offsets where the lines begin
	skipped bool  // too large
	looked  bool
}

func (f *folder) grep(ctx context.Context, args GrepArgs) (core.ToolResult, error) {
	s, wanted, err := f.newSearch(args)
	if err != nil {
		return core.ToolResult{}, err
	}
	from, isFile, err := f.start(args.Path)
	if err != nil {
		return core.ToolResult{}, err
	}
	full := false
	if isFile {
		err = s.batch(ctx, []string{from})
	} else {
		full, err = s.below(ctx, from, wanted)
	}
	slow := errors.Is(err, errSlow)
	if err != nil && (!slow || s.shown == 0) {
		return core.ToolResult{}, err
	}
	result := core.ToolResult{Text: s.told(args, slow), Source: strings.Join(s.sources, "\n")}
	return noted(result, full), nil
}

// below searches the files below a folder, while it still looks for them.
func (s *search) below(ctx context.Context, from string, wanted func(string) bool) (full bool, err error) {
	batches := make(chan []string, 1)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(batches)
		var files []string
		pass := func() bool {
			select {
			case batches <- files:
				files = nil
				return true
			case <-ctx.Done():
				return false
			}
		}
		var err error
		full, err = s.f.walk(ctx, from, maxDepth, func(rel string, entry fs.DirEntry, closed bool) bool {
			if closed && (entry.IsDir() || wanted(rel)) {
				s.closed++
			} else if entry.Type().IsRegular() && wanted(rel) {
				files = append(files, rel)
			}
			return len(files) < batch || pass()
		})
		if err == nil {
			pass()
		}
		return err
	})
	group.Go(func() error {
		for files := range batches {
			if err := s.batch(ctx, files); err != nil {
				return err
			}
			if s.found >= maxCounted {
				return errEnough
			}
		}
		return nil
	})
	err = group.Wait()
	if errors.Is(err, errEnough) {
		err = nil
	}
	return full, err
}

func (f *folder) newSearch(args GrepArgs) (*search, func(string) bool, error) {
	if args.Context < 0 || args.Context > maxContext {
		return nil, nil, core.E(core.Invalid, "context must be 0 to %d lines", maxContext)
	}
	pattern := args.Pattern
	if args.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	plain, err := ingest.Compile(pattern, 0)
	if err != nil {
		return nil, nil, err
	}
	re, err := regexp.Compile("(?m:" + pattern + ")") // ^ and $ are those of lines
	if err != nil {
		return nil, nil, core.E(core.Invalid, "the pattern %q is no regular expression: %v", clip(pattern, 200), err)
	}
	wanted, err := ingest.Include(args.Glob)
	if err != nil {
		return nil, nil, err
	}
	s := &search{f: f, re: re, context: args.Context}
	if prefix, _ := plain.LiteralPrefix(); prefix != "" && !strings.Contains(prefix, "\n") {
		s.needed = []byte(prefix)
	}
	if args.Offset != nil {
		s.skip = max(0, *args.Offset)
	}
	return s, wanted, nil
}

// batch searches files side by side and adds what was found in their order.
func (s *search) batch(ctx context.Context, files []string) error {
	found, errs := make([]fileMatches, len(files)), make([]error, len(files))
	var wg sync.WaitGroup
	next := make(chan int, len(files))
	for i := range files {
		next <- i
	}
	close(next)
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wg.Go(func() {
			at := &nearby{folder: s.f}
			defer at.close()
			for i := range next {
				found[i], errs[i] = s.file(ctx, at, files[i])
			}
		})
	}
	wg.Wait()
	for i := range files {
		if errs[i] != nil {
			return errs[i]
		}
		begin := s.b.Len()
		s.add(files[i], &found[i])
		if s.b.Len() == begin {
			continue
		}
		if err := s.mark(ctx, files[i], found[i].raw, begin); err != nil {
			return err
		}
	}
	return nil
}

// nearby reads files one after the other. It keeps the folder of the last one open, since the next is mostly in it, and the way
// there takes longer than the file.
type nearby struct {
	*folder
	dir  string
	here *folder
}

func (n *nearby) load(rel string, most int64) ([]byte, error) {
	dir, name := path.Split(rel)
	if n.here == nil || dir != n.dir {
		n.close()
		root, err := n.root.OpenRoot(filepath.FromSlash(path.Clean(dir)))
		if err != nil {
			return nil, err
		}
		n.dir, n.here = dir, &folder{root: root}
	}
	content, _, err := n.here.load(name, most)
	return content, err
}

func (n *nearby) close() {
	if n.here != nil {
		_ = n.here.root.Close() // only read from
		n.here = nil
	}
}

// file searches one file. What cannot be opened or is no text has no matches.
func (s *search) file(ctx context.Context, at *nearby, rel string) (m fileMatches, err error) {
	if ctx.Err() != nil {
		return m, context.Cause(ctx)
	}
	content, err := at.load(rel, core.MaxKeptContent)
	if errors.Is(err, errLarge) {
		return fileMatches{skipped: true}, nil
	}
	if err != nil || binaryKind(content) != "" {
		return m, nil //nolint:nilerr // it went away meanwhile, or is nobody's to read
	}
	m.looked, m.raw = true, content
	if bytes.HasPrefix(content, []byte("\xff\xfe")) || bytes.HasPrefix(content, []byte("\xfe\xff")) {
		text, _, err := decode(content)
		if err != nil {
			return m, nil //nolint:nilerr // no text after all
		}
		content = []byte(text)
	}
	if len(s.needed) > 0 && !bytes.Contains(content, s.needed) {
		return m, nil
	}
	content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	m.content = content
	for from := 0; from < len(content); {
		if ctx.Err() != nil {
			return m, context.Cause(ctx)
		}
		to := min(from+chunk, len(content))
		if end := bytes.LastIndexByte(content[from:to], '\n'); to < len(content) && end >= 0 {
			to = from + end + 1
		}
		m.at = append(m.at, s.lines(content[from:to], from)...)
		if to < len(content) && content[to-1] != '\n' { // of a line longer than a chunk only its beginning is searched
			end := bytes.IndexByte(content[to:], '\n')
			if end < 0 {
				break
			}
			to += end + 1
		}
		from = to
	}
	return m, nil
}

// lines returns where the matching lines of a piece begin.
func (s *search) lines(piece []byte, base int) (at []int) {
	for from := 0; from < len(piece); {
		loc := s.re.FindIndex(piece[from:])
		if loc == nil {
			return at
		}
		hit := from + loc[0]
		if hit == len(piece) && hit > 0 && piece[hit-1] == '\n' {
			return at // behind the last line there is none
		}
		begin := bytes.LastIndexByte(piece[:hit], '\n') + 1
		end := len(piece)
		if n := bytes.IndexByte(piece[hit:], '\n'); n >= 0 {
			end = hit + n
		}
		if from+loc[1] <= end || s.re.Match(piece[begin:end]) { // a match over several lines is none
			at = append(at, base+begin)
		}
		from = end + 1
	}
	return at
}

// add counts what was found in a file and shows as much as belongs on this page.
func (s *search) add(rel string, m *fileMatches) {
	if m.skipped {
		s.large++
	}
	if m.looked {
		s.files++
	}
	last, number, counted := 0, 1, 0 // last is the last line shown; number is the line at the offset counted
	for _, at := range m.at {
		number += bytes.Count(m.content[counted:at], []byte("\n"))
		counted = at
		s.found++
		if s.found <= s.skip || s.shown >= maxMatches || s.b.Len() > maxShown-maxMatchChars {
			continue
		}
		if last == 0 {
			s.b.WriteString(s.f.shown(rel) + "\n")
		}
		s.shown++
		last = s.show(m, at, number, last)
	}
}

// show writes a match with the lines around it that are not shown yet, and returns the last line shown.
func (s *search) show(m *fileMatches, at, number, last int) int {
	first := at
	line := number
	for line > max(1, number-s.context, last+1) {
		first = bytes.LastIndexByte(m.content[:first-1], '\n') + 1
		line--
	}
	if s.context > 0 && last > 0 && line > last+1 {
		s.b.WriteString("--\n")
	}
	for ; line <= number+s.context && first < len(m.content); line++ {
		rest := m.content[first:]
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			end = len(rest)
		}
		if line > last {
			mark := "-"
			if _, hit := slices.BinarySearch(m.at, first); hit {
				mark = ":"
			}
			fmt.Fprintf(&s.b, "%d%s %s\n", line, mark, s.excerpt(rest[:end]))
			last = line
		}
		first += end + 1
	}
	return last
}

// excerpt is a line, or of a long one the part around the match.
func (s *search) excerpt(line []byte) string {
	lead := ""
	if len(line) > maxMatchChars {
		if loc := s.re.FindIndex(line[:min(len(line), chunk)]); loc != nil && loc[0] > maxMatchChars/2 {
			line, lead = line[loc[0]-maxMatchChars/3:], "…"
		}
		line = line[:min(len(line), 4*maxMatchChars)]
	}
	return lead + clip(strings.ToValidUTF8(string(line), "\ufffd"), maxMatchChars)
}

// mark marks what was written from an offset on, where the file is not the person's.
func (s *search) mark(ctx context.Context, rel string, raw []byte, from int) error {
	source, err := sourceOf(ctx, s.f.env.Workspace, rel, core.ContentHash(raw))
	if err != nil || source == "" {
		return err
	}
	text := s.b.String()
	s.b.Reset()
	s.b.WriteString(text[:from] + marked(source, rel, text[from:]) + "\n")
	for one := range strings.Lines(source) {
		if one = strings.TrimSpace(one); len(s.sources) < mostSources && !slices.Contains(s.sources, one) {
			s.sources = append(s.sources, one)
		}
	}
	return nil
}

// told ends the page with what is left out of it.
func (s *search) told(args GrepArgs, slow bool) string {
	rest := s.found - s.skip - s.shown
	switch {
	case s.found == 0:
		fmt.Fprintf(&s.b, "No line matches in %s.", core.Count(s.files, "file"))
	case s.shown == 0:
		fmt.Fprintf(&s.b, "There are only %s, none behind offset %d.", core.Count(s.found, "matching line"), s.skip)
	case s.found >= maxCounted:
		fmt.Fprintf(&s.b, "(More than %d lines match; use a narrower pattern, path or glob.)", maxCounted)
	case rest > 0:
		fmt.Fprintf(&s.b, "(%d more: call again with offset %d.)", rest, s.skip+s.shown)
	}
	if s.large > 0 {
		fmt.Fprintf(&s.b, "\n(%s larger than %d MB were not searched.)", core.Count(s.large, "file"), core.MaxKeptContent>>20)
	}
	if s.closed > 0 {
		fmt.Fprintf(&s.b, "\n(Not searched, because rules of permission close it: %s. Naming one as path asks the person.)",
			core.Count(s.closed, "place"))
	}
	if slow {
		fmt.Fprintf(&s.b, "\n(The search is not complete: it stopped after %s. Use a narrower path or glob than %q.)", maxTime, args.Glob)
	}
	return strings.TrimSuffix(s.b.String(), "\n")
}
