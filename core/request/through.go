package request

import (
	"encoding/json"

	"loci/core"
)

// through is a call as the model makes it that reaches a tool by way of core.MoreToolsName.
type through struct {
	Call      string          `json:"call"`
	Arguments json.RawMessage `json:"arguments"`
}

// Unwrap returns the call that stands in the arguments of core.MoreToolsName: which tool, and its arguments. Models that write these as
// a text meant what stands in it.
func Unwrap(arguments string) (tool, inner string, ok bool) {
	var t through
	if json.Unmarshal([]byte(arguments), &t) != nil || !core.LegalToolName(t.Call) {
		return "", "", false
	}
	inner = string(t.Arguments)
	var text string
	if json.Unmarshal(t.Arguments, &text) == nil && text != "" {
		inner = text
	}
	if inner == "" || inner == "null" {
		inner = "{}"
	}
	if _, err := core.ParseArguments(inner); err != nil {
		return "", "", false
	}
	return t.Call, inner, true
}

// wrapped is a call as the model made it.
func wrapped(c core.ToolCall) core.ToolCall {
	c.Arguments = JSON(through{Call: c.Name, Arguments: json.RawMessage(c.Arguments)})
	c.Name = c.Via
	return c
}
