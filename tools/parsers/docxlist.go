package parsers

import (
	"strconv"
)

// wordStyle is what a style of paragraphs says of the text's structure.
type wordStyle struct {
	level  int // of a heading; 0: none
	list   wordList
	parent string
}

// wordStyles reads the styles by their ids, what they inherit included: ids are translated in other languages, names and
// outline levels are not.
func (j *parseTask) wordStyles(data []byte) (map[string]wordStyle, error) {
	styles := map[string]wordStyle{}
	id := ""
	err := j.walk(data, func(n node) error {
		if !n.start {
			return nil
		}
		s, known := styles[id]
		switch n.name {
		case "style":
			id, known = n.get("styleId"), true
			s = wordStyle{}
		case "name":
			if s.level == 0 {
				s.level = headingName(n.get("val"))
			}
		case "outlineLvl":
			if l, ok := within(n.get("val"), 9); ok {
				s.level = l + 1
			}
		case "basedOn":
			s.parent = n.get("val")
		default:
			s.list.read(n)
		}
		if known {
			styles[id] = s
		}
		return nil
	})
	for id, s := range styles {
		for at, hops := s.parent, 0; at != "" && hops < 10; hops++ {
			if s.level == 0 {
				s.level = styles[at].level
			}
			s.list = s.list.or(styles[at].list)
			at = styles[at].parent
		}
		styles[id] = s
	}
	return styles, err
}

// wordList says in which list a paragraph stands and how deep.
type wordList struct {
	id    string // empty: nothing is said; noList: in none
	depth int    // from 1; 0: nothing is said
}

const (
	noList   = "0"
	maxDepth = 10
)

func (l *wordList) read(n node) {
	switch n.name {
	case "numId":
		l.id = n.get("val")
	case "ilvl":
		if at, ok := within(n.get("val"), maxDepth); ok {
			l.depth = at + 1
		}
	}
}

// or completes what is said here by what is said there.
func (l wordList) or(other wordList) wordList {
	if l.id == "" {
		l.id = other.id
	}
	if l.depth == 0 {
		l.depth = other.depth
	}
	return l
}

func (l wordList) is() bool { return l.id != noList && (l.id != "" || l.depth > 0) }

// wordNumbering is how the items of a list are numbered. Lists that are of one kind count on from one another, unless one
// says with what it begins.
type wordNumbering struct {
	kind   string
	levels []wordLevel
}

type wordLevel struct {
	numbered bool
	start    int
	anew     int // where this list begins anew; 0: it does not
}

// wordNumberings reads how each list is numbered.
func (j *parseTask) wordNumberings(data []byte) (map[string]wordNumbering, error) {
	kinds, lists := map[string][]wordLevel{}, map[string]wordNumbering{}
	var at []wordLevel // of what is being read
	level, list := 0, ""
	err := j.walk(data, func(n node) error {
		if !n.start {
			return nil
		}
		switch n.name {
		case "abstractNum":
			at = make([]wordLevel, maxDepth)
			kinds[n.get("abstractNumId")] = at
		case "num":
			list = n.get("numId")
		case "abstractNumId":
			at = append([]wordLevel{}, kinds[n.get("val")]...)
			lists[list] = wordNumbering{n.get("val"), at}
		case "lvl", "lvlOverride":
			level, _ = within(n.get("ilvl"), maxDepth)
		case "numFmt":
			if level < len(at) {
				at[level].numbered = n.get("val") != "bullet" && n.get("val") != "none"
			}
		case "start":
			if start, ok := within(n.get("val"), maxNumber); ok && level < len(at) {
				at[level].start = start
			}
		case "startOverride":
			if start, ok := within(n.get("val"), maxNumber); ok && level < len(at) {
				at[level].anew = max(start, 1)
			}
		}
		return nil
	})
	return lists, err
}

// number counts an item of a list on; 0 where its level has no numbers.
func (w *wordWriter) number(l wordList) int {
	numbering, at := w.numbered[l.id], max(l.depth-1, 0)
	if at >= len(numbering.levels) {
		return 0
	}
	counts := w.counts[numbering.kind]
	if counts == nil {
		counts = make([]int, maxDepth)
		w.counts[numbering.kind] = counts
	}
	clear(counts[at+1:]) // what is deeper begins anew
	level := &numbering.levels[at]
	switch {
	case level.anew > 0:
		counts[at], level.anew = level.anew, 0
	case counts[at] == 0:
		counts[at] = max(level.start, 1)
	default:
		counts[at]++
	}
	if !level.numbered {
		return 0
	}
	return counts[at]
}

// within reads a number from 0 to below most.
func within(s string, most int) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n < most
}
