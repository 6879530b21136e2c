package wire

import (
	"strings"
	"time"

	"loci/core"
)

// Refusal is a part of a request that some servers do not take and that can be left out.
type Refusal string

// The parts that are refused.
const (
	RefusedUsage   Refusal = "stream_options" // usage at the end of a stream
	RefusedSummary Refusal = "summary"        // a summary of the reasoning
	RefusedSystem  Refusal = "system"         // a system message
	RefusedTools   Refusal = "tools"
	RefusedImages  Refusal = "images"
	RefusedFormat  Refusal = "response_format" // the form of the answer
	RefusedChoice  Refusal = "tool_choice"     // that a tool must be called, or which one
)

// RefusalFresh is how long a refusal is remembered. By then the server may have been started anew with other options.
const RefusalFresh = 10 * time.Minute

// refusals is how servers say it, in lower case.
var refusals = []struct {
	part  Refusal
	words []string
}{
	{RefusedUsage, []string{"stream_options"}},
	{RefusedSystem, []string{
		"system role not supported", "system role is not supported", "does not support 'system'", "does not support system",
		"system message is not supported", "system messages are not supported", "developer instruction is not enabled",
		"only user and assistant roles are supported", "unexpected role system", "system prompt is not supported",
	}},
	{RefusedTools, []string{
		"does not support tool", "doesn't support tool", "does not support function", "support tool use", "tool use is not supported",
		"tools are not supported", "tools is not supported", "tool calling is not supported", "function calling is not supported",
		"function calling is not enabled", "enable-auto-tool-choice", "requires --jinja", "request argument supplied: tools",
	}},
	{RefusedImages, []string{
		"not support image", "t support image", "support image input", "image input is not", "images are not supported",
		"image_url is only supported", "unknown variant `image_url`", "not support vision", "vision is not", "not a multimodal model",
		"not support multimodal", "not support multi-modal", "content must be a string", "missing data required for image input",
	}},
	{RefusedFormat, []string{
		"response_format", "response format", "text.format", "json_schema", "json schema", "json_object", "json mode", "structured output",
		"structured_output", "grammar constraints", "guided decoding", "guided_json",
	}},
	{RefusedChoice, []string{"support the provided '" + choiceWord}},
}

// choiceWord stands for the choice among tools, so that its refusal isn't taken for one of tools as such.
const choiceWord = "<choice>"

func refusal(lower string) Refusal {
	lower = aboutChoice(lower)
	for _, r := range refusals {
		if Says(lower, r.words...) {
			return r.part
		}
	}
	return ""
}

func aboutChoice(lower string) string {
	return strings.ReplaceAll(strings.ReplaceAll(lower, "tool_choice", choiceWord), "tool choice", choiceWord)
}

// Refused returns the part of the request that an error complains of, and nothing for any other error.
func Refused(err error) Refusal {
	if core.KindOf(err) != core.Invalid {
		return ""
	}
	lower := strings.ToLower(err.Error())
	switch part := refusal(lower); {
	case part != "":
		return part
	case strings.Contains(aboutChoice(lower), choiceWord):
		return RefusedChoice
	case strings.Contains(lower, "summar"):
		return RefusedSummary
	}
	return ""
}
