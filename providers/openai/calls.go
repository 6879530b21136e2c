package openai

import (
	"crypto/rand"

	"loci/core"
)

// callList puts the pieces of tool calls together, whatever of index, id and name a server sends.
type callList struct {
	list   []openCall
	opened int         // how many have a name, and so were handed out
	last   map[int]int // the index on the wire → the call that was opened last under it
}

type openCall struct {
	id   string
	name string
	held string // arguments that came before the name
}

// add takes one piece and returns what to hand out. A call opens with a new id, a new index, or with a name where
// the server sends neither: some send every parallel call at index 0, some send no index at all.
func (l *callList) add(index *int, id, name, args string) []core.CallDelta {
	at := l.find(index, id, name)
	if at < 0 {
		return nil
	}
	call := &l.list[at]
	if call.name == "" {
		if name == "" {
			call.held += args
			return nil
		}
		call.name = name
		l.opened++
		if call.id == "" {
			call.id = newCallID()
		}
		return []core.CallDelta{{Index: at, ID: call.id, Name: name, Arguments: call.held + args}}
	}
	if args == "" {
		return nil
	}
	return []core.CallDelta{{Index: at, Arguments: args}}
}

func (l *callList) find(index *int, id, name string) int {
	if l.last == nil {
		l.last = map[int]int{}
	}
	wire := -1
	if index != nil {
		wire = *index
	}
	at, known := l.last[wire]
	switch {
	case id != "" && known && (l.list[at].id == "" || l.list[at].id == id):
		l.list[at].id = id
		return at
	case id != "":
		for i, c := range l.list {
			if c.id == id {
				return i
			}
		}
	case known && (index != nil || name == "" || l.list[at].name == ""):
		return at
	case !known && name == "" && index == nil:
		if len(l.list) == 0 {
			return -1
		}
		return len(l.list) - 1
	}
	l.list = append(l.list, openCall{id: id})
	l.last[wire] = len(l.list) - 1
	return len(l.list) - 1
}

func newCallID() string { return "call_" + rand.Text()[:24] }
