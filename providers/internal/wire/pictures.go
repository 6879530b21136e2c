package wire

import (
	"encoding/base64"

	"loci/core"
)

// DataURI returns a picture as the address that holds it.
func DataURI(p *core.Picture) string {
	return "data:" + p.Type + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// Detail returns how closely a model should look, if that is a word that servers know.
func Detail(p *core.Picture) string {
	switch p.Detail {
	case "low", "high", "auto":
		return p.Detail
	}
	return ""
}

// Returned makes the user message that shows what tools returned, for wires whose tool messages hold only text; false if no
// return holds a picture.
func Returned(m *core.ChatMessage) (core.ChatMessage, bool) {
	out := core.ChatMessage{Role: core.ChatUser}
	for _, r := range m.Returns {
		if len(r.Pictures) == 0 {
			continue
		}
		out.Text += core.Reminder("The images that "+r.Name+" returned follow.") + "\n"
		for _, p := range r.Pictures {
			out.Pictures = append(out.Pictures, core.PictureAt{Picture: p, At: len(out.Text)})
		}
	}
	return out, len(out.Pictures) > 0
}
