package ingest

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"loci/core"
)

// Line is one row of a file as an agent sees it, in views and in searches alike. In prose it is a sentence with its line
// breaks turned into blanks; elsewhere a line of the text, or a piece of a long one. Rows are in text order.
type Line struct {
	Text   string
	Number int // from 1; the pieces of a long line share it
	Start  int // first byte in the document's text
	End    int // after the last byte
	Source int // line of the text where it starts, from 1
	Page   int // 0 where the format has none
}

// Lines numbers a document. Text, code, CSV and JSON keep the numbers of their own lines, blank ones included, as in
// grep -n. Prose (Markdown, PDF, HTML, DOCX, EPUB) is counted by sentences, while headings, list items, table rows and
// fenced code stay lines; blank lines don't count.
func Lines(doc core.Document) []Line {
	if doc.Text == "" {
		return nil
	}
	var out []Line
	if ownLines(doc.Kind) {
		for l := range physical(doc.Text) {
			out = append(out, Line{Text: plain(doc.Text[l.start:l.end]), Start: l.start, End: l.end, Source: l.number})
		}
		out = wrapped(doc.Text, out)
		for i := range out {
			out[i].Number = out[i].Source
		}
	} else {
		out = counted(wrapped(doc.Text, proseLines(doc.Text, doc.Kind != core.FilePDF)))
	}
	setPages(out, doc.Sections)
	return out
}

// ownLines reports the kinds whose lines keep their numbers.
func ownLines(kind core.FileKind) bool {
	switch kind { //nolint:exhaustive // all others are prose
	case core.FileText, core.FileCode, core.FileCSV, core.FileJSON:
		return true
	default:
		return false
	}
}

// counted numbers lines one by one.
func counted(lines []Line) []Line {
	for i := range lines {
		lines[i].Number = i + 1
	}
	return lines
}

// CountLines returns the number of numbered lines.
func CountLines(lines []Line) int {
	if len(lines) == 0 {
		return 0
	}
	return lines[len(lines)-1].Number
}

// rowOf returns the index of a line's first row, or of the first row after it.
func rowOf(lines []Line, number int) int {
	return sort.Search(len(lines), func(i int) bool { return lines[i].Number >= number })
}

// Sentences returns the sentences, headings and items of a text, as prose is shown.
func Sentences(text string) []string {
	var out []string
	for _, l := range wrapped(text, proseLines(text, false)) {
		out = append(out, l.Text)
	}
	return out
}

// maxLineChars limits a row, so that a row is always shown whole, even if a file has no line breaks. Longer lines
// continue in further rows, cut after a blank or a comma if there is one near the end.
const (
	maxLineChars = maxRowChars
	cutWithin    = 200 // characters from the end
)

// wrapped cuts lines that are too long.
func wrapped(text string, lines []Line) []Line {
	long := func(l Line) bool { return len(l.Text) > maxLineChars && utf8.RuneCountInString(l.Text) > maxLineChars }
	if !slices.ContainsFunc(lines, long) {
		return lines
	}
	var out []Line
	for _, l := range lines {
		if !long(l) {
			out = append(out, l)
			continue
		}
		folded := strings.Contains(text[l.Start:l.End], "\n") // prose; everything else keeps its blanks
		for rest := l; rest.Start < l.End; {
			piece := rest
			piece.End = rest.Start + cutAt(text[rest.Start:l.End])
			if piece.Text = plain(text[piece.Start:piece.End]); folded {
				piece.Text = strings.Join(strings.Fields(piece.Text), " ")
			}
			rest.Start, rest.Source = piece.End, rest.Source+strings.Count(text[piece.Start:piece.End], "\n")
			if piece.Text != "" {
				out = append(out, piece)
			}
		}
	}
	return out
}

// cutAt returns where to cut a text that is too long for a line.
func cutAt(s string) int {
	head := firstRunes(s, maxLineChars)
	if len(head) == len(s) {
		return len(s)
	}
	near := len(firstRunes(head, maxLineChars-cutWithin))
	if i := strings.LastIndexAny(head[near:], " \t\n,;"); i >= 0 {
		return near + i + 1
	}
	return len(head)
}

// plain replaces characters that would break a line elsewhere.
func plain(line string) string {
	if line = strings.TrimSuffix(line, "\r"); !strings.ContainsAny(line, breaks) {
		return line
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(breaks, r) {
			return ' '
		}
		return r
	}, line)
}

const breaks = "\r\v\f\u0085\u2028\u2029"

// LineAt returns the number, from 1, of the line that contains the byte at offset, or of the first line after it.
func LineAt(lines []Line, offset int) int {
	if len(lines) == 0 {
		return 0
	}
	return lines[min(rowAt(lines, offset), len(lines)-1)].Number
}

// rowAt returns the index of the row that contains the byte at offset, or of the first row after it.
func rowAt(lines []Line, offset int) int {
	return sort.Search(len(lines), func(i int) bool { return lines[i].End > offset })
}

// Between returns the rows that contain the bytes from start up to but not including end.
func Between(lines []Line, start, end int) []Line {
	if len(lines) == 0 {
		return nil
	}
	first := min(rowAt(lines, start), len(lines)-1)
	last := min(rowAt(lines, end-1), len(lines)-1)
	return lines[first : max(first, last)+1]
}

func setPages(lines []Line, sections []core.Section) {
	s := 0
	for i := range lines {
		for s < len(sections) && sections[s].End <= lines[i].Start {
			s++
		}
		if s < len(sections) {
			lines[i].Page = sections[s].Page
		}
	}
}

// span is a line of the text without its newline.
type span struct{ start, end, number int }

func physical(text string) func(yield func(span) bool) {
	return func(yield func(span) bool) {
		for start, number := 0, 1; start < len(text); number++ {
			end := strings.IndexByte(text[start:], '\n')
			if end < 0 {
				yield(span{start, len(text), number})
				return
			}
			if !yield(span{start, start + end, number}) {
				return
			}
			start += end + 1
		}
	}
}

// proseLines walks paragraphs. With marks, it recognises Markdown fences and keeps their lines as they are.
func proseLines(text string, marks bool) []Line {
	var out []Line
	var para []span
	flush := func() {
		if len(para) > 0 {
			out = append(out, sentences(text, para)...)
			para = para[:0]
		}
	}
	var fence string
	for l := range physical(text) {
		raw := text[l.start:l.end]
		trimmed := strings.TrimSpace(raw)
		mark := ""
		if marks {
			mark = fenceMark(trimmed)
		}
		switch {
		case fence != "":
			if trimmed != "" {
				out = append(out, Line{Text: plain(raw), Start: l.start, End: l.end, Source: l.number})
			}
			if mark != "" && strings.HasPrefix(mark, fence) && strings.Trim(trimmed, "`~") == "" {
				fence = ""
			}
		case trimmed == "":
			flush()
		case mark != "":
			flush()
			fence = mark
			out = append(out, Line{Text: plain(raw), Start: l.start, End: l.end, Source: l.number})
		case marks && standsAlone(trimmed):
			flush()
			out = append(out, Line{Text: plain(trimmed), Start: l.start, End: l.end, Source: l.number})
		case startsItem(trimmed):
			flush()
			para = append(para, l)
		default:
			para = append(para, l)
		}
	}
	flush()
	return out
}

// fenceMark returns the ``` or ~~~ that a line begins with.
func fenceMark(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// standsAlone reports a heading, a row of a table or a rule.
func standsAlone(line string) bool {
	return headingLevel(line) > 0 || strings.HasPrefix(line, "|") || strings.Trim(line, "-*_= ") == ""
}

// startsItem reports the first line of a list item or a quote.
func startsItem(line string) bool {
	if len(line) > 1 && strings.ContainsRune("-*+>•", rune(line[0])) && line[1] == ' ' || strings.HasPrefix(line, "• ") {
		return true
	}
	mark, _, ok := strings.Cut(line, " ")
	return ok && numbered(mark)
}

// numbered reports what an item of a numbered list begins with.
func numbered(mark string) bool {
	digits := len(mark) - len(strings.TrimLeft(mark, "0123456789"))
	return digits > 0 && digits < 4 && (mark[digits:] == "." || mark[digits:] == ")")
}

// sentences cuts a paragraph, given by its lines, into sentences.
func sentences(text string, para []span) []Line {
	start, end := para[0].start, para[len(para)-1].end
	var out []Line
	at := 0
	for _, cut := range append(sentenceEnds(text[start:end]), end-start) {
		from, to := start+at, start+cut
		if at == 0 && to < end && numbered(strings.TrimSpace(text[from:to])) {
			continue // the number of an item is no sentence of its own
		}
		at = cut
		folded := strings.Join(strings.Fields(text[from:to]), " ")
		if folded == "" {
			continue
		}
		lead := len(text[from:to]) - len(strings.TrimLeftFunc(text[from:to], unicode.IsSpace))
		i := sort.Search(len(para), func(i int) bool { return para[i].end > from+lead })
		out = append(out, Line{Text: folded, Start: from + lead, End: to, Source: para[min(i, len(para)-1)].number})
	}
	return out
}

// sentenceEnds returns the offsets at which a new sentence begins: behind a full stop, a question or exclamation mark,
// closing quotes and blanks, where something follows that can begin a sentence. Ideographic marks need no blank.
func sentenceEnds(s string) []int {
	var out []int
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch r {
		case '。', '！', '？':
			if i < len(s) {
				out = append(out, skipClosers(s, i))
			}
		case '.', '!', '?', '…':
			j := skipClosers(s, i)
			k := j + len(s[j:]) - len(strings.TrimLeftFunc(s[j:], unicode.IsSpace))
			if k == j || k == len(s) || r == '.' && abbreviated(s[:i-1]) {
				continue
			}
			if next, _ := utf8.DecodeRuneInString(s[k:]); beginsSentence(next) {
				out = append(out, k)
				i = k
			}
		}
	}
	return out
}

func skipClosers(s string, i int) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !strings.ContainsRune(`"')]}»”’」』）`, r) {
			break
		}
		i += n
	}
	return i
}

func beginsSentence(r rune) bool {
	return unicode.IsUpper(r) || unicode.IsTitle(r) || unicode.IsDigit(r) ||
		unicode.In(
			r,
			unicode.Han,
			unicode.Hiragana,
			unicode.Katakana,
			unicode.Hangul,
			unicode.Arabic,
			unicode.Hebrew,
			unicode.Devanagari,
		) ||
		strings.ContainsRune("\"'“‘«„([¿¡`*_#", r)
}

// abbreviated reports whether the text ends in a word whose full stop doesn't end a sentence: an initial or a known
// abbreviation.
func abbreviated(s string) bool {
	word := s[strings.LastIndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && r != '.' })+1:]
	if r, n := utf8.DecodeRuneInString(word); n == len(word) && unicode.IsUpper(r) {
		return true
	}
	switch strings.ToLower(word) {
	case "mr",
		"mrs",
		"ms",
		"dr",
		"prof",
		"st",
		"jr",
		"sr",
		"vs",
		"etc",
		"e.g",
		"i.e",
		"eg",
		"ie",
		"cf",
		"no",
		"vol",
		"fig",
		"pp",
		"approx",
		"bzw",
		"z.b",
		"d.h",
		"ca",
		"nr":
		return true
	}
	return false
}

// Span returns the first and last line with content of a chunk, as views count them; 0 and 0 if it is blank.
func Span(lines []Line, c Chunk) (first, last int) {
	body := strings.TrimRightFunc(c.Text, unicode.IsSpace)
	lead := len(c.Text) - len(strings.TrimLeftFunc(c.Text, unicode.IsSpace))
	if lead >= len(body) || len(lines) == 0 {
		return 0, 0
	}
	return LineAt(lines, c.Start+lead), LineAt(lines, c.Start+len(body)-1)
}
