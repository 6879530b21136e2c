package offline

import (
	"slices"
	"strings"
	"time"
)

// recallHead is how a record of what was recalled starts; recallTime is how its entries do, after "- ".
const (
	recallHead = "Recalled from your memory"
	recallTime = "2006-01-02 15:04"
)

// The roles of recalled texts that matter here: the user's own words, and notes.
const (
	roleNote      = "note"
	roleAssistant = "assistant"
)

// readRecalled reads the entries of a record: "- time who: text", further lines indented. ok is false for any other text.
func readRecalled(record string) (texts []finding, ok bool) {
	if !strings.HasPrefix(record, recallHead) {
		return nil, false
	}
	for line := range strings.SplitSeq(record, "\n") {
		if rest, more := strings.CutPrefix(line, "  "); more && len(texts) > 0 {
			texts[len(texts)-1].content += "\n" + rest
			continue
		}
		rest, entry := strings.CutPrefix(line, "- ")
		if !entry || len(rest) < len(recallTime) {
			continue
		}
		at, err := time.Parse(recallTime, rest[:len(recallTime)])
		who, text, said := strings.Cut(rest[len(recallTime):], ": ")
		if err != nil || !said {
			continue
		}
		f := finding{role: "user", content: text, at: at.Format(time.RFC3339)}
		switch who = strings.TrimSpace(who); {
		case who == "you":
			f.role = roleAssistant
		case who == roleNote || strings.HasPrefix(who, roleNote+" ("):
			f.role = roleNote
		}
		texts = append(texts, f)
	}
	return texts, true
}

// recalled returns the facts in what the program recalled into the thread, in order of time: what the user said later
// replaces earlier facts. What an agent said isn't a source of facts.
func (d *decider) recalled() []*entry {
	if d.remembers {
		return d.memory
	}
	d.remembers = true
	var out []*entry
	ended := d.ended()
	for _, p := range d.s.passages {
		texts, ok := readRecalled(p)
		if strings.HasPrefix(p, hookedHead) {
			continue
		}
		if !ok {
			texts = []finding{{content: p, role: roleNote}}
		}
		for _, f := range texts {
			if f.role == roleAssistant || len(out) > maxEntries {
				continue
			}
			c, text := d.s.clock, f.content
			if at := f.time(); !at.IsZero() {
				c = clock{at: at}
			}
			if f.role != roleNote {
				for _, w := range d.takesBack(text, c) {
					out = slices.DeleteFunc(out, w.means)
				}
			}
			for _, n := range read(text, c, fromReminder) {
				if forgotten(ended, n, f.time()) {
					continue
				}
				if f.role != roleNote {
					out = slices.DeleteFunc(out, func(e *entry) bool { return conflicts(fact{}, n, e) })
				}
				out = append(out, n)
			}
		}
	}
	d.memory = out
	return out
}

// takesBack returns what a text asks to forget.
func (d *decider) takesBack(text string, c clock) []wish {
	var wishes []wish
	for _, a := range understand(text, &reader{clock: c, known: d.knownName}) {
		if a.kind == actForget {
			wishes = append(wishes, newWish(a.text, time.Time{}))
		}
	}
	return wishes
}
