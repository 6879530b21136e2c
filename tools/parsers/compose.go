package parsers

import (
	"strconv"
	"strings"

	"loci/core"
	"loci/core/ingest"
)

// composer writes the text of a document block by block, in the few marks of Markdown that views and chunks understand,
// and remembers its headings and pages. It stops with an error at the limit of text.
type composer struct {
	j        *parseTask
	b        strings.Builder
	sections ingest.SectionBuilder
	title    string // the first heading
	tight    bool   // the last block was a list item or a row: another one follows without a blank line
}

// maxHeading bounds a heading in a path, in bytes.
const maxHeading = 300

// put writes one block.
func (c *composer) put(text string, tight bool) error {
	if text == "" {
		return nil
	}
	if err := c.j.ctx.Err(); err != nil {
		return err
	}
	if c.b.Len()+len(text) > c.j.limits.Text {
		return c.j.tooMuchText()
	}
	c.gap(tight)
	c.b.WriteString(text)
	c.b.WriteByte('\n')
	return nil
}

// gap separates blocks: by a blank line, unless both belong to one list or table.
func (c *composer) gap(tight bool) {
	if joined := tight && c.tight; c.b.Len() > 0 && !joined {
		c.b.WriteByte('\n')
	}
	c.tight = tight
}

// lineBreak is how parsers hand over a line that was ended by hand: two in a row end the paragraph, one ends a line of a
// paragraph and is a blank anywhere else.
const lineBreak = "\v"

func (c *composer) paragraph(text string) error {
	var lines []string
	for line := range strings.SplitSeq(text, lineBreak) {
		if line = cleanLine(line); line != "" {
			lines = append(lines, line)
			continue
		}
		if err := c.put(strings.Join(lines, "\n"), false); err != nil {
			return err
		}
		lines = nil
	}
	return c.put(strings.Join(lines, "\n"), false)
}

func (c *composer) heading(level int, text string) error {
	text = cleanLine(text)
	if text == "" {
		return nil
	}
	if c.title == "" {
		c.title = text
	}
	level = max(1, min(level, 6))
	c.gap(false)
	c.sections.Heading(level, cut(text), c.b.Len())
	c.tight = true // the blank line is written
	return c.put(strings.Repeat("#", level)+" "+text, true)
}

// item writes an item of a list; number is 0 where the list is not numbered.
func (c *composer) item(depth, number int, text string) error {
	if text = cleanLine(text); text == "" {
		return nil
	}
	mark := "- "
	if number > 0 {
		mark = strconv.Itoa(number) + ". "
	}
	return c.put(strings.Repeat("  ", min(max(depth-1, 0), 8))+mark+text, true)
}

func (c *composer) row(cells []string) error {
	for i := range cells {
		cells[i] = cleanLine(cells[i])
	}
	if strings.Join(cells, "") == "" {
		return nil
	}
	return c.put("| "+strings.Join(cells, " | ")+" |", true)
}

func (c *composer) code(text string) error {
	text = strings.Trim(cleanText(text), "\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return c.put(fence+"\n"+text+"\n"+fence, false)
}

// page says that a page begins here.
func (c *composer) page(number int) {
	c.gap(false)
	c.tight = true
	c.sections.Page(number, c.b.Len())
}

func (c *composer) document(title string) core.Document {
	text := c.b.String()
	if title = cleanLine(title); title == "" {
		title = c.title
	}
	return core.Document{Text: text, Title: cut(title), Sections: c.sections.Build(text)}
}

// cleanLine folds blanks of all kinds and drops what no reader sees.
func cleanLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch r {
		case '\u00ad', '\u200b', '\u2060':
			return -1
		case '\u00a0', '\u202f':
			return ' '
		}
		return r
	}, s)
	return oneLine(cleanText(s))
}

// cut shortens what becomes a heading or stands in an error, at a character's border.
func cut(s string) string {
	if len(s) <= maxHeading {
		return s
	}
	return strings.ToValidUTF8(s[:maxHeading], "")
}
