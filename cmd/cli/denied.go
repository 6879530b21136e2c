package cli

import (
	"slices"
	"strings"

	"loci/daemon/api"
)

// denial is a call that would have asked a person, in a command where nobody is there to be asked.
type denial struct {
	Tool   string   `json:"tool_name"`
	CallID string   `json:"tool_call_id"`
	Why    string   `json:"why"`
	Flags  []string `json:"flags"` // of this command, with which it would have passed; none: nothing allows it
}

func denialOf(n *api.Notice) denial {
	word := func(key string) string { s, _ := n.Data[key].(string); return s }
	d := denial{Tool: word("tool"), CallID: word("tool_call_id"), Why: word("why"), Flags: []string{}}
	flags, _ := n.Data["flags"].([]any)
	for _, f := range flags {
		if flag, ok := f.(string); ok {
			d.Flags = append(d.Flags, flag)
		}
	}
	return d
}

// deniedFault is the error of a run that ended well but for what was denied in it.
func (t *exchange) deniedFault() error {
	if len(t.denied) == 0 {
		return nil
	}
	var tools, flags []string
	for _, d := range t.denied {
		tools, flags = append(tools, oneLine(d.Tool)), append(flags, d.Flags...)
	}
	f := &fault{kind: api.KindForbidden, msg: strings.Join(unique(tools), ", ") + " was denied, since nobody is there to be asked"}
	if len(flags) == 0 {
		return f.withHint("`loci permissions` lists the rules that count; the chat asks you")
	}
	return f.withHint("the same with %s", strings.Join(unique(flags), " "))
}

// unique is a list with each text once, in the order in which they came first.
func unique(texts []string) []string {
	var out []string
	for _, text := range texts {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}
