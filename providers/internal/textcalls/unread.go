package textcalls

import (
	"slices"
	"strings"
	"unicode"
)

// Reason is why something that was written as a call is none.
type Reason string

// The reasons.
const (
	NotOffered Reason = "not offered" // of a tool that there isn't, or together with one of such a tool
	Broken     Reason = "broken"      // in no shape in which it can be read
	Cut        Reason = "cut"         // it breaks off where the answer ends
	Middle     Reason = "middle"      // the answer goes on behind it
	Inline     Reason = "inline"      // it stands behind words in its line, in an item or in an open quotation
)

// Missed is what was written as a call and isn't one. Why is "" if there is nothing of the kind.
type Missed struct {
	Why     Reason
	Names   []string // the tools that it calls, where they are known
	Unknown []string // those of them that were not offered
	Text    string   // how it begins, fit to be shown, where the tools aren't known
}

// mostUnread is the length of an answer up to which it is looked through for what was not read.
const mostUnread = 1 << 20

// Unread looks through a whole answer without calls for what a model wrote as one in a form. What is plainly shown doesn't count.
func Unread(form Form, text string, tools []Tool, bare bool) Missed {
	if len(text) > mostUnread || len(tools) == 0 {
		return Missed{}
	}
	if form == GPTOSS {
		c := channels{tools: tools}
		c.read(text, true)
		return c.missed
	}
	g := form.grammar()
	if bare && g.whole {
		if m := unreadJSON(strings.TrimLeft(text, blank), tools); m.Why != "" {
			return m
		}
	}
	return (&unread{Reader: Reader{grammar: g, tools: tools}}).scan(text)
}

// unreadJSON looks at an answer that is nothing but JSON.
func unreadJSON(text string, tools []Tool) Missed {
	if calls, v := bareJSON(text, true, anyTool()); v == done {
		return notOffered(calls, tools)
	}
	if _, v := bareJSON(text, false, tools); v != more {
		return Missed{}
	}
	for _, t := range tools {
		if _, rest, found := strings.Cut(text, `"name"`); found && strings.Contains(rest, string(encoded(t.Name))) {
			return Missed{Why: Cut, Text: snippet(text)}
		}
	}
	return Missed{}
}

// unread looks for what a reader didn't read.
type unread struct{ Reader }

// scan returns the first call that was meant as one, or else the last that stands where none can.
func (u *unread) scan(text string) (last Missed) {
	for u.work <= mostWork {
		at, mark := u.mark(text)
		if at < 0 {
			return last
		}
		u.place.see(text[:at])
		text = text[at:]
		u.work += len(text)
		m, rest := Missed{}, text
		switch u.place.stands() {
		case meant:
			if m, rest = u.meant(text); m.Why != "" && m.Why != Middle {
				return m
			}
		case inline:
			var calls []Call
			if calls, rest, _ = u.calls(text, u.tools); len(calls) > 0 {
				m = Missed{Why: Inline, Names: names(calls)}
			}
		case shown:
		}
		if m.Why != "" {
			last = m
		}
		n := max(len(mark), len(text)-len(rest))
		u.place.see(text[:n])
		text = text[n:]
	}
	return last
}

// meant looks at what begins with a mark where a call can stand, and returns what is left behind calls.
func (u *unread) meant(text string) (m Missed, rest string) {
	calls, rest, v := u.calls(text, anyTool())
	if v == done {
		if m := notOffered(calls, u.tools); m.Why != "" || rest == "" {
			return m, rest
		}
		return Missed{Why: Middle, Names: names(calls)}, rest
	}
	_, _, v = u.grammar.one(rest, false, anyTool())
	switch {
	case v == more && !ended(rest):
		return Missed{Why: Cut, Text: snippet(rest)}, rest
	case v == more || attempted(rest, u.starts(rest)):
		return Missed{Why: Broken, Text: snippet(rest)}, rest
	case len(calls) > 0:
		return Missed{Why: Middle, Names: names(calls)}, rest
	}
	return Missed{}, rest
}

// ended reports whether a text has the mark of the end of a call at its end.
func ended(text string) bool {
	text = strings.TrimRight(text, blank)
	return slices.ContainsFunc([]string{callClose, functionClose, deepClose, deepEnd, dsmlEnd}, func(mark string) bool {
		return strings.HasSuffix(text, mark)
	})
}

// calls reads what follows as calls, and returns what is left. It is no call if the verdict is no.
func (u *unread) calls(text string, tools []Tool) (calls []Call, rest string, v verdict) {
	for {
		some, n, v := u.grammar.one(text, true, tools)
		if v != done {
			return calls, text, no
		}
		calls = append(calls, some...)
		if text = afterEnds(text[n:]); text == "" || u.starts(text) == "" || len(calls) > mostCalls {
			return calls, text, done
		}
	}
}

// attempted reports whether what stands behind a mark has the look of a call, and not of words about one.
func attempted(text, mark string) bool {
	body := strings.TrimLeft(text[len(mark):], blank)
	if strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[{") {
		return true
	}
	has := func(any ...string) bool {
		return slices.ContainsFunc(any, func(s string) bool { return strings.Contains(body, s) })
	}
	switch mark {
	case pythonTag:
		return has("(")
	case mistralMark:
		at := strings.IndexAny(body, "[{")
		return at > 0 && possible(strings.TrimSpace(body[:at]))
	case functionOpen:
		return has(functionClose, parameterOpen)
	case deepBegin, deepOne:
		return has(deepOne, deepSep)
	case dsmlBegin:
		return has(dsmlOne)
	}
	return has(callClose, functionOpen, keyOpen)
}

func notOffered(calls []Call, tools []Tool) Missed {
	m := Missed{Why: NotOffered, Names: names(calls)}
	for _, name := range m.Names {
		if _, ok := find(tools, name); !ok {
			m.Unknown = append(m.Unknown, name)
		}
	}
	if len(m.Unknown) == 0 {
		return Missed{}
	}
	return m
}

// names returns the tools that are called, each once.
func names(calls []Call) []string {
	var out []string
	for _, c := range calls {
		if !slices.Contains(out, c.Name) {
			out = append(out, c.Name)
		}
	}
	return out
}

// snippet returns the beginning of a text on one line, without characters that steer a terminal.
func snippet(text string) string {
	const longest = 80
	var b strings.Builder
	n, space := 0, false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			space = true
			continue
		case !unicode.IsPrint(r):
			continue
		case n >= longest:
			return b.String() + "…"
		}
		if space && n > 0 {
			b.WriteByte(' ')
			n++
		}
		space = false
		b.WriteRune(r)
		n++
	}
	return b.String()
}
