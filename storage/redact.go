package storage

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"loci/core"
	"loci/core/memory"
)

// redactor replaces texts by a mark.
type redactor struct {
	heads map[string][]string // texts by their first bytes, the longest first
	first [256]uint64         // by the first byte, a bit for each second one that may follow
	re    *regexp.Regexp      // instead of heads, where case does not count
	mark  string              // in texts
	plain string              // in names, labels and tags, which allow no brackets
	hints []string

	quotes *quotes // of longer texts; nil where only whole ones are looked for

	record string   // the id of the record that is forgotten; "" where it is a text
	tags   []string // of the record, which nothing else has

	declared map[string]bool // parameters of the tools that were sent: as names of arguments they stay
	tools    map[string]bool // their names
}

// headBytes is how many bytes of a text its head is; no text is shorter.
const headBytes = 3

// newRedactor returns what replaces the texts. Each is looked for as it is and as it stands in JSON that is itself a
// part of a text: the arguments of a call, or what a tool returned.
func newRedactor(texts []string, fold bool) *redactor {
	r := &redactor{heads: map[string][]string{}}
	var all []string
	for _, t := range texts {
		all = append(all, variants(t)...)
		if fold { // the case of an escaped letter is not told by that of its digits
			all = append(append(all, variants(strings.ToLower(t))...), variants(strings.ToUpper(t))...)
		}
		r.hints = append(r.hints, longestPlain(t))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if fold {
		seen := map[string]bool{}
		all = slices.DeleteFunc(all, func(t string) bool {
			t = strings.ToLower(t)
			was := seen[t]
			seen[t] = true
			return was
		})
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	if fold {
		quoted := make([]string, len(all))
		for i, t := range all {
			quoted[i] = regexp.QuoteMeta(t)
		}
		r.re = regexp.MustCompile("(?i)" + strings.Join(quoted, "|")) // the longest first; quoted, so it always compiles
	} else {
		for _, t := range all {
			r.heads[t[:headBytes]] = append(r.heads[t[:headBytes]], t)
			r.first[t[0]] |= 1 << (t[1] & 63)
		}
	}
	r.mark = r.pick("[forgotten]", "[removed]", "[…]", "[#]", "")
	r.plain = r.pick("forgotten", "removed", "gone", "x", "")
	return r
}

// next finds the first of the texts in s from a place on; start is -1 where there is none.
func (r *redactor) next(s string, from int) (start, end int) {
	if r.re != nil {
		if from == 0 && !r.likely(s) { // once for each text
			return -1, -1
		}
		if at := r.re.FindStringIndex(s[from:]); at != nil {
			return from + at[0], from + at[1]
		}
		return -1, -1
	}
	var h uint64
	for i := from; i+headBytes <= len(s); i++ {
		if r.quotes != nil && i+windowBytes <= len(s) {
			if i == from {
				h = hashOf(s[i : i+windowBytes])
			} else {
				h = r.quotes.moved(h, s[i-1], s[i-1+windowBytes])
			}
			if start, end, ok := r.quotes.part(s, h, i, from); ok {
				return r.joined(s, start, end)
			}
		}
		if n := r.headed(s[i:]); n > 0 {
			return r.joined(s, i, i+n)
		}
	}
	return -1, -1
}

// likely reports whether s may hold one of the texts, whatever the case: it saves the expression, which is slow.
func (r *redactor) likely(s string) bool {
	if len(r.hints) > maxLikely {
		return true
	}
	s = strings.ToLower(s)
	return slices.ContainsFunc(r.hints, func(h string) bool { return strings.Contains(s, strings.ToLower(h)) })
}

// maxLikely is how many hints are looked for one by one.
const maxLikely = 8

// headed is the length of the longest of the texts that s begins with.
func (r *redactor) headed(s string) int {
	if len(s) < headBytes || r.first[s[0]]&(1<<(s[1]&63)) == 0 {
		return 0
	}
	for _, t := range r.heads[s[:headBytes]] {
		if strings.HasPrefix(s, t) {
			return len(t)
		}
	}
	return 0
}

// joined is what was found, with what else begins within it.
func (r *redactor) joined(s string, start, end int) (from, to int) {
	if r.quotes == nil {
		return start, end
	}
	for i := start + 1; i < end; i++ {
		end = max(end, i+r.headed(s[i:]))
		if i+windowBytes > len(s) || i+windowBytes <= end {
			continue
		}
		if _, to, ok := r.quotes.part(s, hashOf(s[i:i+windowBytes]), i, start); ok {
			end = max(end, to)
		}
	}
	return start, end
}

// in reports whether any of the texts stands in s.
func (r *redactor) in(s string) bool {
	start, _ := r.next(s, 0)
	return start >= 0
}

// swap replaces every text once.
func (r *redactor) swap(s, mark string) string {
	var b strings.Builder
	from := 0
	for start, end := r.next(s, 0); start >= 0; start, end = r.next(s, from) {
		b.WriteString(s[from:start])
		b.WriteString(mark)
		from = end
	}
	b.WriteString(s[from:])
	return b.String()
}

// pick returns the first mark that holds none of the texts.
func (r *redactor) pick(marks ...string) string {
	for _, m := range marks {
		if !r.in(m) {
			return m
		}
	}
	return ""
}

// variants are the forms of a text: itself, and within JSON strings, once and twice, as the common writers escape it.
func variants(text string) []string {
	all := []string{text}
	for _, write := range []func(string) string{goJSON, plainJSON, rawJSON, asciiJSON, upperJSON, slashJSON} {
		once := write(text)
		all = append(all, once, write(once))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func goJSON(s string) string { return inJSON(s, true) }

func plainJSON(s string) string { return inJSON(s, false) }

// rawJSON leaves the line ends of Unicode as they are.
func rawJSON(s string) string {
	return strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(plainJSON(s))
}

// upperJSON is asciiJSON with large digits.
func upperJSON(s string) string {
	return escapes().ReplaceAllStringFunc(asciiJSON(s), func(e string) string {
		if e[1] != 'u' {
			return e
		}
		return `\u` + strings.ToUpper(e[2:])
	})
}

var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\(?:u[0-9a-f]{4}|.)`) })

func slashJSON(s string) string { return strings.ReplaceAll(asciiJSON(s), "/", `\/`) }

func inJSON(s string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(s); err != nil {
		return s // a string always has a JSON form
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}

func asciiJSON(s string) string {
	var b strings.Builder
	for _, c := range plainJSON(s) {
		switch {
		case c < utf8.RuneSelf:
			b.WriteRune(c)
		case c > 0xffff:
			c -= 0x10000
			b.WriteString(hexEscape(0xd800+c>>10) + hexEscape(0xdc00+c&0x3ff))
		default:
			b.WriteString(hexEscape(c))
		}
	}
	return b.String()
}

func hexEscape(c rune) string {
	s := strconv.FormatInt(int64(c), 16)
	return `\u` + strings.Repeat("0", 4-len(s)) + s
}

// longestPlain is the longest part of a text that stands the same in every form of it.
func longestPlain(text string) string {
	best, start := "", 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && plainByte(text[i]) {
			continue
		}
		if i-start > len(best) {
			best = text[start:i]
		}
		start = i + 1
	}
	return best
}

func plainByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte(" _-.,:;!?()", c) >= 0
}

// maxHints bounds how many parts one statement looks for.
const maxHints = 40

// where narrows a statement to rows whose columns may hold a text. It may let through rows that do not.
func (r *redactor) where(columns []string) (clause string, args []any) {
	hints := slices.Clone(r.hints)
	if r.record != "" {
		hints = append(hints, r.record)
	}
	if len(r.tags) > 0 {
		hints = append(hints, memory.TagsLine)
	}
	slices.Sort(hints)
	hints = slices.Compact(hints)
	if r.quotes != nil || len(hints) > maxHints || slices.Contains(hints, "") {
		return "", nil
	}
	var tests []string
	for _, h := range hints {
		if r.re != nil {
			h = strings.ToLower(h)
		}
		args = append(args, h)
		for _, c := range columns {
			if r.re != nil {
				c = "lower(" + c + ")"
			}
			tests = append(tests, "instr("+c+", $"+strconv.Itoa(len(args))+") > 0")
		}
	}
	return "(" + strings.Join(tests, " OR ") + ")", args
}

// text replaces what stands in a text. A mark beside what is left may make the text again: then that goes, too.
func (r *redactor) text(s string) string { return r.with(s, r.mark) }

// name replaces what stands in a name, a label or a tag.
func (r *redactor) name(s string) string { return r.with(s, r.plain) }

func (r *redactor) with(s, mark string) string {
	const rounds = 4
	for range rounds {
		if !r.in(s) {
			return s
		}
		s = r.swap(s, mark)
	}
	for r.in(s) {
		s = r.swap(s, "")
	}
	return s
}

// only reports whether nothing but marks is left of a text.
func (r *redactor) only(s string) bool {
	return r.mark != "" && strings.Contains(s, r.mark) && strings.Trim(strings.ReplaceAll(s, r.mark, ""), " \t\r\n.,;:!?-\"'") == ""
}

// line is the first line of a text that holds what is looked for, cut around it.
func (r *redactor) line(s string) string {
	first, _ := r.next(s, 0)
	if first < 0 {
		return ""
	}
	const before, most = 30, 100
	start := strings.LastIndexByte(s[:first], '\n') + 1
	if first-start > before {
		start = first - before
	}
	for start < first && !utf8.RuneStart(s[start]) {
		start++
	}
	line, _, _ := strings.Cut(s[start:], "\n")
	runes := []rune(line)
	if len(runes) > most {
		runes = append(runes[:most], '…')
	}
	return strings.TrimSpace(string(runes))
}

// structural are the keys whose values are no texts but hold the records together.
func structural(parent, key string) bool {
	switch key {
	case "type", "role", "hidden", "kind", "id", "ids", "model", "handle", "provider", "embedding", "wanted", "prefix", "hash", "status",
		"stop_reason", "finish", "trigger", "error_type", "mode", "timezone", "zone", "tool_name", "children", "offer":
		return true
	case "name":
		return parent == "call" || parent == "returns" || parent == "tools" || parent == "child_arg_nodes"
	case "sender_id": // a client's own word
		return false
	}
	return strings.HasSuffix(key, "_id") || strings.HasSuffix(key, "_ids") || strings.HasSuffix(key, "_hash")
}

// free are the keys under which everything is somebody's own, names included.
func free(key string) bool { return key == "metadata" }

// arguments are the keys under which all is somebody's own but the names that tools declare, numbers, too.
func arguments(key string) bool { return key == "arguments" || key == "args" }

// said are the keys under which everything is what somebody said, also what looks like an id: a key, or a token.
func said(parent, key string) bool {
	switch key {
	case "text", "stdout", "stderr":
		return parent == "content" || parent == "returns"
	}
	return key == "tags"
}

// shaped are strings that are no text where records name each other, whatever they contain: ids, hashes and times.
var shaped = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[a-z]+-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$|^[0-9a-f]{64}$|^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[0-9.:+Z-]*$`)
})

// json replaces what stands in the strings of a JSON document and leaves its structure and its bytes otherwise alone.
// What is no JSON is a text.
// The root is the key that the whole document stands under.
func (r *redactor) json(raw, root string) string {
	if !json.Valid([]byte(raw)) {
		return r.text(raw)
	}
	w := jsonWalk{r: r, in: raw}
	w.value("", root, false)
	w.copyRest()
	return w.out.String()
}

// hit is the first string of a document that holds one of the texts.
func (r *redactor) hit(raw string) string {
	if !json.Valid([]byte(raw)) {
		return raw
	}
	w := jsonWalk{r: r, in: raw}
	w.value("", "", false)
	return w.hit
}

// jsonWalk reads a valid document once and writes it anew.
type jsonWalk struct {
	r    *redactor
	in   string
	at   int    // what was read
	from int    // what was written
	hit  string // the first string that holds a text
	out  strings.Builder
}

func (w *jsonWalk) copyRest() {
	w.out.WriteString(w.in[w.from:])
	w.from = len(w.in)
}

// replace writes something else for what was read since start.
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

// value reads a value that stands under a key, which stands in an object under another. own is true below what is
// somebody's own.
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
		if number := w.in[start:w.at]; own && number[0] < 'a' && w.r.in(number) {
			w.replace(start, w.r.text(number))
		}
	}
}

func (w *jsonWalk) object(parent string, own bool) {
	w.at++
	for w.space(); w.in[w.at] != '}'; w.space() {
		start := w.at
		key := w.literal()
		if !w.stays(parent, key, own) && w.r.in(key) {
			w.replace(start, w.r.text(key))
		}
		w.space()
		w.at++ // the colon
		if free(parent) {
			w.value(parent, parent, true) // all below is free
		} else {
			w.value(parent, key, own || free(key) || arguments(key) || parent == "extra") // which keeps what a client set
		}
		if w.space(); w.in[w.at] == ',' {
			w.at++
		}
	}
	w.at++
}

// stays reports whether a name in an object is one of ours, or of what a tool declared, and no text.
func (w *jsonWalk) stays(parent, key string, own bool) bool {
	switch {
	case free(parent):
		return false
	case arguments(parent) || parent == "properties":
		return w.r.declared[key]
	default:
		return !own && plainKey(key)
	}
}

// plainKey reports whether a name may be one of ours, or a keyword of a schema.
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
		return raw // cannot be: the document is valid
	}
	return s
}

// text replaces what stands in a string that was read.
func (w *jsonWalk) text(start int, s, parent, key string, own bool) {
	made := key == "name" && (parent == "call" || parent == "returns") && !w.r.tools[s] // by a model, for a tool that never was
	if !w.r.in(s) && !w.r.lists(s) || !own && !made && (structural(parent, key) || !said(parent, key) && shaped().MatchString(s)) {
		return
	}
	bare := w.r.bare(s)
	if bare == s && !w.r.in(s) {
		return
	}
	if w.hit == "" {
		w.hit = s
	}
	switch inner := strings.TrimSpace(bare); {
	case key == "tags" || key == "label" || made && !own:
		w.replace(start, w.r.name(s))
	case (key == "state" || arguments(key)) && strings.HasPrefix(inner, "{") && json.Valid([]byte(inner)):
		nested := jsonWalk{r: w.r, in: inner}
		nested.value("", key, arguments(key))
		nested.copyRest()
		w.replace(start, nested.out.String())
	default:
		w.replace(start, w.r.text(bare))
	}
}

// document replaces what stands in the text of a file; its sections move along.
func (r *redactor) document(raw string) (string, error) {
	if !r.in(raw) && r.json(raw, "") == raw {
		return raw, nil
	}
	var d core.Document
	if err := decode(raw, &d); err != nil {
		return "", err
	}
	d.Title = r.text(d.Title)
	bounds := make([]int, 0, 2*len(d.Sections))
	for i := range d.Sections {
		s := &d.Sections[i]
		bounds = append(bounds, s.Start, s.End)
		for j := range s.Path {
			s.Path[j] = r.text(s.Path[j])
		}
	}
	d.Text = r.move(d.Text, bounds)
	if r.in(d.Text) {
		d.Text, d.Sections = r.text(d.Text), nil
	}
	for i := range d.Sections {
		s := &d.Sections[i]
		s.Start, s.End = bounds[2*i], bounds[2*i+1]
		s.Line = 1 + strings.Count(d.Text[:s.Start], "\n")
		s.EndLine = s.Line + strings.Count(strings.TrimSuffix(d.Text[s.Start:s.End], "\n"), "\n")
	}
	return encode(d)
}

// move is swap that takes places in the text along, which rise.
func (r *redactor) move(text string, places []int) string {
	var b strings.Builder
	from, at := 0, 0
	for {
		start, end := r.next(text, from)
		if start < 0 {
			start, end = len(text), len(text)+1
		}
		for ; at < len(places) && places[at] <= start; at++ {
			places[at] += b.Len() - from
		}
		b.WriteString(text[from:start])
		if start == len(text) {
			return b.String()
		}
		b.WriteString(r.mark)
		for ; at < len(places) && places[at] < end; at++ {
			places[at] = b.Len()
		}
		from = end
	}
}
