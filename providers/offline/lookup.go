package offline

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// look finds the answer to a question: in the blocks, then in what the user said earlier in the window, in what was
// recalled, and in what this turn's searches found. If nothing answers it and a search hasn't been tried yet, it plans
// one. The last resort is what is closest in meaning.
func (d *decider) look(q question) (hits []*entry, answers grade) {
	query := q.query()
	sources := []func() []*entry{func() []*entry { return d.p.facts }, d.threadFacts, d.recalled}
	if query != "" {
		for _, tool := range []string{"conversation_search", "archival_memory_search"} {
			sources = append(sources, func() []*entry { return d.found(tool, query) })
		}
	}
	for _, source := range sources {
		if hits := q.find(source()); len(hits) > 0 {
			return hits, direct
		}
	}
	if query != "" {
		before := len(d.searches)
		if d.plan(query); len(d.searches) > before {
			return nil, remote
		}
	}
	for _, source := range sources {
		if found, g := q.closest(source(), d.meaning); len(found) > 0 && (len(hits) == 0 || g > answers) {
			hits, answers = found, g
		}
	}
	return hits, answers
}

// plan requests the next search that hasn't been tried yet.
func (d *decider) plan(query string) {
	for _, tool := range []string{"conversation_search", "archival_memory_search"} {
		if d.s.offers(tool) && !d.searched(tool, query) {
			d.searches = append(d.searches, call{name: tool, args: []arg{{"query", query}}})
			return
		}
	}
}

func (d *decider) searched(tool, query string) bool {
	return slices.ContainsFunc(d.s.done, func(x deed) bool { return x.name == tool && x.arg("query") == query })
}

// query returns what to search for: the question's own words, then words of its topics, since searches match any of
// them.
func (q question) query() string {
	words := slices.Clone(q.words[:min(len(q.words), 8)])
	for _, t := range q.terms {
		for _, a := range t.alts {
			for tp := range everyTopic {
				if tp.tag == a.key && strings.HasPrefix(a.key, "@") && len(words) < 14 {
					const most = 3
					asks, facts := strings.Fields(tp.asks), strings.Fields(tp.facts)
					words = append(append(words, asks[:min(most, len(asks))]...), facts[:min(most, len(facts))]...)
				}
			}
		}
	}
	var once []string
	for _, w := range words {
		if !slices.Contains(once, strings.ToLower(w)) {
			once = append(once, strings.ToLower(w))
		}
	}
	return clip(strings.Join(once, " "), 200)
}

// threadFacts returns the facts that the user stated earlier in the window, with corrections and requests to forget
// applied. What was stored in a block is left out: if it is no longer there, somebody removed it.
func (d *decider) threadFacts() []*entry {
	if d.read {
		return d.thread
	}
	d.read = true
	stored := map[string]bool{}
	for _, s := range d.s.stored {
		for line := range strings.SplitSeq(s, "\n") {
			stored[same(bullets(line))] = true
		}
	}
	runes := 0
	for _, m := range d.s.thread {
		if runes += len(m.text); runes > 4*maxInput {
			break
		}
		for _, a := range understand(m.text, &reader{clock: m.clock, known: d.knownName}) {
			if a.kind == actForget {
				w := newWish(a.text, time.Time{})
				d.thread = slices.DeleteFunc(d.thread, w.means)
			}
			for _, f := range a.facts {
				n := newEntry(f.text)
				n.origin = fromThread
				d.thread = slices.DeleteFunc(d.thread, func(e *entry) bool { return conflicts(f, n, e) })
				if f.text != "" && !stored[same(f.text)] && len(d.thread) < maxEntries {
					d.thread = append(d.thread, n)
				}
			}
		}
	}
	return d.thread
}

// read extracts facts from a text: what it states in the first person, or else its sentences as they are.
func read(s string, c clock, from origin) []*entry {
	var out []*entry
	r := &reader{clock: c}
	for _, p := range sentences(s) {
		if strings.HasSuffix(p, "?") || asks(trim(tokenise(bare(p)))) {
			continue
		}
		fs := r.facts(p)
		if len(fs) == 0 {
			fs = []fact{{text: keyed(p)}}
		}
		for _, f := range fs {
			if f.text != "" {
				e := newEntry(f.text)
				e.origin = from
				out = append(out, e)
			}
		}
	}
	return out
}

// outlived reports whether memory holds what has replaced a fact that a search found.
func (d *decider) outlived(e *entry) bool {
	return slices.ContainsFunc(d.p.facts, func(n *entry) bool { return conflicts(fact{}, n, e) })
}

// finding is one result of a search.
type finding struct {
	role, content, at string
}

// findings reads the results of a search in any of its formats.
func findings(ret string) []finding {
	var v any
	if json.Unmarshal([]byte(ret), &v) != nil {
		if strings.HasPrefix(ret, "No results") || strings.TrimSpace(ret) == "" || ret == "None" {
			return nil
		}
		return []finding{{content: ret}}
	}
	var out []finding
	var walk func(v any, depth int)
	walk = func(v any, depth int) {
		if depth > 6 || len(out) >= 100 {
			return
		}
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x, depth+1)
			}
		case map[string]any:
			str := func(keys ...string) string {
				for _, k := range keys {
					if s, ok := v[k].(string); ok && s != "" {
						return s
					}
				}
				return ""
			}
			if content := str("content", "text"); content != "" {
				out = append(out, finding{str("role"), content, str("timestamp", "created_at", "time")})
				return
			}
			for _, k := range []string{"results", "passages", "messages", "content", "passage", "data"} {
				if x, ok := v[k]; ok {
					walk(x, depth+1)
				}
			}
		case string:
			if depth > 0 {
				out = append(out, finding{content: v})
			}
		}
	}
	walk(v, 0)
	return out
}

// found returns the facts that this turn's searches for a query found. What an agent said isn't a source of facts.
func (d *decider) found(tool, query string) []*entry {
	var out []*entry
	ended := d.ended()
	for _, x := range d.s.done {
		if x.name != tool || x.failed || x.arg("query") != query {
			continue
		}
		for _, f := range findings(x.ret) {
			if f.role == "assistant" || f.role == "tool" || f.role == "system" ||
				strings.TrimSpace(f.content) == strings.TrimSpace(d.s.input) {
				continue
			}
			c, text := cutPreface(f.content)
			if at, err := time.Parse(time.RFC3339, f.at); err == nil && c.at.IsZero() {
				c.at = at
			}
			for _, e := range read(text, c, fromSearch) {
				if len(out) < maxEntries && !forgotten(ended, e, f.time()) && !d.outlived(e) {
					out = append(out, e)
				}
			}
		}
	}
	return out
}
