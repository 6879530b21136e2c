package offline

import (
	"slices"
	"time"
)

// wish is what the user asked to be forgotten. It applies to everything said before it, wherever that turns up again.
type wish struct {
	facts []*entry // what was named, read as a statement
	asked question // the same, read as a question
	at    time.Time
}

func newWish(text string, at time.Time) wish {
	w := wish{asked: newQuestion(text), at: at}
	r := &reader{}
	for _, f := range r.facts(text) {
		if f.text != "" {
			w.facts = append(w.facts, newEntry(f.text))
		}
	}
	return w
}

// means reports whether a fact is one to forget.
func (w wish) means(e *entry) bool {
	if slices.ContainsFunc(w.facts, func(n *entry) bool { return same(e.text) == same(n.text) || knows(e, n) }) {
		return true
	}
	return len(w.asked.find([]*entry{e})) > 0
}

// after reports whether the wish was made after a given time; true if that time is unknown.
func (w wish) after(at time.Time) bool {
	return w.at.IsZero() || at.IsZero() || !w.at.Before(at)
}

// ended returns the requests to forget in the thread, in this message, and in search results.
func (d *decider) ended() []wish {
	if d.wishes != nil {
		return d.wishes
	}
	d.wishes = []wish{}
	add := func(text string, at time.Time) {
		for _, s := range sentences(text) {
			if n := leads(trim(tokenise(bare(s))), forgetLeads); n == 0 || len(d.wishes) >= maxEntries {
				continue
			}
			for _, a := range sentenceActs(s, &reader{}) {
				if a.kind == actForget {
					d.wishes = append(d.wishes, newWish(a.text, at))
				}
			}
		}
	}
	for _, m := range d.s.thread {
		at, _ := m.clock.utc()
		add(m.text, at)
	}
	add(d.s.input, time.Time{})
	for _, x := range d.s.done {
		if x.failed || x.name != "conversation_search" {
			continue
		}
		for _, f := range findings(x.ret) {
			if f.role == "" || f.role == "user" {
				_, text := cutPreface(f.content)
				add(text, f.time())
			}
		}
	}
	return d.wishes
}

// forgotten reports whether the user later asked to forget a fact said at a given time.
func forgotten(ws []wish, e *entry, at time.Time) bool {
	return slices.ContainsFunc(ws, func(w wish) bool { return w.after(at) && w.means(e) })
}

// hushed reports whether a text, whoever wrote it, contains something that the user later asked to forget.
func hushed(ws []wish, content string, at time.Time) bool {
	if len(ws) == 0 {
		return false
	}
	for _, s := range sentences(content) {
		said := newEntry(s)
		for _, w := range ws {
			if !w.after(at) {
				continue
			}
			if slices.ContainsFunc(w.facts, func(n *entry) bool { return covers(said.terms, n.core(false)) }) {
				return true
			}
			if slices.ContainsFunc(read(s, clock{}, fromSearch), w.means) {
				return true
			}
		}
	}
	return false
}

// time returns when a finding was said; zero if unknown.
func (f finding) time() time.Time {
	t, err := time.Parse(time.RFC3339, f.at)
	if err != nil {
		return time.Time{}
	}
	return t
}
