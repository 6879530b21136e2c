package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
)

// Limits on calls.
const (
	mostLost   = 2000 // pieces of calls that never got a name
	mostCallID = 256  // bytes of an id
)

// callList assembles the pieces of tool calls, whichever of index, id and name a server sends.
type callList struct {
	offered []string
	list    []*openCall
	opened  int         // how many have a name and so were handed out
	last    map[int]int // wire index → the call last opened under it
	lost    int         // pieces of calls without a name
}

type openCall struct {
	id    string
	name  string
	told  bool   // the name is handed out
	held  string // arguments that arrived before the name
	given strings.Builder
	depth jsonDepth
	later []string // ambiguous pieces, resolved at the end
}

// add takes one piece and returns what to hand out. A call starts with a new id, a new index, or a name if the server
// sends neither: some servers send every parallel call at index 0, some send no index at all.
func (l *callList) add(index *int, id, name, args string) []core.CallDelta {
	if len(id) > mostCallID {
		id = wire.ShortID(id, 24)
	}
	at := l.find(index, id, name)
	if at < 0 {
		l.lost++
		return nil
	}
	call := l.list[at]
	if !call.told {
		if call.name == "" || l.goesOn(call, name) {
			call.name += name
		}
		if call.held += args; call.name == "" || call.held == "" && l.begins(call.name) {
			l.lost++
			return nil
		}
		return []core.CallDelta{l.tell(at)}
	}
	if args = call.take(args); args == "" {
		return nil
	}
	return []core.CallDelta{{Index: at, Arguments: args}}
}

// tell hands out a call's name, and the arguments that came before or with it.
func (l *callList) tell(at int) core.CallDelta {
	call := l.list[at]
	call.told = true
	l.opened++
	if call.id == "" {
		call.id = wire.NewCallID()
	}
	return core.CallDelta{Index: at, ID: call.id, Name: wire.ToolName(call.name, l.offered), Arguments: call.take(call.held)}
}

// begins reports whether a name is the beginning of a longer one that is offered, so that the rest may follow.
func (l *callList) begins(name string) bool {
	return slices.ContainsFunc(l.offered, func(o string) bool { return o != name && strings.HasPrefix(o, name) })
}

// goesOn reports whether a piece of a name is the rest of a call's name, which some servers split.
func (l *callList) goesOn(c *openCall, rest string) bool {
	return !c.told && c.name != "" && rest != "" && c.held == "" && !slices.Contains(l.offered, rest) &&
		(slices.Contains(l.offered, c.name+rest) || l.begins(c.name+rest))
}

func (l *callList) find(index *int, id, name string) int {
	if l.last == nil {
		l.last = map[int]int{}
	}
	slot := -1
	if index != nil {
		slot = *index
	}
	at, known := l.last[slot]
	switch {
	case id != "" && known && (l.list[at].id == "" || l.list[at].id == id && !l.followed(l.list[at], name)):
		l.list[at].id = id
		return at
	case id != "":
		for i, c := range l.list {
			switch {
			case c.id != id:
			case l.followed(c, name) || !known && index != nil && name != "" && c.name != "":
				id = wire.NewCallID() // another call with the same id
			default:
				return i
			}
		}
	case known && (index != nil || name == "" || l.list[at].name == "" || l.goesOn(l.list[at], name)):
		return at
	case !known && name == "" && index == nil:
		if len(l.list) == 0 {
			return -1
		}
		return len(l.list) - 1
	}
	l.list = append(l.list, &openCall{id: id})
	l.last[slot] = len(l.list) - 1
	return len(l.list) - 1
}

// end returns what was held back, and the whole calls that never got a name: the model hears that there is no such tool.
func (l *callList) end() []core.CallDelta {
	var out []core.CallDelta
	for i, c := range l.list {
		nameless := c.name == "" && strings.HasPrefix(strings.TrimSpace(c.held), "{") && json.Valid([]byte(c.held))
		if !c.told && (c.name != "" || nameless) {
			out = append(out, l.tell(i))
		}
		if rest := c.rest(); rest != "" && c.told {
			out = append(out, core.CallDelta{Index: i, Arguments: rest})
		}
	}
	return out
}

// half reports whether a call ended in the middle of its arguments.
func (l *callList) half() bool {
	for _, c := range l.list {
		if c.depth.open() {
			return true
		}
	}
	return false
}

// followed reports whether a piece with this name belongs to another call than c.
func (l *callList) followed(c *openCall, name string) bool {
	return name != "" && c.name != "" && name != c.name && !l.goesOn(c, name)
}

// take returns how much of an arguments piece can be handed out. Some servers repeat everything so far in every piece,
// some send the whole again at the end, some start with a meaningless empty object, some put quotes around the object. If
// a piece could be one of those, it is held until the end.
func (c *openCall) take(piece string) string {
	given := c.given.String()
	blank := strings.TrimSpace(piece) == ""
	switch {
	case piece == "":
		return ""
	case len(c.later) > 0,
		given == "" && strings.HasPrefix(strings.TrimSpace(piece), `"`),
		given == "" && strings.TrimSpace(piece) == "{}",
		!blank && c.depth.closed,
		strings.TrimSpace(given) != "" && strings.HasPrefix(piece, given):
		c.later = append(c.later, piece)
		return ""
	}
	c.given.WriteString(piece)
	c.depth.add(piece)
	return piece
}

// rest decides what the ambiguous pieces mean and returns what they add.
func (c *openCall) rest() string {
	if len(c.later) == 0 {
		return ""
	}
	given, all := c.given.String(), c.given.String()+strings.Join(c.later, "")
	last := c.later[len(c.later)-1]
	c.later = nil
	c.given.Reset()
	whole := all
	if !json.Valid([]byte(all)) {
		whole = lastValue(all)
		if json.Valid([]byte(last)) {
			whole = last
		}
	}
	if given == "" {
		whole = wire.Unquoted(whole)
	}
	if !strings.HasPrefix(whole, given) {
		whole = given // it was already complete
	}
	c.given.WriteString(whole)
	c.depth = jsonDepth{}
	c.depth.add(whole)
	return whole[len(given):]
}

// lastValue returns the last of several consecutive JSON values, or the whole text if it isn't that.
func lastValue(text string) string {
	dec := json.NewDecoder(strings.NewReader(text))
	var value json.RawMessage
	for dec.More() {
		if dec.Decode(&value) != nil {
			return text
		}
	}
	return string(value)
}

// jsonDepth tracks the nesting depth of a JSON text as it grows.
type jsonDepth struct {
	depth          int
	quoted, escape bool
	closed         bool // the outermost object has ended
}

func (d *jsonDepth) add(text string) {
	for i := range len(text) {
		switch b := text[i]; {
		case d.escape:
			d.escape = false
		case d.quoted:
			d.escape, d.quoted = b == '\\', b != '"'
		case b == '"':
			d.quoted = true
		case b == '{' || b == '[':
			d.depth++
		case b == '}' || b == ']':
			d.depth--
			d.closed = d.closed || d.depth == 0
		}
	}
}

func (d *jsonDepth) open() bool { return d.depth > 0 || d.quoted }
