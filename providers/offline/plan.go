package offline

import (
	"maps"
	"slices"
	"strings"
)

// conflicts reports whether a new fact replaces a known one.
func conflicts(f fact, n, e *entry) bool {
	if same(n.text) == same(e.text) {
		return false
	}
	subject := n.subject == e.subject || e.called(n)
	switch {
	case n.slot != "" && n.slot == e.slot && subject && (n.single || f.correct):
		return true
	case n.single && e.single && n.thing() != "" && n.thing() == e.thing():
		return true
	case f.left != "" && subject && e.livesIn(f.left):
		return true
	case f.old != "" && subject && covers(e.terms, newEntry(f.old).core(true)):
		return true
	case (f.gone || n.ending()) && ends(n, e):
		return true
	}
	return n.negated != e.negated && subject && len(n.core(false)) > 0 && covers(e.terms, n.core(true)) && covers(n.terms, e.core(true))
}

// ends reports whether a fact saying that something is over ends another: "no longer has the dog" ends everything about
// it.
func ends(n, e *entry) bool {
	core := n.core(false)
	if n.ending() {
		core = slices.DeleteFunc(core, func(s string) bool { return listed(endings, s) })
	}
	if len(core) == 0 || !covers(e.terms, core) {
		return false
	}
	if slices.Contains(core, e.subject) {
		return true
	}
	if n.subject != e.subject {
		return false
	}
	owns := func(x *entry) bool {
		return x.terms["have"] || x.terms["own"] || x.terms["adopt"] || x.terms["get"] || x.terms["buy"]
	}
	return !owns(n) || owns(e)
}

// thing returns what a fact gives the time, place or value of: the deadline, whether or not it is called the user's.
func (e *entry) thing() string {
	attr, ok := strings.CutPrefix(e.slot, "attr:")
	switch {
	case ok && e.subject == "user" && attr != "name":
		return stem(attr)
	case listed(" when where value ", e.slot) && e.subject != "user":
		return e.subject
	}
	return ""
}

// called reports whether a fact is about somebody whom another fact names: "the user's dog Rex is five", and "Rex is
// six".
func (e *entry) called(by *entry) bool {
	const near = 6 // words of the subject
	if len(by.ws) == 0 || !by.ws[0].proper() || by.ws[0].is("the") {
		return false
	}
	return slices.ContainsFunc(e.ws[:min(len(e.ws), near)], func(w word) bool { return w.proper() && w.low == by.ws[0].low })
}

// endings are the stems of verbs that end something: "sold the car" ends "drives a car".
const endings = ` sell sold cancel return stop drop divorc `

// ending reports whether a fact's verb says that something of the user's is over.
func (e *entry) ending() bool {
	const near = 5 // words: the user has finally sold
	return e.subject == "user" && !e.negated &&
		slices.ContainsFunc(e.ws[:min(len(e.ws), near)], func(w word) bool { return listed(endings, stem(w.low)) && !w.is("the", "user") })
}

// core returns the stems that carry a fact's meaning; all includes the light ones. Tags are left out.
func (e *entry) core(all bool) []string {
	var out []string
	for _, w := range e.ws {
		if w.punct() || listed(stopwords, w.low) || w.low == "name" || !all && (listed(light, w.low) || listed(light, infinite(w.low))) {
			continue
		}
		if s := stem(w.low); s != "have" || all {
			out = append(out, s)
		}
	}
	return out
}

// covers reports whether all stems are among the terms; false for no stems.
func covers(terms map[string]bool, stems []string) bool {
	for _, s := range stems {
		if !terms[s] {
			return false
		}
	}
	return len(stems) > 0
}

// knows reports whether a known fact already says what a new one says.
func knows(e, n *entry) bool {
	if same(e.text) == same(n.text) {
		return true
	}
	if e.negated != n.negated {
		return false
	}
	core := n.core(false)
	if n.subject == "user" && n.terms["have"] && len(core) == 1 && e.subject == core[0] {
		return true
	}
	if n.subject != e.subject || n.slot != e.slot {
		return false
	}
	if strings.HasPrefix(n.slot, "feel:") && n.terms["@like"] != e.terms["@like"] {
		return false
	}
	if n.slot != "" {
		return covers(e.lasting(), core) && n.slot != "attr:name"
	}
	return covers(e.lasting(), n.core(true))
}

// lasting returns a fact's terms without what it says was left: "from Vim" in "switched from Vim to Helix".
func (e *entry) lasting() map[string]bool {
	left := outdated(e.ws)
	if left == "" {
		return e.terms
	}
	terms := maps.Clone(e.terms)
	for _, s := range newEntry(left).core(true) {
		delete(terms, s)
	}
	return terms
}

// related finds the fact that a correction without a known attribute most likely means.
func related(n *entry, facts []*entry) *entry {
	var best *entry
	most := 0.3
	for _, e := range facts {
		if e.subject != n.subject {
			continue
		}
		a, b := n.core(true), e.core(true)
		shared, heavy := 0, false
		for _, s := range a {
			if slices.Contains(b, s) {
				shared++
				heavy = heavy || slices.Contains(n.core(false), s)
			}
		}
		if heavy && a[0] == b[0] && a[0] == n.core(false)[0] && best == nil { // the same verb of the same subject
			best = e
		}
		if total := len(a) + len(b) - shared; heavy && total > 0 && float64(shared)/float64(total) >= most {
			best, most = e, float64(shared)/float64(total)
		}
	}
	return best
}

// settled drops duplicates, and facts that a later one in the same message takes back.
func settled(fs []fact) []fact {
	var out []fact
	for i, f := range fs {
		e := newEntry(f.text)
		over := slices.ContainsFunc(fs[i+1:], func(later fact) bool {
			n := newEntry(later.text)
			return f.swap == "" && later.swap == "" && (same(later.text) == same(f.text) || conflicts(later, n, e))
		})
		if !over {
			out = append(out, f)
		}
	}
	return out
}

// relocated merges "I left Tampere" and "I'm in Oulu now" into one correction, if the blocks say that the user lives in
// Tampere, or this turn has replaced that.
func (p *planner) relocated(fs []fact) []fact {
	for i, f := range fs {
		from := leftPlace(newEntry(f.text))
		to := slices.IndexFunc(fs, func(g fact) bool { return g.swap == "" && from != "" && newEntry(g.text).settles(from) })
		if to < 0 {
			continue
		}
		now := strings.Replace(fs[to].text, " is in ", " lives in ", 1) // in the words used for the other place
		lived := slices.ContainsFunc(p.facts, func(e *entry) bool { return e.subject == "user" && e.livesIn(from) }) ||
			slices.ContainsFunc(p.s.done, func(d deed) bool {
				was := newEntry(bullets(d.arg("old_string") + d.arg("old_content")))
				return was.livesIn(from) && strings.Contains(d.arg("new_string")+d.arg("new_content"), now)
			})
		if !lived {
			continue
		}
		out := slices.Clone(fs)
		out[to].text, out[to].correct, out[to].left = now, true, from
		return slices.Delete(out, i, i+1)
	}
	return fs
}

// leftPlace returns the place that a fact says the user left, in lower case; empty: none.
func leftPlace(e *entry) string {
	ws := e.predicate()
	if len(ws) < 2 || !ws[0].is("left") || slices.ContainsFunc(ws[1:], func(w word) bool { return !w.proper() }) {
		return ""
	}
	return plain(ws[1:])
}

// predicate returns what a fact says about the user, without auxiliaries, adverbs, punctuation and "now".
func (e *entry) predicate() []word {
	if len(e.ws) < 3 || !e.ws[0].is("the") || !e.ws[1].is("user") {
		return nil
	}
	return slices.DeleteFunc(
		slices.Clone(perfect(e.ws[2:])),
		func(w word) bool { return w.punct() || w.is("now", "already", "recently", "finally") },
	)
}

// livesIn reports whether a fact says that the user lives or is in a place.
func (e *entry) livesIn(place string) bool {
	ws := e.predicate()
	return (e.slot == "home" || len(ws) > 2 && ws[0].is("is") && ws[1].is("in")) && indexWord(plain(ws), place) >= 0 && !e.negated
}

// settles reports whether a fact says that the user lives or is anywhere other than in the place they left.
func (e *entry) settles(left string) bool {
	ws := e.predicate()
	return len(ws) > 2 && (e.slot == "home" || ws[0].is("is") && ws[1].is("in")) && ws[2].proper() && indexWord(plain(ws), left) < 0
}

// outcome is what happened to a fact or a request to forget.
type outcome struct {
	kind   outcomeKind
	text   string // the fact
	was    string // what it replaced
	reason string
}

type outcomeKind int

const (
	outStored outcomeKind = iota
	outCorrected
	outArchived
	outKnown
	outForgotten
	outNothing // there was nothing to forget or correct
	outFailed
	outNoTool
	outPending
)

// planner turns facts into block edits, and reads from this turn's calls which of them are done.
type planner struct {
	s       *scene
	facts   []*entry
	inserts []string // facts to add
	edits   []call   // replacements and removals
	archive []string
}

func newPlanner(s *scene, known *readings) *planner {
	p := &planner{s: s}
	for _, b := range s.blocks {
		p.facts = append(p.facts, b.entries(known)...)
	}
	return p
}

// wrote finds this turn's call that wrote a text to a block, or failed to.
func (p *planner) wrote(text string) (deed, bool) {
	for i := len(p.s.done) - 1; i >= 0; i-- {
		d := p.s.done[i]
		for _, name := range []string{"new_string", "content", "new_content"} {
			for line := range strings.SplitSeq(d.arg(name), "\n") {
				if line != "" && bullets(line) == text || d.arg(name) == text {
					return d, true
				}
			}
		}
	}
	return deed{}, false
}

func bullets(line string) string { return strings.TrimLeft(line, " \t-*•#>") }

// settle decides what must be done for a fact, and what already was.
func (p *planner) settle(f fact) outcome {
	if f.swap != "" {
		if o := p.swap(f); o.kind != outNothing || f.text == "" {
			return o
		}
	}
	n := newEntry(f.text)
	var exact *entry
	var old []*entry
	for _, e := range p.facts {
		switch {
		case same(e.text) == same(n.text):
			exact = e
		case conflicts(f, n, e):
			old = append(old, e)
		}
	}
	if d, ok := p.wrote(f.text); ok {
		return p.done(f, d, old, exact != nil)
	}
	if exact == nil && len(old) > 0 && !f.gone && slices.ContainsFunc(old, func(e *entry) bool { return knows(e, n) && len(old) == 1 }) {
		return outcome{kind: outKnown, text: old[0].text}
	}
	if exact == nil && len(old) == 0 {
		for _, e := range p.facts {
			if knows(e, n) {
				return outcome{kind: outKnown, text: e.text}
			}
		}
		if e := related(n, p.facts); e != nil && f.correct {
			old = append(old, e)
		}
	}
	switch {
	case exact != nil && len(old) == 0:
		return outcome{kind: outKnown, text: exact.text}
	case len(old) > 0 && p.replaces():
		return p.replace(f, old, exact != nil)
	case exact != nil:
		return outcome{kind: outKnown, text: exact.text}
	}
	return p.insert(f.text)
}

// done reads the outcome of a call, and removes what else the fact makes outdated.
func (p *planner) done(f fact, d deed, old []*entry, present bool) outcome {
	if d.failed {
		if d.name != "archival_memory_insert" && p.s.offers("archival_memory_insert") && strings.HasSuffix(d.name, "insert") ||
			d.name == "core_memory_append" && p.s.offers("archival_memory_insert") {
			p.archive = append(p.archive, f.text)
			return outcome{kind: outPending, text: f.text}
		}
		return outcome{kind: outFailed, text: f.text, reason: reason(d.ret)}
	}
	if d.name == "archival_memory_insert" {
		why := ""
		for _, other := range p.s.done {
			if other.failed && other.name != d.name {
				why = reason(other.ret)
			}
		}
		return outcome{kind: outArchived, text: f.text, reason: why}
	}
	if present && p.replaces() {
		for _, e := range old {
			if !e.block.readOnly {
				p.remove(e)
			}
		}
	}
	was := d.arg("old_string") + d.arg("old_content")
	if was != "" {
		return outcome{kind: outCorrected, text: f.text, was: bullets(was)}
	}
	return outcome{kind: outStored, text: f.text}
}

func (p *planner) replaces() bool {
	return p.s.offers("memory_replace") || p.s.offers("core_memory_replace")
}

func (p *planner) replace(f fact, old []*entry, present bool) outcome {
	for _, e := range old {
		if e.block.readOnly {
			return outcome{kind: outFailed, text: f.text, reason: "the block \"" + e.block.label + "\" is read-only"}
		}
	}
	if !present {
		e := old[0]
		indent := e.raw[:len(e.raw)-len(bullets(e.raw))]
		p.edit(e.block, e.raw, indent+f.text)
		old = old[1:]
	}
	for _, e := range old {
		p.remove(e)
	}
	return outcome{kind: outPending, text: f.text}
}

// swap replaces a word inside the facts that contain it.
func (p *planner) swap(f fact) outcome {
	for _, d := range p.s.done {
		was, now := d.arg("old_string")+d.arg("old_content"), d.arg("new_string")+d.arg("new_content")
		if was != "" && strings.Contains(now, f.swap) {
			if d.failed {
				return outcome{kind: outFailed, text: now, reason: reason(d.ret)}
			}
			return outcome{kind: outCorrected, text: bullets(now), was: bullets(was)}
		}
	}
	for _, e := range p.facts {
		if i := indexWord(e.raw, f.old); i >= 0 {
			if !p.replaces() {
				return outcome{kind: outNoTool, text: e.text}
			}
			if e.block.readOnly {
				return outcome{kind: outFailed, text: e.text, reason: "the block \"" + e.block.label + "\" is read-only"}
			}
			p.edit(e.block, e.raw, e.raw[:i]+f.swap+e.raw[i+len(f.old):])
			return outcome{kind: outPending, text: e.text}
		}
	}
	return outcome{kind: outNothing, text: f.old}
}

// indexWord finds a text in another at word boundaries, ignoring case.
func indexWord(s, old string) int {
	low, want := strings.ToLower(s), strings.ToLower(old)
	if want == "" || len(low) != len(s) || len(want) != len(old) {
		low, want = s, old
	}
	for at := 0; want != ""; {
		i := strings.Index(low[at:], want)
		if i < 0 {
			return -1
		}
		i += at
		before, after := []rune(low[:i]), []rune(low[i+len(want):])
		if (len(before) == 0 || !inWord(before[len(before)-1])) && (len(after) == 0 || !inWord(after[0])) {
			return i
		}
		at = i + len(want)
	}
	return -1
}

// insert adds a fact to the block about the user.
func (p *planner) insert(text string) outcome {
	b, why := p.target()
	writes := p.s.offers("memory_insert") || p.s.offers("core_memory_append")
	archives := p.s.offers("archival_memory_insert")
	long := len([]rune(text)) > 300
	switch {
	case archives && (!writes || b == nil || long || !b.room(len([]rune(text)))):
		p.archive = append(p.archive, text)
	case !writes:
		return outcome{kind: outNoTool, text: text}
	case b == nil:
		return outcome{kind: outFailed, text: text, reason: why}
	default:
		p.inserts = append(p.inserts, text)
		e := newEntry(text)
		e.block = b
		p.facts = append(p.facts, e)
	}
	return outcome{kind: outPending, text: text}
}

// target returns the block that new facts go to.
func (p *planner) target() (*block, string) {
	if len(p.s.blocks) == 0 {
		return &block{label: "human"}, ""
	}
	var other *block
	for _, b := range p.s.blocks {
		switch {
		case b.label == "human" && !b.readOnly:
			return b, ""
		case b.label != "persona" && !b.readOnly && other == nil:
			other = b
		}
	}
	if other != nil {
		return other, ""
	}
	return nil, "the memory block is read-only"
}

// edit plans to replace one text by another.
func (p *planner) edit(b *block, old, replacement string) {
	old, replacement = unique(b.value, old, replacement)
	for _, d := range p.s.done { // don't retry an edit that was tried in this turn
		if d.arg("old_string")+d.arg("old_content") == old && d.arg("new_string")+d.arg("new_content") == replacement {
			return
		}
	}
	c := call{name: "memory_replace", args: []arg{{"label", b.label}, {"old_string", old}, {"new_string", replacement}}}
	if !p.s.offers("memory_replace") {
		c = call{name: "core_memory_replace", args: []arg{{"label", b.label}, {"old_content", old}, {"new_content", replacement}}}
	}
	p.edits = append(p.edits, c)
}

// remove plans to remove a fact, with its line.
func (p *planner) remove(e *entry) {
	v := e.block.value
	switch i := strings.Index(v, e.raw); {
	case i < 0:
	case strings.HasPrefix(v[i+len(e.raw):], "\n") && (i == 0 || v[i-1] == '\n'):
		p.edit(e.block, e.raw+"\n", "")
	case i > 0 && v[i-1] == '\n' && i+len(e.raw) == len(v):
		p.edit(e.block, "\n"+e.raw, "")
	case strings.HasPrefix(v[i+len(e.raw):], " "):
		p.edit(e.block, e.raw+" ", "")
	default:
		p.edit(e.block, e.raw, "")
	}
}

// unique extends the text to replace by its surroundings until it occurs only once.
func unique(value, old, replacement string) (string, string) {
	for strings.Count(value, old) > 1 {
		i := strings.Index(value, old)
		rest := value[i+len(old):]
		if rest == "" {
			break
		}
		j := strings.IndexByte(rest[1:], '\n')
		add := rest
		if j >= 0 {
			add = rest[:j+1]
		}
		old, replacement = old+add, replacement+add
	}
	return old, replacement
}

// reason shortens a tool's error to what the user should know.
func reason(ret string) string {
	ret = strings.TrimSpace(ret)
	if _, rest, ok := strings.Cut(ret, "Error executing function "); ok {
		_, rest, _ = strings.Cut(rest, ": ")
		ret = rest
	}
	ret = strings.TrimPrefix(ret, "Error: ")
	line, _, _ := strings.Cut(ret, "\n")
	if r := []rune(line); len(r) > 300 {
		line = string(r[:300]) + "…"
	}
	return strings.TrimRight(line, ". ")
}
