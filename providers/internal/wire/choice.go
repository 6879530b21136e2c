package wire

import (
	"slices"

	"loci/core"
)

// Unforced asks in words for the call that may not be forced. The tools stay offered, unless none was to be called.
func Unforced(req core.ChatRequest) core.ChatRequest {
	words := ""
	switch {
	case len(req.Tools) == 0:
	case req.Choice.Mode == core.ChoiceNone:
		req.Tools = nil
	case req.Choice.Mode == core.ChoiceNamed:
		words = "Answer with a call of " + req.Choice.Name + "."
	case req.Choice.Mode == core.ChoiceRequired:
		words = "Answer with a call of a tool."
	}
	if words != "" {
		req.Messages = append(slices.Clip(req.Messages), core.ChatMessage{Role: core.ChatReminder, Text: words})
	}
	req.Choice = core.ToolChoice{}
	return req
}
