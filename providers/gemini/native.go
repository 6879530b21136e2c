package gemini

import (
	"encoding/json"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
)

// foreignSignature is what Google documents for the call of a turn that isn't the model's own: nothing is checked of it.
const foreignSignature = "skip_thought_signature_validator"

// native is what is kept of an assistant turn: its parts, verbatim.
type native struct {
	Parts []json.RawMessage `json:"parts"`
}

// kept is a part that is kept, with the fields that we need.
type kept struct {
	Text      *string `json:"text"`
	Thought   bool    `json:"thought"`
	Signature string  `json:"thoughtSignature"`
	Call      *struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"functionCall"`
}

// replayed returns the parts of a turn as they came; none if they aren't kept, or don't hold the calls that the turn is
// known by: one that was left out or renamed would have no response.
func (b *builder) replayed(m *core.ChatMessage) []part {
	var turn native
	if m.Native == nil || json.Unmarshal(m.Native.Data, &turn) != nil {
		return nil
	}
	var out []part
	var open []openCall
	for _, raw := range turn.Parts {
		var k kept
		if !wire.Decode(raw, &k) {
			return nil
		}
		if k.Text != nil && strings.TrimSpace(*k.Text) == "" && k.Signature == "" { // comes, but is refused
			continue
		}
		p := part{verbatim: raw}
		if k.Call != nil {
			i := len(open)
			if i >= len(m.Calls) || k.Call.Name != m.Calls[i].Name || k.Call.ID != "" && k.Call.ID != m.Calls[i].ID {
				return nil
			}
			if i == 0 && b.can.Signs && k.Signature == "" {
				p = signedAsForeign(raw)
			}
			open = append(open, openCall{id: k.Call.ID, name: k.Call.Name, callID: m.Calls[i].ID})
		}
		out = append(out, p)
	}
	if len(open) != len(m.Calls) {
		return nil
	}
	b.open = open
	return out
}

// signedAsForeign adds the signature that a call should have had: a gateway lost it.
func signedAsForeign(raw json.RawMessage) part {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &fields) != nil {
		return part{verbatim: raw}
	}
	fields["thoughtSignature"] = json.RawMessage(`"` + foreignSignature + `"`)
	signed, err := wire.Encode(fields)
	if err != nil {
		return part{verbatim: raw}
	}
	return part{verbatim: signed}
}
