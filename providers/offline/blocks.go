package offline

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"loci/core"
)

// block is a memory block as far as the request shows it.
type block struct {
	label    string
	value    string
	readOnly bool
	limit    int // in characters; 0: unknown
}

// room reports whether more characters fit.
func (b *block) room(more int) bool {
	return b.limit == 0 || utf8.RuneCountInString(b.value)+1+more <= b.limit
}

// maxBlocks limits how many blocks of a prompt are read.
const maxBlocks = 200

// parseBlocks reads the blocks of a compiled prompt: <label>, <description>, <metadata> and <value> of each.
func parseBlocks(prompt string) []*block {
	if _, inner, ok := strings.Cut(prompt, "<memory_blocks>"); ok {
		prompt = inner
	}
	if i := strings.LastIndex(prompt, "</memory_blocks>"); i >= 0 {
		prompt = prompt[:i]
	}
	var out []*block
	for len(out) < maxBlocks {
		head, rest, ok := strings.Cut(prompt, "<value>")
		if !ok {
			break
		}
		label := labelOf(head)
		closing := "</value>\n</" + label + ">"
		value, after, ok := strings.Cut(rest, closing)
		if !ok {
			if value, after, ok = strings.Cut(rest, "</value>"); !ok {
				break
			}
		}
		prompt = after
		if label == "" {
			continue
		}
		out = append(out, &block{
			label: label, value: unnumber(trimEnds(value)),
			readOnly: strings.Contains(head, "read_only=true"), limit: number(head, "chars_limit="),
		})
	}
	return out
}

// labelOf finds the tag that opens a block: the one right before the block's first part.
func labelOf(head string) string {
	for at := 0; at < len(head); {
		i := strings.IndexByte(head[at:], '<')
		if i < 0 {
			return ""
		}
		at += i + 1
		name, rest, ok := strings.Cut(head[at:], ">")
		if !ok {
			return ""
		}
		if strings.ContainsAny(name, "<\n") || strings.HasPrefix(name, "/") {
			continue
		}
		switch name {
		case "description", "metadata", "warning", "":
			continue
		}
		rest = strings.TrimLeft(rest, " \r\n")
		if rest == "" || strings.HasPrefix(rest, "<description>") || strings.HasPrefix(rest, "<metadata>") {
			return name
		}
	}
	return ""
}

func number(s, key string) int {
	_, rest, _ := strings.Cut(s, key)
	end := 0
	for end < len(rest) && end < 9 && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	n, _ := strconv.Atoi(rest[:end])
	return n
}

// trimEnds removes the line breaks that the prompt puts around a value.
func trimEnds(s string) string {
	return strings.TrimSuffix(strings.TrimPrefix(s, "\n"), "\n")
}

// unnumber removes line numbers (1→) if every line has one.
func unnumber(s string) string {
	if !strings.Contains(s, "→") {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		n, rest, ok := strings.Cut(line, "→")
		if _, err := strconv.Atoi(strings.TrimSpace(n)); !ok || err != nil {
			return s
		}
		lines[i] = strings.TrimPrefix(rest, " ")
	}
	return strings.Join(lines, "\n")
}

// edit is a change to a block visible in the thread: an announcement, or a call of our own with its return.
type edit struct {
	label     string
	announced bool
	value     string                      // the complete value afterwards, as far as the return shows it
	whole     bool                        // value is certainly complete
	apply     func(string) (string, bool) // the change itself; false: it doesn't fit that value
	partial   bool                        // the return shows only what changed
	effect    string                      // a text that has been in the block since then
}

// ownEdit reads a successful memory call.
func ownEdit(c core.ToolCall, ret string) (edit, bool) {
	args, err := core.ParseArguments(c.Arguments)
	if err != nil {
		return edit{}, false
	}
	str := func(name string) string { s, _ := args[name].(string); return s }
	e := edit{label: str("label")}
	switch c.Name {
	case "memory_insert":
		e.effect = str("new_string")
		e.apply = func(v string) (string, bool) { return appended(v, e.effect), true }
		if line, ok := args["insert_line"].(float64); ok && line >= 0 {
			e.apply = func(v string) (string, bool) { return insertedAt(v, e.effect, int(line)), true }
		}
	case "core_memory_append":
		e.effect = str("content")
		e.apply = func(v string) (string, bool) { return appended(v, e.effect), true }
	case "memory_replace":
		e.effect = str("new_string")
		e.apply = replacing(str("old_string"), e.effect)
	case "core_memory_replace":
		e.effect = str("new_content")
		e.apply = replacing(str("old_content"), e.effect)
	case "memory_rethink":
		e.effect = str("new_memory")
		e.apply = func(string) (string, bool) { return e.effect, true }
	default:
		return edit{}, false
	}
	if strings.HasSuffix(unpack(ret), "</changes>") {
		e.partial = true
		return e, e.label != ""
	}
	e.value = unnumber(trimEnds(unpack(ret)))
	e.whole = strings.TrimSpace(e.effect) != "" && holdsLines(e.value, e.effect)
	return e, e.label != ""
}

func replacing(old, replacement string) func(string) (string, bool) {
	return func(v string) (string, bool) {
		if old == "" || !strings.Contains(v, old) {
			return v, false
		}
		return strings.ReplaceAll(v, old, replacement), true
	}
}

func appended(value, more string) string {
	if value == "" || strings.HasSuffix(value, "\n") {
		return value + more
	}
	return value + "\n" + more
}

func insertedAt(value, more string, line int) string {
	var lines []string
	if value != "" {
		lines = strings.Split(value, "\n")
	}
	line = min(line, len(lines))
	out := append(append(append([]string{}, lines[:line]...), more), lines[line:]...)
	return strings.Join(out, "\n")
}

// holdsLines reports whether every line of a text is a line of the value.
func holdsLines(value, lines string) bool {
	have := "\n" + value + "\n"
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		if !strings.Contains(have, "\n"+strings.TrimRightFunc(line, unicode.IsSpace)+"\n") {
			return false
		}
	}
	return true
}

// newest works out a block's current value from the prompt and the edits in the thread, in order.
//
// The prompt may be older than an edit in the thread (a conversation is pinned to it) or newer (it has been recompiled
// since). An edit's return tells which: if applying the edit to the prompt's value gives what was returned, the prompt
// is older; if no edit does, it is newer.
func newest(prompt string, edits []edit) string {
	start := -1
	for i, e := range edits {
		if e.announced {
			start, prompt = i, announced(prompt, e)
		}
	}
	edits = edits[start+1:]
	state, following := prompt, start >= 0
	for _, e := range edits {
		after, fits := e.apply(state)
		switch {
		case following && e.whole:
			state = e.value
		case following && fits:
			state = after
		case fits && sameLines(after, e.value):
			state, following = after, true
		case fits && e.partial && e.effect == "": // what it removes is still there
			state, following = after, true
		case fits && !e.whole && e.effect != "" && !holdsLines(state, e.effect):
			state, following = after, true
		}
	}
	return state
}

// announced applies an announcement: a complete value or a diff.
func announced(state string, e edit) string {
	if e.whole {
		return e.value
	}
	after, _ := e.apply(state)
	return after
}

func sameLines(a, b string) bool {
	clean := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	return clean(a) == clean(b)
}

// announcements reads the block versions in a reminder: a quoted label, then <value> or <changes>, or the prompt's
// layout.
func announcements(reminder string) []edit {
	var out []edit
	for _, b := range parseBlocks(reminder) {
		out = append(out, edit{label: b.label, announced: true, whole: true, value: b.value})
	}
	if len(out) > 0 {
		return out
	}
	for len(out) < maxBlocks {
		value, changes := strings.Index(reminder, "<value>"), strings.Index(reminder, "<changes>")
		tag, at := "value", value
		if value < 0 || changes >= 0 && changes < value {
			tag, at = "changes", changes
		}
		if at < 0 {
			break
		}
		body, rest, ok := strings.Cut(reminder[at+len(tag)+2:], "</"+tag+">")
		if !ok {
			break
		}
		if label := lastQuoted(reminder[:at]); label != "" {
			body = trimEnds(body)
			e := edit{label: label, announced: true, whole: tag == "value", value: unnumber(body)}
			if tag == "changes" {
				e.apply = func(v string) (string, bool) { return patched(v, body), true }
			}
			out = append(out, e)
		}
		reminder = rest
	}
	return out
}

// lastQuoted returns the last text in quotes or backticks.
func lastQuoted(s string) string {
	for _, q := range []string{`"`, "`", "'"} {
		end := strings.LastIndex(s, q)
		if end <= 0 {
			continue
		}
		if start := strings.LastIndex(s[:end], q); start >= 0 && !strings.Contains(s[start+1:end], "\n") {
			return s[start+1 : end]
		}
	}
	return ""
}

// patched applies the - and + lines of a diff: removed lines go, and new ones replace them or follow the line that the
// diff shows before them.
func patched(value, diff string) string {
	lines := strings.Split(value, "\n")
	at := len(lines)
	find := func(line string) int {
		for i, l := range lines {
			if l == line {
				return i
			}
		}
		return -1
	}
	for d := range strings.SplitSeq(diff, "\n") {
		switch {
		case strings.HasPrefix(d, "-"):
			if i := find(d[1:]); i >= 0 {
				lines = append(lines[:i], lines[i+1:]...)
				at = i
			}
		case strings.HasPrefix(d, "+"):
			at = min(at, len(lines))
			lines = append(lines[:at], append([]string{d[1:]}, lines[at:]...)...)
			at++
		case strings.HasPrefix(d, " "):
			if i := find(d[1:]); i >= 0 {
				at = i + 1
			}
		}
	}
	return strings.Join(lines, "\n")
}
