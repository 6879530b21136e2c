package ingest

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"loci/core"
)

// DefaultChunkTokens is the target size of chunks if nothing else is given.
const DefaultChunkTokens = 300

// Chunk is a part of a document before it is stored as a passage. A document's chunks, joined, are its text.
type Chunk struct {
	Text    string
	Start   int      // first byte in the document's text
	End     int      // after the last byte
	Line    int      // first line of the text with content, from 1
	EndLine int      // … and the last
	Page    int      // 0 where the format has none
	EndPage int      // the page it ends on
	Path    []string // headings (or the key) above all of it, outermost first; for code, the declaration it begins in
	Header  string   // the first row of a table whose rows these are; not part of Text
}

// Passage returns the text to embed and search: the headings, the header and the text.
func (c Chunk) Passage() string {
	var parts []string
	if path := strings.Join(c.Path, " > "); path != "" && !strings.Contains(c.Text, c.Path[len(c.Path)-1]) {
		parts = append(parts, path)
	}
	if c.Header != "" {
		parts = append(parts, c.Header)
	}
	return strings.Join(append(parts, strings.TrimSpace(c.Text)), "\n")
}

// Chunks cuts a document along its structure into chunks of roughly this many tokens (0: the default), without overlap:
// prose by headings, paragraphs and sentences, code by top-level declarations, tables by rows, JSON by members. Only
// what has no structure left is cut at a blank. A blank document has no chunks.
func Chunks(doc core.Document, tokens int) []Chunk {
	if strings.TrimSpace(doc.Text) == "" {
		return nil
	}
	if tokens <= 0 {
		tokens = DefaultChunkTokens
	}
	c := chunker{text: doc.Text, budget: max(tokens, 8) * 4, sections: covering(doc)}
	var pieces []piece
	switch doc.Kind {
	case core.FileCode:
		c.code = true
		pieces = c.codePieces()
	case core.FileCSV:
		pieces = c.csvPieces()
	case core.FileJSON:
		pieces = c.jsonPieces()
	case core.FileText, core.FileMarkdown, core.FileHTML, core.FilePDF, core.FileDOCX, core.FileEPUB:
		fallthrough
	default:
		pieces = c.prosePieces()
	}
	return c.pack(pieces)
}

// chunker cuts one text. Sizes are in quarters of a token, which add up exactly.
type chunker struct {
	text     string
	budget   int
	sections []core.Section
	header   string // of a table
	code     bool   // paths are declarations: a chunk has that in which it begins
}

// piece is a part that isn't cut further. A fresh one begins something new: a chunk that is full enough ends before it.
type piece struct {
	start, end int
	weight     int
	path       []string
	fresh      bool
}

// weight is four times core.EstimateTokens, without rounding.
func weight(s string) int {
	n := 0
	for _, r := range s {
		if r < utf8.RuneSelf {
			n++
		} else {
			n += 4
		}
	}
	return n
}

// covering returns the document's sections if they cover the text as promised, else one section for all of it.
func covering(doc core.Document) []core.Section {
	at := 0
	for _, s := range doc.Sections {
		if s.Start != at || s.End < s.Start || s.End > len(doc.Text) {
			at = -1
			break
		}
		at = s.End
	}
	if at != len(doc.Text) || len(doc.Sections) == 0 {
		return []core.Section{{End: len(doc.Text), Line: 1, EndLine: 1 + strings.Count(doc.Text, "\n")}}
	}
	return doc.Sections
}

// cutter returns the offsets at which parts of s begin, rising, without 0 and len(s).
type cutter func(s string) []int

// refine appends the part from start to end as one piece, or cut by the first cutter that helps, recursively.
func (c *chunker) refine(out []piece, p piece, cutters ...cutter) []piece {
	p.weight = weight(c.text[p.start:p.end])
	if p.weight <= c.budget {
		return append(out, p)
	}
	if len(cutters) == 0 {
		return c.hardCuts(out, p)
	}
	first, others := cutters[0], cutters[1:]
	cuts := first(c.text[p.start:p.end])
	if len(cuts) == 0 {
		return c.refine(out, p, others...)
	}
	at := p.start
	for i := 0; i <= len(cuts); i++ {
		end := p.end
		if i < len(cuts) {
			end = p.start + cuts[i]
		}
		if end > at {
			out = c.refine(out, piece{start: at, end: end, path: p.path, fresh: p.fresh && at == p.start}, others...)
			at = end
		}
	}
	return out
}

// hardCuts cuts after the last blank that fits, or between characters.
func (c *chunker) hardCuts(out []piece, p piece) []piece {
	start, blank, n := p.start, -1, 0
	for i, r := range c.text[p.start:p.end] {
		i += p.start
		w := 1
		if r >= utf8.RuneSelf {
			w = 4
		}
		if n+w > c.budget && i > start {
			cut := i
			if blank > start {
				cut = blank
			}
			out = append(
				out,
				piece{start: start, end: cut, weight: weight(c.text[start:cut]), path: p.path, fresh: p.fresh && start == p.start},
			)
			start, n, blank = cut, weight(c.text[cut:i]), -1
		}
		n += w
		if unicode.IsSpace(r) {
			blank = i + utf8.RuneLen(r)
		}
	}
	return append(
		out,
		piece{start: start, end: p.end, weight: weight(c.text[start:p.end]), path: p.path, fresh: p.fresh && start == p.start},
	)
}

// lineCuts cuts after every newline.
func lineCuts(s string) []int {
	var out []int
	for i := range len(s) - 1 {
		if s[i] == '\n' {
			out = append(out, i+1)
		}
	}
	return out
}

// blankCuts cuts after blank lines.
func blankCuts(s string) []int {
	var out []int
	blank, at := false, 0
	for line := range strings.SplitAfterSeq(s, "\n") {
		empty := strings.TrimSpace(line) == ""
		if blank && !empty {
			out = append(out, at)
		}
		blank = empty && at > 0
		at += len(line)
	}
	return out
}

// pack joins pieces, in order, into chunks within the budget.
func (c *chunker) pack(pieces []piece) []Chunk {
	var out []Chunk
	pos := position{text: c.text, line: 1, sections: c.sections}
	var cur piece
	flush := func() {
		if cur.end > cur.start {
			out = append(out, pos.chunk(cur))
		}
	}
	for _, p := range pieces {
		switch over := cur.weight+p.weight > c.budget; {
		case cur.end == cur.start:
			cur = p
		case over && cur.weight*8 >= c.budget,
			p.fresh && cur.weight*3 >= c.budget:
			flush()
			cur = p
		default:
			cur.end = p.end
			cur.weight += p.weight
			if !c.code {
				cur.path = cur.path[:commonPrefix(cur.path, p.path)]
			}
		}
	}
	flush()
	return c.finish(out)
}

// finish adds the header to table rows and merges a blank remainder into its neighbour.
func (c *chunker) finish(out []Chunk) []Chunk {
	for i := 1; i < len(out); i++ {
		out[i].Header = c.header
	}
	var kept []Chunk
	for _, ch := range out {
		if n := len(kept); n > 0 && (strings.TrimSpace(ch.Text) == "" || strings.TrimSpace(kept[n-1].Text) == "") {
			prev := &kept[n-1]
			if strings.TrimSpace(prev.Text) == "" {
				prev.Line, prev.EndLine, prev.Page, prev.EndPage, prev.Path = ch.Line, ch.EndLine, ch.Page, ch.EndPage, ch.Path
			}
			prev.End = ch.End
			prev.Text = c.text[prev.Start:prev.End]
			continue
		}
		kept = append(kept, ch)
	}
	return kept
}

func commonPrefix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// position counts lines and pages while chunks are made from left to right.
type position struct {
	text     string
	at, line int
	section  int
	sections []core.Section
}

func (p *position) chunk(pc piece) Chunk {
	text := p.text[pc.start:pc.end]
	p.line += strings.Count(p.text[p.at:pc.start], "\n")
	p.at = pc.start
	lead := text[:len(text)-len(strings.TrimLeftFunc(text, unicode.IsSpace))]
	body := strings.TrimSpace(text)
	line := p.line + strings.Count(lead, "\n")
	ch := Chunk{
		Text:    text,
		Start:   pc.start,
		End:     pc.end,
		Line:    line,
		EndLine: line + strings.Count(body, "\n"),
		Path:    slices.Clone(pc.path),
	}
	ch.Page = p.page(pc.start + len(lead))
	ch.EndPage = max(ch.Page, p.page(pc.start+len(lead)+max(len(body)-1, 0)))
	return ch
}

// page returns the page of a byte; offsets rise from call to call.
func (p *position) page(offset int) int {
	for p.section < len(p.sections)-1 && p.sections[p.section].End <= offset {
		p.section++
	}
	return p.sections[p.section].Page
}
