package files

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"loci/core"
	"loci/core/ingest"
	"loci/tools/internal/results"
)

// SemanticDoc tells a model what semantic_search_files does.
const SemanticDoc = "Search the attached files by meaning and by words. Shows the passages that fit best, with the lines where they stand."

// SemanticArgs are the arguments of semantic_search_files.
type SemanticArgs struct {
	Query string `json:"query" jsonschema:"What to look for."`
	Limit *int   `json:"limit,omitempty" jsonschema:"How many passages, default 5."`
}

// maxQueryShown bounds how much of a query the return repeats.
const maxQueryShown = 200

// Semantic is semantic_search_files.
func Semantic(ctx context.Context, args SemanticArgs, env core.ToolEnv) (core.ToolResult, error) {
	limit, err := results.Limit("limit", args.Limit)
	if err != nil {
		return core.ToolResult{}, err
	}
	if strings.TrimSpace(args.Query) == "" {
		return core.ToolResult{}, core.E(core.Invalid, "the query is empty")
	}
	shelf, err := shelfOf(ctx, env.Read, env.Agent.ID)
	if err != nil {
		return core.ToolResult{}, err
	}
	if n, err := shelf.count(ctx); err != nil {
		return core.ToolResult{}, err
	} else if n == 0 {
		return core.ToolResult{Text: noFiles}, nil
	}
	filter := core.PassageFilter{}
	for i := range shelf.folders {
		filter.Archives = append(filter.Archives, shelf.folders[i].Archive)
	}
	hits, err := env.Search.Passages(ctx, core.SearchQuery{Text: args.Query, Limit: limit, Today: env.Now}, filter)
	if err != nil {
		return core.ToolResult{}, err
	}
	groups, err := shelf.group(ctx, hits.Hits)
	if err != nil {
		return core.ToolResult{}, err
	}
	note, err := shelf.unfinished(ctx, hits, env.Agent.Terminal)
	if err != nil {
		return core.ToolResult{}, err
	}
	return core.ToolResult{Text: tell(groups, args.Query, env.MaxReturn-utf8.RuneCountInString(note)) + note}, nil
}

// fileMatches is what was found in one file.
type fileMatches struct {
	name  string
	parts []string
}

// group puts what was found under its files, the best first.
func (s *shelf) group(ctx context.Context, hits []core.PassageHit) ([]fileMatches, error) {
	var out []fileMatches
	at := map[core.FileID]int{}
	texts := map[core.FileID]*numberedFile{}
	for i := range hits {
		p := &hits[i].Passage
		text, seen := texts[p.File]
		if !seen {
			var err error
			if text, err = s.numbered(ctx, p.File); err != nil {
				return nil, err
			}
			if texts[p.File] = text; text != nil {
				at[p.File] = len(out)
				out = append(out, fileMatches{name: text.name})
			}
		}
		if text == nil {
			continue // deleted meanwhile
		}
		where, body := text.shown(p)
		head := fmt.Sprintf("=== %s (passage #%d)%s ===", text.name, p.Place+1, where)
		g := &out[at[p.File]]
		g.parts = append(g.parts, head+"\n"+body)
	}
	return out, nil
}

// numberedFile is a file with its lines.
type numberedFile struct {
	name   string
	doc    core.Document
	lines  []ingest.Line
	chunks []ingest.Chunk
}

// numbered reads a file; nil: it is gone.
func (s *shelf) numbered(ctx context.Context, id core.FileID) (*numberedFile, error) {
	f, err := s.files.Get(ctx, id)
	if err == nil {
		var doc core.Document
		if doc, err = s.files.Document(ctx, id); err == nil {
			return &numberedFile{s.name(&f), doc, ingest.Lines(doc), ingest.Chunks(doc, 0)}, nil
		}
	}
	if core.KindOf(err) == core.NotFound {
		return nil, nil
	}
	return nil, err
}

// shown says at which lines a passage stands, as views number them, and on which page, and writes these lines. The
// headings that come with it, and a passage whose place is not known, are indented: nothing of a file begins a line.
func (n *numberedFile) shown(p *core.Passage) (where, body string) {
	start, end, ok := ingest.Locate(n.doc, n.chunks, *p)
	if !ok || len(n.lines) == 0 {
		return "", indented(p.Text)
	}
	lines := ingest.Between(n.lines, start, end)
	where = fmt.Sprintf(" lines %d-%d", lines[0].Number, lines[len(lines)-1].Number)
	if page := lines[0].Page; page > 0 {
		where += fmt.Sprintf(", page %d", page)
	}
	var rows []string
	if lead, _ := strings.CutSuffix(strings.TrimSpace(p.Text), n.doc.Text[start:end]); strings.TrimSpace(lead) != "" {
		rows = append(rows, indented(lead))
	}
	for _, l := range lines {
		rows = append(rows, fmt.Sprintf("%d: %s", l.Number, l.Text))
	}
	return where, strings.Join(rows, "\n")
}

// indented writes every line of a text behind two blanks.
func indented(text string) string {
	lines := strings.FieldsFunc(strings.TrimSpace(text), func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) })
	return "  " + strings.Join(lines, "\n  ")
}

// unfinished says that not everything could be searched.
func (s *shelf) unfinished(ctx context.Context, hits core.Results[core.PassageHit], terminal bool) (string, error) {
	n, err := s.count(ctx, core.FilePending, core.FileParsing, core.FileEmbedding)
	if err != nil {
		return "", err
	}
	switch {
	case terminal && hits.Stalled != nil:
		return "\n\nNote: " + strings.Join(results.Unsearched(hits.Partial, false, hits.Stalled), " "), nil
	case n > 0:
		return fmt.Sprintf("\n\nNote: %d of the files are still being read, so that more may be found later.", n), nil
	case hits.Partial:
		return "\n\nNote: " + results.Partial, nil
	case len(hits.Hits) > 0 && hits.Hits[0].Why.NoModel:
		return "\n\nNote: not everything could be searched by meaning just now.", nil
	}
	return "", nil
}

// tell writes what was found, as much as there is room for.
func tell(groups []fileMatches, query string, room int) string {
	query = clip(strings.Join(strings.Fields(query), " "), maxQueryShown)
	for {
		total := 0
		for _, g := range groups {
			total += len(g.parts)
		}
		if total == 0 {
			return fmt.Sprintf("No semantic matches found for query: '%s'", query)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "Found %d semantic matches in %d file(s) for query: '%s'", total, len(groups), query)
		for _, g := range groups {
			b.WriteString("\n\n" + strings.Join(g.parts, "\n\n"))
		}
		if room <= 0 || total == 1 || utf8.RuneCountInString(b.String()) <= room {
			return b.String()
		}
		last := &groups[len(groups)-1]
		if last.parts = last.parts[:len(last.parts)-1]; len(last.parts) == 0 {
			groups = groups[:len(groups)-1]
		}
	}
}
