package wire

import (
	"slices"
	"strconv"

	"loci/core"
)

// UniqueCalls returns the messages with a distinct id for every call, and the same id for its return: servers that count
// from call_0 in each answer refuse their own ids when a request repeats them. The first call with an id keeps it, so
// that a growing thread keeps sending what it sent before. A renamed message loses its native items if those hold ids.
func UniqueCalls(messages []core.ChatMessage, inNative bool) []core.ChatMessage {
	out := slices.Clone(messages)
	taken, next := map[string]bool{}, map[string]int{}
	var open map[string][]string // for the calls of the last answer, the ids they are sent under, by original id
	for i := range out {
		m := &out[i]
		switch m.Role { //nolint:exhaustive // no other role has calls
		case core.ChatAssistant:
			open = map[string][]string{}
			m.Calls = slices.Clone(m.Calls)
			for j := range m.Calls {
				own := m.Calls[j].ID
				id := own
				for taken[id] {
					next[own]++
					id = own + "_" + strconv.Itoa(next[own])
				}
				taken[id] = true
				if m.Calls[j].ID = id; id != own && inNative {
					m.Native = nil
				}
				open[own] = append(open[own], id)
			}
		case core.ChatTool:
			m.Returns = slices.Clone(m.Returns)
			for j := range m.Returns {
				own := m.Returns[j].CallID
				ids := open[own]
				if len(ids) == 0 {
					continue
				}
				m.Returns[j].CallID = ids[0]
				if len(ids) > 1 {
					open[own] = ids[1:]
				}
			}
		}
	}
	return out
}
