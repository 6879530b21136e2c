// Package messages is the built-in tool through which agents that must always call a tool speak to a person.
//
// Layer 1, below tools: it imports core.
package messages

import (
	"context"

	"loci/core"
)

// SendDoc tells a model what send_message does.
const SendDoc = "Say something to the person. Nothing else you write reaches them."

// SendArgs are the arguments of send_message.
type SendArgs struct {
	Message string `json:"message" jsonschema:"What the person reads."`
}

// Send acknowledges the message; the call itself is what is shown.
func Send(_ context.Context, args SendArgs, _ core.ToolEnv) (core.ToolResult, error) {
	if args.Message == "" {
		return core.ToolResult{}, core.E(core.Invalid, "the message is empty: nothing was said")
	}
	return core.ToolResult{Text: "Sent message successfully."}, nil
}
