package parsers

import (
	"strconv"
	"strings"

	"loci/core"
)

func (j *job) docx() (core.Document, error) {
	z, err := j.container()
	if err != nil {
		return core.Document{}, err
	}
	styles, err := z.read("word/styles.xml")
	if err != nil {
		return core.Document{}, err
	}
	w := &wordWriter{c: &composer{j: j}}
	if w.levels, err = j.headingStyles(styles); err != nil {
		return core.Document{}, err
	}
	// Notes stand behind the text, as they do on paper; a missing part is read as an empty one.
	for _, name := range []string{"word/document.xml", "word/footnotes.xml", "word/endnotes.xml"} {
		data, err := z.read(name)
		if err != nil {
			return core.Document{}, err
		}
		if err := j.walk(data, w.visit); err != nil {
			return core.Document{}, err
		}
	}
	title, err := z.property("docProps/core.xml", "title")
	if err != nil {
		return core.Document{}, err
	}
	return w.c.document(title), nil
}

// property returns the text of the first element of a name.
func (c *container) property(part, name string) (string, error) {
	data, err := c.read(part)
	if err != nil {
		return "", err
	}
	inside, done, text := false, false, ""
	err = c.j.walk(data, func(n node) error {
		switch {
		case n.name == name && !done:
			inside, done = n.start, n.end
		case inside && n.name == "" && len(text) < maxHeading:
			text += n.text
		}
		return nil
	})
	return text, err
}

// headingStyles maps a style's id to the level of its heading, inherited levels included: ids are translated in other
// languages, names and outline levels are not.
func (j *job) headingStyles(data []byte) (map[string]int, error) {
	levels, parent := map[string]int{}, map[string]string{}
	id := ""
	err := j.walk(data, func(n node) error {
		switch {
		case !n.start:
		case n.name == "style":
			id = n.get("styleId")
		case n.name == "name" && levels[id] == 0:
			levels[id] = headingName(n.get("val"))
		case n.name == "outlineLvl":
			if l, err := strconv.Atoi(n.get("val")); err == nil && l >= 0 && l < 9 {
				levels[id] = l + 1
			}
		case n.name == "basedOn":
			parent[id] = n.get("val")
		}
		return nil
	})
	for id := range parent {
		for at, hops := id, 0; levels[id] == 0 && parent[at] != "" && hops < 10; hops++ {
			at = parent[at]
			levels[id] = levels[at]
		}
	}
	return levels, err
}

// headingName returns the level that the name of a style stands for.
func headingName(name string) int {
	name = strings.ToLower(name)
	if name == "title" {
		return 1
	}
	if rest, ok := strings.CutPrefix(name, "heading"); ok {
		if l, err := strconv.Atoi(strings.TrimSpace(rest)); err == nil && l > 0 && l < 10 {
			return l
		}
	}
	return 0
}

// paragraph is one that is open; text boxes put paragraphs into paragraphs.
type wordParagraph struct {
	text  strings.Builder
	level int
	item  int // depth of the list plus one
}

// wordWriter turns WordprocessingML into blocks.
type wordWriter struct {
	c      *composer
	levels map[string]int
	open   []*wordParagraph
	inText bool
	hidden int // depth inside of what is not shown: fallbacks, deletions
	tables int
	cells  []string
	cell   []string
}

func (w *wordWriter) visit(n node) error {
	switch {
	case n.name == "Fallback" || n.name == "del" || n.name == "moveFrom":
		if n.start {
			w.hidden++
		} else {
			w.hidden--
		}
		return nil
	case w.hidden > 0:
		return nil
	case n.name == "":
		if w.inText && len(w.open) > 0 {
			w.open[len(w.open)-1].text.WriteString(n.text)
		}
		return nil
	case n.start:
		w.begin(n)
		return nil
	}
	return w.finish(n.name)
}

func (w *wordWriter) begin(n node) {
	if n.name == "p" {
		w.open = append(w.open, &wordParagraph{})
		return
	}
	if n.name == "tbl" {
		w.tables++
	}
	if len(w.open) == 0 {
		return
	}
	p := w.open[len(w.open)-1]
	switch n.name {
	case "t":
		w.inText = true
	case "tab", "br", "cr":
		p.text.WriteByte(' ')
	case "noBreakHyphen":
		p.text.WriteByte('-')
	case "pStyle":
		if l := w.levels[n.get("val")]; l > 0 {
			p.level = l
		} else if p.level == 0 {
			p.level = headingName(n.get("val"))
		}
	case "outlineLvl":
		if l, err := strconv.Atoi(n.get("val")); err == nil && l >= 0 && l < 9 {
			p.level = l + 1
		}
	case "numPr":
		p.item = max(p.item, 1)
	case "ilvl":
		if l, err := strconv.Atoi(n.get("val")); err == nil && l >= 0 && l < 10 {
			p.item = l + 1
		}
	}
}

func (w *wordWriter) finish(name string) error {
	switch name {
	case "t":
		w.inText = false
	case "p":
		if len(w.open) == 0 {
			return nil
		}
		p := w.open[len(w.open)-1]
		w.open = w.open[:len(w.open)-1]
		return w.put(p)
	case "tc":
		if w.tables == 1 {
			w.cells = append(w.cells, strings.Join(w.cell, " "))
			w.cell = nil
		}
	case "tr":
		if w.tables == 1 {
			cells := w.cells
			w.cells = nil
			return w.c.row(cells)
		}
	case "tbl":
		w.tables = max(w.tables-1, 0)
	}
	return nil
}

func (w *wordWriter) put(p *wordParagraph) error {
	text := p.text.String()
	switch {
	case w.tables > 0:
		if strings.TrimSpace(text) != "" {
			w.cell = append(w.cell, text)
		}
		return nil
	case p.level > 0:
		return w.c.heading(p.level, text)
	case p.item > 0:
		return w.c.item(p.item, text)
	}
	return w.c.paragraph(text)
}
