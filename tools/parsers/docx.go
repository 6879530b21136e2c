package parsers

import (
	"path"
	"strconv"
	"strings"

	"loci/core"
)

// The parts of a DOCX that are read, by the end of the type that a relation to them has.
const (
	partDocument  = "officeDocument"
	partStyles    = "styles"
	partNumbering = "numbering"
	partFootnotes = "footnotes"
	partEndnotes  = "endnotes"
)

func (j *parseTask) docx() (core.Document, error) {
	z, err := j.container()
	if err != nil {
		return core.Document{}, err
	}
	parts, err := z.wordParts()
	if err != nil {
		return core.Document{}, err
	}
	w := &wordWriter{c: &composer{j: j}, notes: map[string]string{}, counts: map[string][]int{}}
	if w.styles, err = j.wordStyles(parts[partStyles]); err != nil {
		return core.Document{}, err
	}
	if w.numbered, err = j.wordNumberings(parts[partNumbering]); err != nil {
		return core.Document{}, err
	}
	for _, part := range []string{partFootnotes, partEndnotes, partDocument} {
		if err := j.walk(parts[part], w.visit); err != nil {
			return core.Document{}, err
		}
	}
	w.due = append(w.due, w.noted...) // what nothing refers to stands behind the text
	if err := w.putNotes(); err != nil {
		return core.Document{}, err
	}
	title, err := z.property("docProps/core.xml", "title")
	if err != nil {
		return core.Document{}, err
	}
	return w.c.document(title), nil
}

// wordParts reads the parts by their kind. Relations say where they are; the names that most programs give them serve where
// no relation does. A part that is missing is empty.
func (c *container) wordParts() (map[string][]byte, error) {
	names := map[string]string{}
	if err := c.relations("", names); err != nil {
		return nil, err
	}
	main := names[partDocument]
	if c.parts[main] == nil {
		main = "word/document.xml"
	}
	if c.parts[main] == nil {
		return nil, core.E(core.Invalid, "%q is damaged: the part that holds the text is missing", c.j.name)
	}
	if err := c.relations(main, names); err != nil {
		return nil, err
	}
	names[partDocument] = main
	parts := map[string][]byte{}
	for _, part := range []string{partDocument, partStyles, partNumbering, partFootnotes, partEndnotes} {
		name := names[part]
		if c.parts[name] == nil {
			name = path.Join(path.Dir(main), part+".xml")
		}
		var err error
		if parts[part], err = c.read(name); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// relations adds where the parts are that a part, or the whole where it is empty, relates to.
func (c *container) relations(part string, names map[string]string) error {
	dir, file := path.Split(part)
	data, err := c.read(dir + "_rels/" + file + ".rels")
	if err != nil {
		return err
	}
	return c.j.walk(data, func(n node) error {
		if !n.start || n.name != "Relationship" || n.get("TargetMode") == "External" {
			return nil
		}
		kind := path.Base(n.get("Type"))
		if _, known := names[kind]; !known {
			target := n.get("Target")
			if !strings.HasPrefix(target, "/") {
				target = path.Join("/", dir, target)
			}
			names[kind] = strings.TrimPrefix(path.Clean(target), "/")
		}
		return nil
	})
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

// wordParagraph is one that is open; text boxes put paragraphs into paragraphs.
type wordParagraph struct {
	text  strings.Builder
	style string
	level int // of its heading
	list  wordList
}

// wordWriter turns WordprocessingML into blocks.
type wordWriter struct {
	c        *composer
	styles   map[string]wordStyle
	numbered map[string]wordNumbering // by list
	counts   map[string][]int         // numbers reached, by kind of list
	open     []*wordParagraph
	inText   bool
	hidden   int // depth inside of what is not shown: fallbacks, deletions
	tables   int
	cells    []string
	cell     []string

	note     string            // the one that is being read
	notes    map[string]string // read and not yet written
	noted    []string          // all of them, in order
	noteSize int
	due      []string // referred to by the block that is being read
	last     int      // number of the last note written
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
	switch n.name {
	case "p":
		w.open = append(w.open, &wordParagraph{})
		return
	case "tbl":
		w.tables++
	case "footnote", "endnote":
		w.note = n.name + n.get("id")
		w.noted = append(w.noted, w.note)
	}
	if len(w.open) == 0 {
		return
	}
	p := w.open[len(w.open)-1]
	switch n.name {
	case "t":
		w.inText = true
	case "tab":
		p.text.WriteByte(' ')
	case "br", "cr":
		p.text.WriteString(lineBreak)
	case "noBreakHyphen":
		p.text.WriteByte('-')
	case "docPr":
		if alt := strings.TrimSpace(n.get("descr")); alt != "" {
			p.text.WriteString(" [" + cut(alt) + "] ")
		}
	case "footnoteReference", "endnoteReference":
		w.due = append(w.due, strings.TrimSuffix(n.name, "Reference")+n.get("id"))
	case "pStyle":
		p.style = n.get("val")
	case "outlineLvl":
		if l, ok := within(n.get("val"), 9); ok {
			p.level = l + 1
		}
	default:
		p.list.read(n)
	}
}

func (w *wordWriter) finish(name string) error {
	switch name {
	case "t":
		w.inText = false
	case "footnote", "endnote":
		w.note = ""
	case "p":
		if len(w.open) == 0 {
			return nil
		}
		p := w.open[len(w.open)-1]
		w.open = w.open[:len(w.open)-1]
		if err := w.put(p); err != nil {
			return err
		}
		return w.putNotes()
	case "tc":
		if w.tables == 1 {
			w.cells = append(w.cells, strings.Join(w.cell, " "))
			w.cell = nil
		}
	case "tr":
		if w.tables == 1 {
			cells := w.cells
			w.cells = nil
			if w.note != "" {
				return w.addNote(strings.Join(cells, " "))
			}
			return w.c.row(cells)
		}
	case "tbl":
		w.tables = max(w.tables-1, 0)
		return w.putNotes()
	}
	return nil
}

func (w *wordWriter) put(p *wordParagraph) error {
	text := p.text.String()
	level := p.level
	style := w.styles[p.style]
	if style.level > 0 {
		level = style.level
	} else if level == 0 {
		level = headingName(p.style)
	}
	list := p.list.or(style.list)
	switch {
	case w.tables > 0:
		if strings.TrimSpace(text) != "" {
			w.cell = append(w.cell, text)
		}
		return nil
	case w.note != "":
		return w.addNote(text)
	case level > 0:
		return w.c.heading(level, text)
	case list.is() && strings.TrimSpace(text) != "":
		return w.c.item(max(list.depth, 1), w.number(list), text)
	}
	return w.c.paragraph(text)
}

// addNote keeps a paragraph of a note until it is referred to.
func (w *wordWriter) addNote(text string) error {
	if w.noteSize += len(text); w.noteSize > w.c.j.limits.Text {
		return w.c.j.tooMuchText()
	}
	w.notes[w.note] = strings.TrimSpace(w.notes[w.note] + " " + text)
	return nil
}

// putNotes writes the notes that the block before refers to, so that each is found where it belongs. It waits for the end
// of what the reference stands in.
func (w *wordWriter) putNotes() error {
	if w.tables > 0 || len(w.open) > 0 || w.note != "" {
		return nil
	}
	for _, id := range w.due {
		text := cleanLine(w.notes[id])
		delete(w.notes, id)
		if text == "" {
			continue
		}
		w.last++
		if err := w.c.paragraph("[^" + strconv.Itoa(w.last) + "]: " + text); err != nil {
			return err
		}
	}
	w.due = nil
	return nil
}
