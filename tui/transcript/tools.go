package transcript

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"loci/tui/term"
)

// Call is a tool call and, once it arrives, its return.
type Call struct {
	ID, Name  string
	Arguments string // JSON, possibly incomplete
	Return    string
	Done      bool
	Failed    bool
}

// changedReturn begins the return of a call that ran with other arguments than
// the model's.
const changedReturn = "[ran with arguments changed by the person: "

// look says how a tool's calls are shown on one row.
type look struct {
	mark string
	verb string                                // what it does, in a person's words
	what func(r *Renderer, args fields) string // what it does it to
	tell func(ret string) string               // the outcome; nil: nothing

	below func(r *Renderer, args fields, ret string) []string // rows of their own, once it has returned; nil: none
}

// looks has a row for each tool that isn't shown by its name and arguments.
func looks() map[string]look {
	all := map[string]look{
		"core_memory_append":      {mark: "✎", verb: "remembers in", what: difference("", "content")},
		"core_memory_replace":     {mark: "✎", verb: "corrects", what: difference("old_content", "new_content")},
		"memory_insert":           {mark: "✎", verb: "remembers in", what: difference("", "new_str|new_string")},
		"memory_replace":          {mark: "✎", verb: "corrects", what: difference("old_str|old_string", "new_str|new_string")},
		"memory_rethink":          {mark: "✎", verb: "rewrites", what: difference("", "new_memory")},
		"memory_finish_edits":     {mark: "✎", verb: "has finished editing memory", what: nothing},
		"memory_create":           {mark: "✎", verb: "makes a block", what: difference("", "value")},
		"archival_memory_insert":  {mark: "✎", verb: "keeps", what: quoted("content"), tell: similar},
		"archival_memory_replace": {mark: "✎", verb: "replaces a passage by", what: quoted("content"), tell: passageWas},
		"archival_memory_delete":  {mark: "✎", verb: "deletes a passage", what: nothing, tell: passageWas},
		"archival_memory_search":  {mark: "⌕", verb: "searches the archive", what: quoted("query"), tell: found},
		"conversation_search":     {mark: "⌕", verb: "searches conversations", what: quoted("query"), tell: found},
		"open_files":              {mark: "▸", verb: "opens", what: fileNames},
		"grep_files":              {mark: "⌕", verb: "searches the files", what: quoted("pattern"), tell: matched},
		"semantic_search_files":   {mark: "⌕", verb: "searches the files", what: quoted("query"), tell: matched},
		"send_message":            {mark: "›", verb: "says", what: quoted("message")},
		"web_search":              {mark: "⌕", verb: "searches the web", what: quoted("query")},
		"fetch_webpage":           {mark: "⌕", verb: "reads", what: quoted("url")},
		"run_code":                {mark: "▸", verb: "runs code", what: quoted("code")},
	}
	maps.Copy(all, workLooks())
	return all
}

// Tool draws a call as one row: its state, what it does to what, and how it
// went.
func (r *Renderer) Tool(c Call) string {
	th := r.Theme
	l, known := looks()[c.Name]
	args := parseArguments(c.Arguments)
	mark, head, what := "▸", " "+th.Plain.Render(OneLine(c.Name)), th.Dim.Render(args.String())
	if known {
		mark, head, what = l.mark, "", l.what(r, args)
		if l.verb != "" {
			head = " " + th.Dim.Render(l.verb)
		}
	}
	tail := ""
	switch {
	case c.Failed:
		return r.failed(th.Bad.Render("✗")+head, what, fault(c))
	case strings.HasPrefix(c.Return, changedReturn):
		mark, tail = th.Accent.Render(mark), th.Dim.Render("with arguments that a person changed")
	case !c.Done:
		mark, tail = th.Warn.Render(mark), th.Dim.Render("…")
	default:
		mark = th.Accent.Render(mark)
		if l.tell != nil && l.tell(c.Return) != "" {
			tail = th.Dim.Render(l.tell(c.Return))
		}
	}
	row := r.row(mark+head, what, tail)
	if c.Done && l.below != nil {
		row = strings.Join(append([]string{row}, l.below(r, args, c.Return)...), "\n")
	}
	return row
}

// faultRows bounds what is shown of why a call failed; all of it is in the view that unfolds.
const faultRows = 6

// failed draws a call that failed or was refused: why, on the same row or, if that has no room, on rows below.
func (r *Renderer) failed(head, middle, why string) string {
	th := r.Theme
	first := head
	if middle != "" {
		first += " " + middle
	}
	if term.Width(first)+term.Width(dot+why) <= r.Width {
		return first + th.Dim.Render(dot) + th.Bad.Render(why)
	}
	rows := strings.Split(wrap(why, max(min(r.Width, readable)-2, 2)), "\n")
	if over := len(rows) - faultRows; over > 0 {
		rows = append(rows[:faultRows-1:faultRows-1], fmt.Sprintf("%s %d more rows (ctrl+o)", term.CutMark, over+1))
	}
	for i, row := range rows {
		rows[i] = "  " + th.Bad.Render(row)
	}
	return r.row(head, middle, "") + "\n" + strings.Join(rows, "\n")
}

const dot = " · "

// fault is why a call failed, in a person's words.
func fault(c Call) string {
	why := strings.TrimPrefix(OneLine(c.Return), "Error executing function "+OneLine(c.Name)+": ")
	if reason, denied := strings.CutPrefix(why, "Error: request to call tool denied. User reason: "); denied {
		if reason == "None" {
			return "denied"
		}
		return "denied: " + reason
	}
	return strings.TrimPrefix(why, "PermissionError: ")
}

// row joins the parts of a one-line item. The middle is shortened first.
func (r *Renderer) row(head, middle, tail string) string {
	if tail != "" {
		room := max(r.Width-term.Width(head)-4, r.Width/3)
		tail = Short(tail, max(room/2, min(room, r.Width/2)))
	}
	room := r.Width - term.Width(head) - 1
	if tail != "" {
		room -= term.Width(tail) + 3
	}
	if middle != "" && room > 3 {
		head += " " + Short(middle, room)
	}
	if tail != "" {
		head += r.Theme.Dim.Render(" · ") + tail
	}
	return Short(head, r.Width)
}

// Detail is a call in full, for views that unfold.
func (r *Renderer) Detail(c Call) string {
	var b strings.Builder
	for _, f := range parseArguments(c.Arguments) {
		fmt.Fprintf(&b, "%s: %s\n", f.name, f.value)
	}
	if c.Return != "" {
		b.WriteString("→ " + c.Return)
	}
	return r.indent(lines(r.Theme.Dim.Render, strings.TrimRight(hardwrap(Clean(b.String()), r.Width-2), "\n")))
}

func (r *Renderer) indent(s string) string { return "  " + hang(s, 2) }

// hang indents every line but the first and the empty ones.
func hang(s string, columns int) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if i > 0 && l != "" {
			lines[i] = strings.Repeat(" ", columns) + l
		}
	}
	return strings.Join(lines, "\n")
}

// field is one argument of a call; fields is all of them, in the model's order.
type (
	field struct {
		name, value string
		json        json.RawMessage
	}
	fields []field
)

func (f fields) get(names string) string {
	for name := range strings.SplitSeq(names, "|") {
		if i := slices.IndexFunc(f, func(x field) bool { return x.name == name }); i >= 0 {
			return f[i].value
		}
	}
	return ""
}

func (f fields) String() string {
	parts := make([]string, 0, len(f))
	for _, x := range f {
		parts = append(parts, x.name+": "+OneLine(x.value))
	}
	return strings.Join(parts, ", ")
}

// raw is the arguments as JSON.
func (f fields) raw() map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, x := range f {
		out[x.name] = x.json
	}
	return out
}

// parseArguments reads as much of a JSON object as has arrived.
func parseArguments(s string) fields {
	d := json.NewDecoder(strings.NewReader(s))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out fields
	for d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		key, ok := name.(string)
		if !ok {
			break
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			break
		}
		if key == "request_heartbeat" || key == "thinking" {
			continue // controls the loop, says nothing about the call
		}
		text := ""
		if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
			text = compact(raw)
		}
		out = append(out, field{key, text, raw})
	}
	return out
}

func nothing(*Renderer, fields) string { return "" }

func quoted(names string) func(*Renderer, fields) string {
	return func(r *Renderer, args fields) string {
		if v := OneLine(args.get(names)); v != "" {
			return "“" + v + "”"
		}
		return ""
	}
}

// difference draws an edit of a block on one line: what was removed, what was
// added.
func difference(old, neu string) func(*Renderer, fields) string {
	return func(r *Renderer, args fields) string {
		out := r.Theme.Strong.Render(OneLine(args.get("label")))
		before, after := OneLine(args.get(old)), OneLine(args.get(neu))
		if old == "" {
			before = ""
		}
		half := max((r.Width-term.Width(out)-24)/2, 8)
		if before != "" {
			if after != "" {
				before = Short(before, half)
			}
			out += " " + r.Theme.Bad.Render("− "+before)
		}
		if after != "" {
			out += " " + r.Theme.Good.Render("+ "+after)
		}
		return out
	}
}

// found says how many results a search returned.
func found(ret string) string {
	var list []json.RawMessage
	if json.Unmarshal([]byte(ret), &list) == nil {
		return count(len(list))
	}
	var object struct {
		Results []json.RawMessage `json:"results"`
		Count   *int              `json:"count"`
	}
	if json.Unmarshal([]byte(ret), &object) == nil {
		if object.Count != nil {
			return count(*object.Count)
		}
		if object.Results != nil {
			return count(messagesIn(object.Results))
		}
	}
	return OneLine(ret)
}

// messagesIn counts results, in a search by conversation those in each.
func messagesIn(results []json.RawMessage) (n int) {
	for _, one := range results {
		var conversation struct {
			Messages []json.RawMessage `json:"messages"`
		}
		if json.Unmarshal(one, &conversation) != nil || conversation.Messages == nil {
			n++
		}
		n += len(conversation.Messages)
	}
	return n
}

// similar says that something like what was kept was kept before.
func similar(ret string) string {
	_, what, _ := strings.Cut(ret, "\nSimilar to ")
	_, day, found := strings.Cut(what, ", of ")
	if !found {
		return ""
	}
	day, _, _ = strings.Cut(day, ":")
	return "similar to a passage of " + OneLine(day)
}

// passageWas quotes what a passage said before.
func passageWas(ret string) string {
	if _, was, found := strings.Cut(ret, ", which said: "); found {
		return "it said “" + OneLine(was) + "”"
	}
	return OneLine(ret)
}

// fileNames names the files that a call opens.
func fileNames(_ *Renderer, args fields) string {
	var requests []struct {
		Name string `json:"file_name"`
	}
	raw := args.get("file_requests")
	if json.Unmarshal([]byte(raw), &requests) != nil {
		return OneLine(raw)
	}
	var names []string
	for _, r := range requests {
		names = append(names, OneLine(r.Name))
	}
	return strings.Join(names, ", ")
}

// matched says how much a file search found.
func matched(ret string) string {
	first, _, _ := strings.Cut(ret, "\n")
	var n int
	if _, err := fmt.Sscanf(first, "Found %d", &n); err == nil {
		return count(n)
	}
	if strings.HasPrefix(first, "No ") && strings.Contains(first, "matches") {
		return count(0)
	}
	return OneLine(first)
}

func count(n int) string {
	if n == 0 {
		return "nothing found"
	}
	return fmt.Sprintf("%d found", n)
}
