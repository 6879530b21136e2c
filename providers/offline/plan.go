package offline

import (
	"slices"
	"strings"

	"loci/core"
)

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
	gone    []*entry // facts that an edit replaces: another fact cannot replace them, too
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
		case conflicts(f, n, e) && !slices.Contains(p.gone, e):
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
		if e := related(n, p.facts); e != nil && f.correct && !slices.Contains(p.gone, e) {
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
		if _, denied := core.DenialReason(d.ret); denied { // by a person, who then does not want it kept elsewhere either
			return outcome{kind: outFailed, text: f.text, reason: reason(d.ret)}
		}
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
		p.gone = append(p.gone, e)
		old = old[1:]
	}
	for _, e := range old {
		p.remove(e)
		p.gone = append(p.gone, e)
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
	if why, denied := core.DenialReason(ret); denied {
		ret = "you did not allow it"
		if why != "" {
			ret += " (" + why + ")"
		}
	}
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
