package gemini

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"loci/core"
	"loci/providers/internal/wire"
)

// refused is a part of a request that some models and servers do not take, and that can be left out.
type refused string

const (
	refusedThinking refused = "thinkingConfig"
	refusedEffort   refused = "thinkingLevel" // or the budget
	refusedSchema   refused = "responseJsonSchema"
	refusedChoice   refused = "toolConfig"
	refusedSystem   refused = "systemInstruction"
	refusedLimit    refused = "maxOutputTokens" // it was too high
)

// highest finds the highest limit in words like "supported range is from 1 (inclusive) to 65537 (exclusive)".
var highest = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`maxoutputtokens.* from 1 \(inclusive\) to ([0-9]+) \(exclusive\)`)
})

// refusedPart returns the part of a request that an error complains of, and nothing if the request didn't have it. limit is
// what the server allows of an answer that was to be too long.
func refusedPart(err error, sent *request) (part refused, limit int) {
	if core.KindOf(err) != core.Invalid {
		return "", 0
	}
	text := strings.ToLower(err.Error())
	says := func(words ...string) bool { return wire.Says(text, words...) }
	c := sent.Config
	if c == nil {
		c = &config{}
	}
	if found := highest().FindStringSubmatch(text); found != nil {
		if n, err := strconv.Atoi(found[1]); err == nil && n > 1 && n <= c.MaxOutput {
			return refusedLimit, n - 1
		}
	}
	switch t := c.Thinking; {
	case t != nil && (t.Level != "" || t.Budget != nil) && says("thinking level", "thinking budget", "thinking_level", "thinking_budget",
		"thinkinglevel", "thinkingbudget"):
		return refusedEffort, 0
	case t != nil && says("thinking", "include_thoughts", "includethoughts"):
		return refusedThinking, 0
	case c.MIME != "" && says("response mime type", "response_mime_type", "responsemimetype", "response_json_schema", "responsejsonschema",
		"response_schema", "json mode"):
		return refusedSchema, 0
	case sent.Choice != nil && says("function_calling_config", "functioncallingconfig", "function calling mode", "allowed_function_names",
		"tool_config", "toolconfig", "forced function"):
		return refusedChoice, 0
	case sent.System != nil && (wire.Refused(err) == wire.RefusedSystem || says("systeminstruction", "system_instruction")):
		return refusedSystem, 0
	}
	return "", 0
}

// leaveOut remembers what was refused, and reports whether a retry without it may help.
func (c *Client) leaveOut(model string, err error, sent *request, before wire.Refusals[refused]) bool {
	part, limit := refusedPart(err, sent)
	return c.left.Learn(model, before, part, limit)
}
