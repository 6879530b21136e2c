package offline

import (
	"fmt"
	"slices"
	"strings"
)

// answer works out the reply to each question and greeting of the message, in order.
func (d *decider) answer() {
	vague := 0
	for _, a := range d.acts {
		if query, ok := ofFiles(a.text); ok && (a.kind == actAsk || a.kind == actSearch) && d.s.offers(fileSearch) {
			d.say(d.files(query))
			continue
		}
		switch a.kind {
		case actAsk:
			d.say(d.ask(a.text))
		case actAll:
			d.say(d.all())
		case actWhoAmI:
			d.say(d.whoAmI())
		case actDate:
			d.say(d.s.clock.tell(a.text))
		case actGap:
			d.say(d.gap())
		case actSearch:
			d.say(d.search(a.text))
		case actDay:
			d.say(d.onDay(a.text))
		case actGreet:
			d.hello = d.greet()
		case actThanks:
			d.say(sayThanks)
		case actBye:
			d.say(sayBye)
		case actHelp:
			d.say(sayHelp)
		case actConnect:
			d.say(sayConnect)
		case actSelf:
			d.say(saySelf + " " + sayConnect)
		case actCommand:
			d.say(sayCommand)
		case actForeign:
			d.say(sayForeign)
		case actUnknown, actSmall:
			vague++
		case actState, actForget, actNote: // reported by their outcomes
		}
	}
	if len(d.outcomes) > 0 {
		d.sayLeft()
	}
	if d.hello == "" && len(d.said) == 0 && len(d.outcomes) == 0 && len(d.searches) == 0 && vague > 0 {
		if slices.ContainsFunc(d.acts, func(a act) bool { return a.kind == actUnknown }) {
			d.say(sayUnknown)
		} else {
			d.say(saySmall)
		}
	}
}

// sayLeft says which parts of a message that states facts weren't kept.
func (d *decider) sayLeft() {
	const most = 5
	var parts []string
	for _, a := range d.acts {
		for _, s := range a.left {
			if len(parts) < most {
				parts = append(parts, fmt.Sprintf("%q", clip(s, 80)))
			}
		}
	}
	if len(parts) > 0 {
		d.say("I did not understand and did not keep this: " + strings.Join(parts, ", ") + ".")
	}
}

func (d *decider) say(s string) {
	if s != "" && !slices.Contains(d.said, s) {
		d.said = append(d.said, s)
	}
}

// greet says hello, by name if it is known.
func (d *decider) greet() string {
	for _, slot := range []string{"nickname", "attr:name"} {
		for i := len(d.p.facts) - 1; i >= 0; i-- {
			e := d.p.facts[i]
			if e.slot != slot || e.subject != "user" || e.negated {
				continue
			}
			for _, mark := range []string{" called ", " name is "} {
				if _, name, ok := strings.Cut(e.text, mark); ok && len(name) < 60 {
					return "Hello, " + strings.TrimRight(name, ".") + "."
				}
			}
		}
	}
	if len(d.acts) > 1 || len(d.p.facts) > 0 {
		return sayHello
	}
	return sayHello + " " + saySelf + " Tell me something about you."
}

// ask answers a question about a fact.
func (d *decider) ask(asked string) string {
	q := newQuestion(text(d.s.clock.dates(tokenise(asked))))
	if len(q.terms) == 0 {
		return sayDoNotKnow
	}
	before := len(d.searches)
	hits, answers := d.look(q)
	if len(hits) == 0 {
		if len(d.searches) > before {
			return "" // search first
		}
		return sayDoNotKnow
	}
	if answers == direct {
		return d.tell(hits)
	}
	return answers.worded(d.worded(hits))
}

const sayDoNotKnow = "I do not know that. Nobody has told me, as far as I can find."

// worded phrases facts as they are told to the user.
func (d *decider) worded(facts []*entry) string {
	var parts []string
	for _, e := range facts {
		parts = append(parts, sentence(second(e.text)))
	}
	return strings.Join(parts, " ")
}

// tell phrases facts as an answer, with their source.
func (d *decider) tell(hits []*entry) string {
	s := d.worded(hits)
	switch hits[0].origin {
	case fromThread:
		return "You said earlier: " + s
	case fromSearch:
		return "I found this: " + s
	case fromMemory, fromReminder:
	}
	return s
}

// all tells everything known about the user.
func (d *decider) all() string {
	const most = 60
	facts := d.p.facts
	if len(facts) == 0 {
		facts = d.threadFacts()
	}
	if len(facts) == 0 {
		return "Nothing yet. Tell me something about you, and I will keep it."
	}
	var parts []string
	for _, e := range facts[:min(len(facts), most)] {
		parts = append(parts, sentence(second(e.text)))
	}
	s := "This is what I know. " + strings.Join(parts, " ")
	if len(facts) > most {
		s += fmt.Sprintf(" … and %d more.", len(facts)-most)
	}
	return s
}

// whoAmI tells the name first, then what else describes the user.
func (d *decider) whoAmI() string {
	facts := slices.Concat(d.p.facts, d.recalled())
	if len(d.p.facts) == 0 {
		facts = slices.Concat(facts, d.threadFacts())
	}
	var hits []*entry
	for _, slots := range []string{" attr:name nickname ", " job.role job.place job.topic ", " home age "} {
		for _, e := range facts {
			if e.subject == "user" && e.slot != "" && listed(slots, e.slot) && len(hits) < 8 {
				hits = append(hits, e)
			}
		}
	}
	if len(hits) == 0 && len(facts) == 0 {
		return "I do not know. You have not told me your name yet."
	}
	if len(hits) == 0 {
		return "I do not know your name. " + d.all()
	}
	return d.tell(hits)
}

// gap says how long ago the previous message was.
func (d *decider) gap() string {
	if d.s.clock.gap != "" {
		return "Your last message before this one was " + d.s.clock.gap + " ago."
	}
	if len(d.s.thread) > 0 {
		return "Your last message was less than an hour ago, as far as I can see."
	}
	return sayDoNotKnow
}

// tell answers a question about the clock from the preface.
func (c clock) tell(text string) string {
	if c.at.IsZero() {
		return "I do not know: I see no clock here."
	}
	ws := tokenise(text)
	asks := func(list ...string) bool { return slices.ContainsFunc(ws, func(w word) bool { return w.is(list...) }) }
	for i := range ws {
		t, n := c.relative(ws[i:])
		if n == 0 || ws[i].is("today") {
			continue
		}
		verb := "was"
		if t.After(c.at) {
			verb = "will be"
		}
		what := lower(ws[i : i+n])
		return fmt.Sprintf("%s %s %s.", capital(what), verb, day(t))
	}
	switch {
	case asks("time", "clock"):
		return strings.TrimSpace(fmt.Sprintf("It is %s on %s.", strings.TrimSpace(c.at.Format("15:04")+" "+c.zone), day(c.at)))
	case asks("year") && !asks("date", "day"):
		return fmt.Sprintf("It is %d.", c.at.Year())
	case asks("month") && !asks("date", "day"):
		return "It is " + c.at.Format("January 2006") + "."
	}
	return "Today is " + day(c.at) + "."
}

func lower(ws []word) string { return strings.ToLower(text(ws)) }

// compose joins the greeting, what happened to facts, and the answers.
func (d *decider) compose() string {
	var parts []string
	if d.hello != "" {
		parts = append(parts, d.hello)
	}
	parts = append(parts, d.changes()...)
	parts = append(parts, d.said...)
	if len(parts) > 0 {
		return strings.Join(parts, " ")
	}
	switch {
	case d.s.input != "" && len(d.searches) > 0:
		return sayDoNotKnow
	case d.s.input == "" && d.s.notice != "":
		return "I read the notice. I am the built-in offline model and answer only what a person says."
	}
	return sayUnknown
}

// changes says what happened to facts and to requests to forget.
func (d *decider) changes() []string {
	var parts []string
	joint := func(kind outcomeKind, lead, tail string) {
		if os := d.became(kind); len(os) > 0 {
			parts = append(parts, strings.TrimSpace(lead+told(os...)+tail))
		}
	}
	joint(outStored, "Noted. ", "")
	for _, o := range d.became(outCorrected) {
		parts = append(parts, fmt.Sprintf("Corrected. %s (Before: %s)", told(o), second(o.was)))
	}
	for _, o := range d.became(outArchived) {
		s := "Kept in archival memory: " + clip(strings.TrimSpace(o.text), 120)
		if o.reason != "" {
			s += " (the block did not take it: " + o.reason + ")"
		}
		parts = append(parts, s)
	}
	joint(outKnown, "I already know that. ", "")
	joint(outForgotten, "Forgotten. It was: ", "")
	for _, o := range d.became(outNothing) {
		if o.text == "everything" {
			parts = append(parts, "I forget one thing at a time: say which. To empty a block, run `loci memory edit`.")
			continue
		}
		parts = append(parts, fmt.Sprintf("My memory has nothing about %q.", clip(o.text, 80)))
	}
	for _, o := range d.became(outFailed) {
		parts = append(parts, fmt.Sprintf("I could not change my memory: %s. This is not done: %s", o.reason, clip(o.text, 120)))
	}
	joint(outNoTool, "I understood: ", " "+sayNoStore)
	joint(outPending, "I stopped after too many calls. Not stored: ", "")
	return parts
}

// became returns the outcomes of a kind, without duplicates.
func (d *decider) became(kind outcomeKind) []outcome {
	var out []outcome
	for _, o := range d.outcomes {
		if o.kind == kind && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// told phrases facts for the user.
func told(os ...outcome) string {
	var s []string
	for _, o := range os {
		s = append(s, sentence(second(clip(o.text, 300))))
	}
	return strings.Join(s, " ")
}
