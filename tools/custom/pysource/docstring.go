package pysource

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// docstring is what one says.
type docstring struct {
	summary, long, examples string
	params                  map[string]string
}

func (d docstring) description() string {
	var parts []string
	for _, part := range []string{d.summary, d.long} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if d.examples != "" {
		parts = append(parts, "Examples:\n"+d.examples)
	}
	return strings.Join(parts, "\n\n")
}

// cleaned takes the common indentation out of a docstring, as PEP 257 has it.
func cleaned(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = expanded(lines[i])
	}
	margin := -1
	for _, line := range lines[1:] {
		if body := strings.TrimLeft(line, " "); body != "" {
			if n := len(line) - len(body); margin < 0 || n < margin {
				margin = n
			}
		}
	}
	lines[0] = strings.TrimLeft(lines[0], " ")
	for i, line := range lines[1:] {
		lines[i+1] = line[min(max(margin, 0), len(line)):]
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \f\v")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// expanded replaces the tabs of a line by spaces.
func expanded(line string) string {
	var b strings.Builder
	for column := 0; ; {
		before, rest, found := strings.Cut(line, "\t")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		column += utf8.RuneCountInString(before)
		b.WriteString("        "[column%8:])
		column += 8 - column%8
		line = rest
	}
}

// sections of Google's style, by what becomes of them.
var sections = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"args": "params", "arguments": "params", "parameters": "params", "params": "params", "keyword args": "params",
		"keyword arguments": "params", "other parameters": "params", "attributes": "params", "attribute": "params",
		"example": "examples", "examples": "examples",
		"returns": "", "return": "", "yields": "", "yield": "", "raises": "", "raise": "", "except": "", "exceptions": "", "warns": "",
		"note": "", "notes": "", "warning": "", "warnings": "", "see also": "", "references": "", "todo": "", "todos": "",
	}
})

// parseDocstring reads a docstring whose indentation is cleaned.
func parseDocstring(s string) docstring {
	d := docstring{params: map[string]string{}}
	lines := strings.Split(s, "\n")
	text := d.sections(lines)
	for len(text) > 0 && text[0] == "" {
		text = text[1:]
	}
	if len(text) > 0 {
		d.summary = text[0]
		d.long = strings.Trim(strings.Join(text[1:], "\n"), "\n")
	}
	return d
}

// sections takes down the sections and returns the lines outside of them.
func (d *docstring) sections(lines []string) (text []string) {
	for i := 0; i < len(lines); {
		name, size := heading(lines, i)
		switch {
		case size > 0:
			body, next := below(lines, i+size, size == 2)
			d.section(sections()[name], body, size == 2)
			i = next
		case fieldList(lines[i]):
			i = d.reST(lines, i)
		default:
			text = append(text, lines[i])
			i++
		}
	}
	return text
}

// heading reports whether a section begins, and how many lines say so: one in Google's style, two in numpydoc's.
func heading(lines []string, i int) (name string, size int) {
	line := lines[i]
	if i+1 < len(lines) && len(lines[i+1]) > 2 && strings.Trim(lines[i+1], "-") == "" {
		name = strings.ToLower(line)
		if _, known := sections()[name]; known {
			return name, 2
		}
	}
	name, found := strings.CutSuffix(strings.ToLower(line), ":")
	if _, known := sections()[name]; !found || !known {
		return "", 0
	}
	for _, next := range lines[i+1:] { // what is indented belongs to it; a word with a colon alone is none
		if next != "" {
			if next[0] == ' ' {
				return name, 1
			}
			break
		}
	}
	if i+1 == len(lines) {
		return name, 1
	}
	return "", 0
}

// below are the lines of a section: those that are indented, or all up to the next heading of numpydoc's.
func below(lines []string, from int, numpy bool) (body []string, next int) {
	for next = from; next < len(lines); next++ {
		if _, size := heading(lines, next); size == 2 || !numpy && lines[next] != "" && lines[next][0] != ' ' {
			break
		}
	}
	return lines[from:next], next
}

func (d *docstring) section(what string, body []string, numpy bool) {
	switch what {
	case "params":
		if numpy {
			d.numpy(body)
		} else {
			d.google(body)
		}
	case "examples":
		d.examples = cleaned("\n" + strings.Join(body, "\n"))
	}
}

// google reads `name (type): what it is`, with lines that go on deeper.
func (d *docstring) google(body []string) {
	margin := -1
	var names []string
	var about []string
	keep := func() {
		said := strings.Trim(cleaned(strings.Join(about, "\n")), "\n ")
		for _, name := range names {
			if _, known := d.params[name]; !known && said != "" {
				d.params[name] = said
			}
		}
	}
	for _, line := range body {
		content := strings.TrimLeft(line, " ")
		indented := len(line) - len(content)
		if content != "" && (margin < 0 || indented <= margin) {
			keep()
			margin = indented
			var said string
			names, said = entryOf(content)
			about = []string{said}
			continue
		}
		about = append(about, line)
	}
	keep()
}

// entryOf splits a line of Args into its names and what it says.
func entryOf(line string) (names []string, said string) {
	head, open := line, 0
	for i := range len(line) {
		switch line[i] {
		case '(', '[':
			open++
			continue
		case ')', ']':
			open--
			continue
		case ':':
			if open > 0 {
				continue // a role such as :obj: in a type
			}
			head, said = line[:i], strings.TrimSpace(line[i+1:])
		default:
			continue
		}
		break
	}
	if bracket := strings.IndexByte(head, '('); bracket >= 0 {
		head = head[:bracket]
	}
	for one := range strings.SplitSeq(head, ",") {
		names = append(names, strings.TrimLeft(strings.TrimSpace(one), "*"))
	}
	return names, said
}

// numpy reads `name : type` with what it is below.
func (d *docstring) numpy(body []string) {
	for i := 0; i < len(body); {
		head := body[i]
		i++
		from := i
		for i < len(body) && (body[i] == "" || body[i][0] == ' ') {
			i++
		}
		said := cleaned("\n" + strings.Join(body[from:i], "\n"))
		before, _, _ := strings.Cut(head, ":")
		for one := range strings.SplitSeq(before, ",") {
			if one = strings.TrimLeft(strings.TrimSpace(one), "*"); one != "" && said != "" {
				d.params[one] = said
			}
		}
	}
}

// fieldList reports whether a line is a field of reST, such as `:param x: what it is`.
func fieldList(line string) bool {
	for _, f := range []string{
		":param", ":parameter", ":arg", ":argument", ":key", ":keyword", ":type", ":return", ":returns", ":rtype", ":raises", ":raise",
		":except", ":yield", ":yields",
	} {
		if rest, ok := strings.CutPrefix(line, f); ok && rest != "" && (rest[0] == ' ' || rest[0] == ':') {
			return true
		}
	}
	return false
}

// reST reads one field with the lines that go on deeper, and returns what comes next.
func (d *docstring) reST(lines []string, i int) (next int) {
	head, said, _ := strings.Cut(lines[i][1:], ":")
	next = i + 1
	for next < len(lines) && (lines[next] == "" && next+1 < len(lines) && strings.HasPrefix(lines[next+1], " ") ||
		strings.HasPrefix(lines[next], " ")) {
		next++
	}
	words := strings.Fields(head)
	switch words[0] {
	case "param", "parameter", "arg", "argument", "key", "keyword":
		text := strings.TrimSpace(said)
		if more := cleaned("\n" + strings.Join(lines[i+1:next], "\n")); more != "" {
			text += "\n" + more
		}
		if text = strings.TrimSpace(text); len(words) > 1 && text != "" {
			d.params[strings.TrimLeft(words[len(words)-1], "*")] = text
		}
	}
	return next
}
