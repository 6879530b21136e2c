package offline

import (
	"encoding/json"
	"slices"
	"strings"

	"loci/core"
)

// maxCalls limits the calls made for one message; after that, the answer uses what there is.
const maxCalls = 10

// decider works out the next move of a turn.
type decider struct {
	s         *scene
	p         *planner
	acts      []act
	outcomes  []outcome
	searches  []call   // searches still to be made
	hello     string   // the greeting
	said      []string // answers
	thread    []*entry // facts of the thread, read when first needed
	read      bool
	memory    []*entry // what was recalled, read when first needed
	remembers bool
	wishes    []wish // what was asked to be forgotten, read when first needed
	meaning   *similarity
}

// decide returns calls while there is something left to store or search for, then the answer.
func decide(s *scene, m *similarity) reply {
	d := &decider{s: s, p: newPlanner(s, m.readings), meaning: m}
	if s.input != "" {
		r := &reader{clock: s.clock, known: d.knownName}
		r.recall(s.thread, d.kept)
		d.acts = understand(s.input, r)
	}
	d.store()
	if calls := d.writes(); len(calls) > 0 && len(s.done) < maxCalls {
		return d.call(calls)
	}
	d.answer()
	if len(d.searches) > 0 && len(s.done) < maxCalls {
		return d.call(d.searches[:1])
	}
	return d.speak(d.compose())
}

// kept reports whether a block held a fact when the turn began.
func (d *decider) kept(text string) bool {
	if text == "" {
		return false
	}
	for _, x := range d.s.done { // removed since
		if strings.Contains(x.arg("old_string")+x.arg("old_content"), text) {
			return true
		}
	}
	return slices.ContainsFunc(d.s.before, func(b *block) bool { return strings.Contains(b.value, text) })
}

// knownName reports whether a name occurs in a known fact.
func (d *decider) knownName(name string) bool {
	low := strings.ToLower(name)
	return slices.ContainsFunc(d.p.facts, func(e *entry) bool {
		return slices.ContainsFunc(e.ws, func(w word) bool { return w.low == low && w.proper() })
	})
}

// store settles every fact, note and request to forget in the message.
func (d *decider) store() {
	var fs []fact
	for _, a := range d.acts {
		fs = append(fs, a.facts...)
	}
	const most = 40 // facts of one message
	for _, f := range d.p.relocated(settled(fs[:min(len(fs), most)])) {
		d.outcomes = append(d.outcomes, d.p.settle(f))
	}
	for _, a := range d.acts {
		if a.kind == actNote {
			d.outcomes = append(d.outcomes, d.p.note(a.text))
		}
		if a.kind == actForget {
			d.outcomes = append(d.outcomes, d.p.forget(a.text, d.s)...)
		}
	}
}

// note keeps a text for search or, without a tool for that, in a block.
func (p *planner) note(text string) outcome {
	line := "Note: " + strings.Join(strings.Fields(text), " ")
	for _, as := range []string{text, line} {
		if d, ok := p.wrote(as); ok {
			return p.done(fact{text: as}, d, nil, false)
		}
	}
	if p.s.offers("archival_memory_insert") {
		p.archive = append(p.archive, text)
		return outcome{kind: outPending, text: text}
	}
	if slices.ContainsFunc(p.facts, func(e *entry) bool { return same(e.text) == same(line) }) {
		return outcome{kind: outKnown, text: line}
	}
	return p.insert(line)
}

// forget removes the facts that a text refers to from the blocks.
func (p *planner) forget(text string, s *scene) []outcome {
	var out []outcome
	for _, d := range s.done {
		was, now := d.arg("old_string")+d.arg("old_content"), d.arg("new_string")+d.arg("new_content")
		if gone := without(was, now); gone != "" {
			if d.failed {
				out = append(out, outcome{kind: outFailed, text: gone, reason: reason(d.ret)})
			} else {
				out = append(out, outcome{kind: outForgotten, text: gone})
			}
		}
	}
	low := same(text)
	if listed(" everything all memory ", firstWord(low)) {
		return append(out, outcome{kind: outNothing, text: "everything"})
	}
	if slices.ContainsFunc(out, func(o outcome) bool { return o.kind == outFailed }) {
		return out
	}
	targets := p.meant(text)
	switch {
	case len(targets) == 0 && len(out) == 0:
		return []outcome{{kind: outNothing, text: text}}
	case len(targets) > 0 && !p.replaces():
		return []outcome{{kind: outNoTool, text: targets[0].text}}
	}
	for _, e := range targets {
		if e.block.readOnly {
			return append(out, outcome{kind: outFailed, text: e.text, reason: "the block \"" + e.block.label + "\" is read-only"})
		}
		p.remove(e)
		out = append(out, outcome{kind: outPending, text: e.text})
	}
	return out
}

// without returns what a removal took out; empty if it wasn't a removal.
func without(was, now string) string {
	if was == "" || len(now) >= len(was) {
		return ""
	}
	gone, ok := strings.CutSuffix(was, now)
	if !ok {
		return ""
	}
	return bullets(strings.TrimSpace(gone))
}

// meant finds the facts that a text refers to: read as a statement, or else as a question.
func (p *planner) meant(text string) []*entry {
	r := &reader{}
	var out []*entry
	for _, f := range r.facts(text) {
		n := newEntry(f.text)
		for _, e := range p.facts {
			if same(e.text) == same(n.text) || knows(e, n) {
				out = append(out, e)
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	return newQuestion(text).find(p.facts)
}

// writes returns the calls for what still has to be stored.
func (d *decider) writes() []call {
	var calls []call
	if len(d.p.inserts) > 0 {
		b, _ := d.p.target()
		all := strings.Join(d.p.inserts, "\n")
		c := call{name: "memory_insert", args: []arg{{"label", b.label}, {"new_string", all}, {"insert_line", -1}}}
		if !d.s.offers("memory_insert") {
			c = call{name: "core_memory_append", args: []arg{{"label", b.label}, {"content", all}}}
		}
		calls = append(calls, c)
	}
	calls = append(calls, d.p.edits...)
	for _, text := range d.p.archive {
		calls = append(calls, call{name: "archival_memory_insert", args: []arg{{"content", text}}})
	}
	return calls
}

// call hands out calls as the request wants them: one at a time unless several are allowed, and only the tool that is
// forced.
func (d *decider) call(calls []call) reply {
	if d.s.req.Choice.Mode == core.ChoiceNamed {
		i := slices.IndexFunc(calls, func(c call) bool { return c.name == d.s.req.Choice.Name })
		if i < 0 {
			return d.forced(d.s.req.Choice.Name)
		}
		calls = calls[i : i+1]
	}
	if !d.s.req.Parallel {
		calls = calls[:1]
	}
	calls = calls[:min(len(calls), maxCalls)]
	for i := range calls {
		calls[i] = d.dressed(calls[i], thought(calls[i].name), true)
	}
	return reply{calls: calls}
}

// dressed adds the arguments that tool-forced agents require besides a tool's own.
func (d *decider) dressed(c call, thinking string, goOn bool) call {
	has := d.s.tools[c.name]
	if has["thinking"] {
		c.args = append([]arg{{"thinking", thinking}}, c.args...)
	}
	if has["request_heartbeat"] {
		c.args = append(c.args, arg{"request_heartbeat", goOn})
	}
	return c
}

func thought(tool string) string {
	switch tool {
	case "memory_insert", "core_memory_append", "archival_memory_insert":
		return "The message states something to keep."
	case "memory_replace", "core_memory_replace":
		return "What is stored is outdated."
	case "conversation_search", "archival_memory_search":
		return "Memory does not show it; searching."
	case fileSearch:
		return "The question is about attached files; searching them."
	}
	return "Answering."
}

// speak gives the answer: as text, or through the speech tool if a call is required.
func (d *decider) speak(text string) reply {
	const tool = "send_message"
	mode := d.s.req.Choice.Mode
	forced := mode == core.ChoiceRequired || mode == core.ChoiceNamed
	if !forced || len(d.s.done) >= 2*maxCalls {
		return reply{text: text}
	}
	if mode == core.ChoiceNamed && d.s.req.Choice.Name != tool {
		return d.forced(d.s.req.Choice.Name)
	}
	if d.s.offers(tool) {
		c := call{name: tool, args: []arg{{"message", text}}}
		return reply{calls: []call{d.dressed(c, thought(tool), false)}}
	}
	if len(d.s.req.Tools) > 0 {
		return d.forced(d.s.req.Tools[0].Name)
	}
	return reply{text: text}
}

// forced calls a tool that this model has no use for, because the request requires it; the required arguments are filled
// from the message.
func (d *decider) forced(name string) reply {
	var spec core.ToolSpec
	for _, t := range d.s.req.Tools {
		if t.Name == name {
			spec = t
		}
	}
	var schema struct {
		Properties map[string]struct {
			Type string `json:"type"`
			Enum []any  `json:"enum"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(spec.Parameters, &schema) // without a schema the call has no arguments
	c := call{name: name}
	for _, key := range schema.Required {
		if key == "thinking" || key == "request_heartbeat" {
			continue
		}
		prop := schema.Properties[key]
		var value any
		switch {
		case len(prop.Enum) > 0:
			value = prop.Enum[0]
		case key == "label":
			value = "human"
		case prop.Type == "integer", prop.Type == "number":
			value = 1
		case prop.Type == "boolean":
			value = false
		case prop.Type == "array":
			value = []any{}
		case prop.Type == "object":
			value = map[string]any{}
		default:
			value = clip(d.s.input, 500)
		}
		c.args = append(c.args, arg{key, value})
	}
	return reply{calls: []call{d.dressed(c, "This call is required.", true)}}
}

func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
