package anthropic

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
	refusedSampling refused = "temperature"
	refusedChoice   refused = "tool_choice"   // that a tool must be called, or which one
	refusedBinding  refused = "block_binding" // what to do with thinking that doesn't fit its past
	refusedEffort   refused = "output_config"
	refusedFormat   refused = "output_config.format"
	refusedThinking refused = "thinking"
	refusedMarks    refused = "cache_control"
	refusedLimit    refused = "max_tokens" // it was too high
)

// highest finds the highest limit in words like "max_tokens: 64000 > 8192, which is the maximum".
var highest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`max_tokens[^0-9]*[0-9]+ > ([0-9]+)`) })

// refusedPart returns the part of a request that an error complains of, and nothing if the request didn't have it. limit is
// what the server allows of an answer that was to be too long.
func refusedPart(err error, sent *request) (part refused, limit int) {
	if core.KindOf(err) != core.Invalid {
		return "", 0
	}
	text := strings.ToLower(err.Error())
	says := func(words ...string) bool { return wire.Says(text, words...) }
	if found := highest().FindStringSubmatch(text); found != nil {
		n, err := strconv.Atoi(found[1])
		if err == nil && n > 0 && n < sent.MaxTokens {
			return refusedLimit, n
		}
	}
	switch {
	case says("invalid `signature`", "cannot be modified"): // what is wrong is the history
		return "", 0
	case sent.Thinking != nil && sent.Thinking.Binding != nil && says("block_binding", "prefix_mismatch", "anthropic-beta",
		"thinking-binding"):
		return refusedBinding, 0
	case sent.Temperature != nil && says("temperature", "top_p", "sampling"):
		return refusedSampling, 0
	case sent.Choice != nil && sent.Choice.Type != "auto" && says("tool_choice", "tool choice", "forces tool use", "forced tool"):
		return refusedChoice, 0
	case sent.Output != nil && sent.Output.Format != nil && says("format", "schema", "structured output", "grammar"):
		return refusedFormat, 0
	case sent.Output != nil && says("output_config", "effort"):
		return refusedEffort, 0
	case sent.Thinking != nil && says("thinking", "adaptive", "budget_tokens"):
		return refusedThinking, 0
	case says("cache_control"):
		return refusedMarks, 0
	}
	return "", 0
}

// leaveOut remembers what was refused, and reports whether a retry without it may help.
func (c *Client) leaveOut(model string, err error, sent *request, before wire.Refusals[refused]) bool {
	part, limit := refusedPart(err, sent)
	return c.left.Learn(model, before, part, limit)
}
