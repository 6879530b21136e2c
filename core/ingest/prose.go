package ingest

import (
	"strings"

	"loci/core"
)

// prosePieces cuts sections into blocks (paragraphs, lists, tables, fenced code) and large blocks into sentences or lines.
func (c *chunker) prosePieces() []piece {
	var out []piece
	for _, s := range c.sections {
		fresh := true
		for _, b := range blocks(c.text[s.Start:s.End]) {
			p := piece{start: s.Start + b.start, end: s.Start + b.end, path: s.Path, fresh: fresh}
			fresh = false
			if b.lines {
				out = c.refine(out, p, lineCuts, sentenceEnds)
			} else {
				out = c.refine(out, p, sentenceEnds, lineCuts)
			}
		}
	}
	return out
}

// block is a paragraph or similar, with the blank lines after it. In some blocks, line breaks matter.
type block struct {
	start, end int
	lines      bool
}

// blocks cuts prose at blank lines, headings and fences; blank lines belong to what they follow.
func blocks(text string) []block {
	var out []block
	cur, fence, blank := block{}, "", false
	begin := func(at int) {
		if strings.TrimSpace(text[cur.start:at]) != "" {
			cur.end = at
			out = append(out, cur)
			cur = block{start: at}
		}
	}
	for l := range physical(text) {
		trimmed := strings.TrimSpace(text[l.start:l.end])
		mark := fenceMark(trimmed)
		switch {
		case fence != "":
			if mark != "" && strings.HasPrefix(mark, fence) && strings.Trim(trimmed, "`~") == "" {
				fence, blank = "", true
			}
			continue
		case trimmed == "":
			blank = true
			continue
		case mark != "":
			begin(l.start)
			fence, cur.lines = mark, true
		case blank || headingLevel(trimmed) > 0:
			begin(l.start)
		}
		blank = headingLevel(trimmed) > 0
		if startsItem(trimmed) || strings.HasPrefix(trimmed, "|") || strings.Contains(trimmed, " | ") {
			cur.lines = true
		}
	}
	begin(len(text))
	if len(out) == 0 {
		return []block{{end: len(text)}}
	}
	out[len(out)-1].end = len(text)
	return out
}

// headingLevel returns the level of a line that is a heading marked by #, else 0.
func headingLevel(line string) int {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n == 0 || n > 6 || len(line) > n && line[n] != ' ' && line[n] != '\t' {
		return 0
	}
	return n
}

// Sections divides a text by its headings if it is Markdown; other kinds are one section.
func Sections(kind core.FileKind, text string) []core.Section {
	if text == "" {
		return nil
	}
	b := SectionBuilder{}
	if kind == core.FileMarkdown {
		markdownSections(text, &b)
	}
	return b.Build(text)
}

func markdownSections(text string, b *SectionBuilder) {
	fence := ""
	var prev span
	prevText := ""
	front := strings.HasPrefix(text, "---\n")
	for l := range physical(text) {
		raw := text[l.start:l.end]
		trimmed := strings.TrimSpace(raw)
		mark := fenceMark(trimmed)
		title := ""
		switch {
		case front:
			front = l.number == 1 || trimmed != "---" && trimmed != "..."
			continue
		case fence != "":
			if mark != "" && strings.HasPrefix(mark, fence) && strings.Trim(trimmed, "`~") == "" {
				fence = ""
			}
		case mark != "":
			fence = mark
		case headingLevel(trimmed) > 0 && !strings.HasPrefix(raw, "    ") && !strings.HasPrefix(raw, "\t"):
			b.Heading(headingLevel(trimmed), strings.TrimSpace(strings.Trim(trimmed, "#")), l.start)
		case prevText != "" && trimmed != "" && strings.Trim(trimmed, "=") == "":
			b.Heading(1, prevText, prev.start)
		case prevText != "" && len(trimmed) > 1 && strings.Trim(trimmed, "-") == "":
			b.Heading(2, prevText, prev.start)
		case trimmed != "" && !standsAlone(trimmed) && !startsItem(trimmed):
			title = trimmed
		}
		// Underlining only turns a single-line paragraph into a heading.
		if title != "" && prev.number == l.number-1 && prev.end > prev.start {
			title = ""
		}
		prev, prevText = l, title
		if trimmed == "" {
			prev.end = prev.start
		}
	}
}

// SectionBuilder collects headings and pages in text order and builds sections from them.
type SectionBuilder struct {
	marks []sectionMark
}

type sectionMark struct {
	level, at, page int
	title           string
}

// Heading says that a heading of a level, 1 the highest, begins at a byte.
func (b *SectionBuilder) Heading(level int, title string, at int) {
	b.marks = append(b.marks, sectionMark{level: level, at: at, title: title})
}

// Page says that a page begins at a byte.
func (b *SectionBuilder) Page(number, at int) {
	b.marks = append(b.marks, sectionMark{at: at, page: number})
}

// Build returns the sections of the text.
func (b *SectionBuilder) Build(text string) []core.Section {
	if text == "" {
		return nil
	}
	var out []core.Section
	var path []string
	var levels []int
	cur := core.Section{Line: 1}
	line := 1
	put := func(at int) {
		if at > cur.Start {
			cur.End = at
			cur.EndLine = cur.Line + strings.Count(text[cur.Start:at-1], "\n")
			out = append(out, cur)
			line = cur.EndLine
			if text[at-1] == '\n' {
				line++
			}
		}
		cur = core.Section{Start: at, Line: line, Path: append([]string(nil), path...), Page: cur.Page}
	}
	for _, m := range b.marks {
		m.at = max(cur.Start, min(m.at, len(text)))
		if m.page == 0 {
			for len(levels) > 0 && levels[len(levels)-1] >= m.level {
				levels, path = levels[:len(levels)-1], path[:len(path)-1]
			}
			levels, path = append(levels, m.level), append(path, m.title)
		}
		put(m.at)
		if m.page > 0 {
			cur.Page = m.page
		}
	}
	put(len(text))
	return out
}
