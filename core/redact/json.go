package redact

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// structural reports whether a key's values aren't text but hold the records together.
func structural(parent, key string) bool {
	switch key {
	case "type", "role", "hidden", "kind", "id", "ids", "model", "handle", "provider", "embedding", "wanted", "prefix", "hash", "status",
		"stop_reason", "finish", "trigger", "error_type", "mode", "timezone", "zone", "tool_name", "children", "offer":
		return true
	case "name":
		return parent == "call" || parent == "returns" || parent == "tools" || parent == "child_arg_nodes"
	case "sender_id": // the client chose it
		return false
	}
	return strings.HasSuffix(key, "_id") || strings.HasSuffix(key, "_ids") || strings.HasSuffix(key, "_hash")
}

// free reports whether everything under a key is user content, names included.
func free(key string) bool { return key == "metadata" }

// arguments reports whether everything under a key is user content, numbers too, except the names that tools declare.
func arguments(key string) bool { return key == "arguments" || key == "args" }

// said reports whether everything under a key is what somebody said, even if it looks like an id: a key, or a token.
func said(parent, key string) bool {
	switch key {
	case "text", "stdout", "stderr":
		return parent == "content" || parent == "returns"
	}
	return key == "tags"
}

// shaped matches strings that aren't text where records refer to each other, whatever they contain: ids, hashes and
// times.
var shaped = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(?:[a-z]+-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$|^[0-9a-f]{64}$|^\d{4}` +
			`-\d\d-\d\dT\d\d:\d\d:\d\d[0-9.:+Z-]*$`,
	)
})

// JSON redacts the strings of a JSON document and leaves its structure and all other bytes alone. Anything that isn't
// JSON is treated as text. root is the key that the whole document is stored under.
func (r *Redactor) JSON(raw, root string) string {
	if !json.Valid([]byte(raw)) {
		return r.Text(raw)
	}
	w := jsonWalk{r: r, in: raw}
	w.value("", root, false)
	w.copyRest()
	return w.out.String()
}

// Hit returns the first string of a document that holds one of the texts.
func (r *Redactor) Hit(raw string) string {
	if !json.Valid([]byte(raw)) {
		return raw
	}
	w := jsonWalk{r: r, in: raw}
	w.value("", "", false)
	return w.hit
}

// jsonWalk reads a valid document once and rewrites it.
type jsonWalk struct {
	r    *Redactor
	in   string
	at   int    // read up to here
	from int    // written up to here
	hit  string // the first string that holds a text
	out  strings.Builder
}

func (w *jsonWalk) copyRest() {
	w.out.WriteString(w.in[w.from:])
	w.from = len(w.in)
}

// replace writes s in place of what was read since start.
func (w *jsonWalk) replace(start int, s string) {
	w.out.WriteString(w.in[w.from:start])
	w.out.WriteString(`"` + plainJSON(s) + `"`)
	w.from = w.at
}

func (w *jsonWalk) space() {
	for w.at < len(w.in) && strings.IndexByte(" \t\r\n", w.in[w.at]) >= 0 {
		w.at++
	}
}

// value reads a value stored under key, in an object stored under parent. own is true inside user content.
func (w *jsonWalk) value(parent, key string, own bool) {
	w.space()
	switch w.in[w.at] {
	case '{':
		w.object(key, own)
	case '[':
		w.at++
		for w.space(); w.in[w.at] != ']'; w.space() {
			w.value(parent, key, own)
			if w.space(); w.in[w.at] == ',' {
				w.at++
			}
		}
		w.at++
	case '"':
		start := w.at
		w.text(start, w.literal(), parent, key, own)
	default:
		start := w.at
		for w.at < len(w.in) && strings.IndexByte(",]} \t\r\n", w.in[w.at]) < 0 {
			w.at++
		}
		if number := w.in[start:w.at]; own && number[0] < 'a' && w.r.Finds(number) {
			w.replace(start, w.r.Text(number))
		}
	}
}

func (w *jsonWalk) object(parent string, own bool) {
	w.at++
	for w.space(); w.in[w.at] != '}'; w.space() {
		start := w.at
		key := w.literal()
		if !w.stays(parent, key, own) && w.r.Finds(key) {
			w.replace(start, w.r.Text(key))
		}
		w.space()
		w.at++ // skip the colon
		if free(parent) {
			w.value(parent, parent, true) // everything below is user content
		} else {
			w.value(parent, key, own || free(key) || arguments(key) || parent == "extra") // "extra" keeps what a client set
		}
		if w.space(); w.in[w.at] == ',' {
			w.at++
		}
	}
	w.at++
}

// stays reports whether an object's name is one of ours, or one that a tool declared, and not a text.
func (w *jsonWalk) stays(parent, key string, own bool) bool {
	switch {
	case free(parent):
		return false
	case arguments(parent) || parent == "properties":
		return w.r.Declared[key]
	default:
		return !own && plainKey(key)
	}
}

// plainKey reports whether a name may be one of ours, or a schema keyword.
func plainKey(key string) bool {
	for i := range len(key) {
		c := key[i]
		if c != '_' && c != '$' && (c < 'a' || c > 'z') && (i == 0 || (c < 'A' || c > 'Z') && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}

// literal reads a string.
func (w *jsonWalk) literal() string {
	start := w.at
	for w.at++; w.in[w.at] != '"'; w.at++ {
		if w.in[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	raw := w.in[start+1 : w.at-1]
	if strings.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var s string
	if err := json.Unmarshal([]byte(w.in[start:w.at]), &s); err != nil {
		return raw // can't happen: the document is valid
	}
	return s
}

// text redacts a string that was read.
func (w *jsonWalk) text(start int, s, parent, key string, own bool) {
	made := key == "name" && (parent == "call" || parent == "returns") && !w.r.Tools[s] // a model made it up for a tool that never existed
	if !w.r.Finds(s) && !w.r.lists(s) || !own && !made && (structural(parent, key) || !said(parent, key) && shaped().MatchString(s)) {
		return
	}
	bare := w.r.Bare(s)
	if bare == s && !w.r.Finds(s) {
		return
	}
	if w.hit == "" {
		w.hit = s
	}
	switch inner := strings.TrimSpace(bare); {
	case key == "tags" || key == "label" || made && !own:
		w.replace(start, w.r.Name(s))
	case (key == "state" || arguments(key)) && strings.HasPrefix(inner, "{") && json.Valid([]byte(inner)):
		nested := jsonWalk{r: w.r, in: inner}
		nested.value("", key, arguments(key))
		nested.copyRest()
		w.replace(start, nested.out.String())
	default:
		w.replace(start, w.r.Text(bare))
	}
}
