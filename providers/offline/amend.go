package offline

import (
	"slices"
	"strings"
	"time"
)

// recall tells a reader what was said just before: what "she" would refer to, and which facts a correction may mean.
func (r *reader) recall(thread []userMessage, kept func(text string) bool) {
	const far = 4 // messages
	for i := len(thread) - 1; i >= max(0, len(thread)-far); i-- {
		before := &reader{clock: thread[i].clock, known: r.known}
		for _, a := range understand(thread[i].text, before) {
			for _, f := range a.facts {
				if kept(f.text) {
					r.prior = append(r.prior, f.text)
				}
			}
		}
		if before.last != "" && r.last == "" {
			r.last, r.carried = before.last, before.last
		}
		if len(r.prior) > 0 {
			return
		}
	}
}

// refers reports whether a pronoun at the start of a clause can refer to what was last mentioned. If that was in an
// earlier message it must fit, because "it" starts many clauses that refer to nothing.
func (r *reader) refers(ws []word) bool {
	if r.last == "" || ws[0].is("it") && !verbal3(ws[1].low) {
		return false
	}
	if r.last != r.carried {
		return true
	}
	noun := tokenise(r.last)
	being := slices.ContainsFunc(noun, func(w word) bool { return listed(people, w.low) || listed(animals, w.low) || w.proper() })
	if ws[0].is("it") {
		return slices.ContainsFunc(ws[1:], func(w word) bool { return kindOf(w) != kindWord })
	}
	return being
}

// amended reads a correction that gives only the right value, "no, it's Tuesday": in the last stated fact it replaces
// the value of the same kind.
func (r *reader) amended(ws []word, correct bool) (fact, bool) {
	if !correct || len(ws) == 0 {
		return fact{}, false
	}
	value, pointed := ws, false
	for lead := range strings.SplitSeq("it is|it was|that is|that was|it should be|that should be|she is|he is|they are|make it|"+
		"make that|it is actually|i meant to say", "|") {
		if n := leads(ws, lead); n > 0 {
			value, pointed = ws[n:], true
		}
	}
	const most = 5
	value = trim(value)
	if len(value) > 1 && value[0].is("on", "in", "at", "called", "named", "about") {
		value = value[1:]
	}
	if len(value) == 0 || len(value) > most || !pointed && verbalAny(value) ||
		slices.ContainsFunc(value, func(w word) bool { return w.is("i", "we", "not", "my", "you") }) {
		return fact{}, false
	}
	for i := len(r.prior) - 1; i >= 0; i-- {
		was := tokenise(r.prior[i])
		if from, to := place(was, value); to > from {
			if last := value[len(value)-1]; len(value) > 1 && to < len(was) &&
				was[to].low == last.low { // the unit is part of the new value
				to++
			}
			now := slices.Clone(was[:from])
			put := slices.Clone(value)
			put[0].gap = was[from].gap
			now = append(append(now, put...), was[to:]...)
			return fact{correct: true, old: bare(r.prior[i]), swap: bare(text(now))}, true
		}
	}
	return fact{}, false
}

// place finds the value in a fact that another value replaces: the last one of the same kind.
func place(was, value []word) (from, to int) {
	kind := kindWord
	for _, w := range value {
		if k := kindOf(w); k != kindWord {
			kind = k
			break
		}
	}
	for to = len(was); to > 0; to-- {
		w := was[to-1]
		if w.punct() {
			continue
		}
		if kind == kindWord {
			if len(value) == 1 && alike(value[0].low, w.low) {
				return to - 1, to
			}
			continue
		}
		if kindOf(w) != kind || to == 1 {
			continue
		}
		for from = to - 1; from > 1 && kindOf(was[from-1]) == kind; from-- {
		}
		return from, to
	}
	return 0, 0
}

// valueKind is the kind of value that a word is.
type valueKind int

const (
	kindWord valueKind = iota
	kindNumber
	kindDay
	kindMonth
	kindName
)

func kindOf(w word) valueKind {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if w.low == strings.ToLower(d.String()) {
			return kindDay
		}
	}
	switch {
	case w.counts() || coded(w):
		return kindNumber
	case listed(times, w.low) && w.proper():
		return kindMonth
	case w.proper() && !w.is("i") && !listed(functionWords, w.low):
		return kindName
	}
	return kindWord
}

// alike reports whether two words name different things of the same kind: teal and green.
func alike(a, b string) bool {
	for t := range everyTopic {
		if listed(exclusive, t.tag) && listed(t.facts, a) && listed(t.facts, b) {
			return a != b
		}
	}
	return false
}
