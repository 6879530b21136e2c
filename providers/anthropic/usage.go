package anthropic

import (
	"encoding/json"

	"loci/core"
)

// usage is a count of tokens, with the fields that we need. Of a stream, each count holds all that came before it.
type usage struct {
	Input  *int `json:"input_tokens"`
	Output *int `json:"output_tokens"`
	Read   *int `json:"cache_read_input_tokens"`
	Write  *int `json:"cache_creation_input_tokens"`
	Lives  *struct {
		Hour *int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Details *struct {
		Thinking *int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// UnmarshalJSON implements json.Unmarshaler: a count of an unexpected type is unknown.
func (u *usage) UnmarshalJSON(data []byte) error {
	type plain usage
	if json.Unmarshal(data, (*plain)(u)) != nil {
		var input, output struct {
			Input  *int `json:"input_tokens"`
			Output *int `json:"output_tokens"`
		}
		_, _ = json.Unmarshal(data, &input), json.Unmarshal(data, &output) // unknown
		*u = usage{Input: input.Input, Output: output.Output}
	}
	return nil
}

// tally sums the usage of the requests that one answer took.
type tally struct {
	before *core.Usage // of the requests that are over
	now    *core.Usage
}

// next begins another request.
func (t *tally) next() {
	if t.now == nil {
		return
	}
	t.before, t.now = t.core(), nil
}

// add takes a cumulative count. Servers leave out what they counted before, or send it as 0.
func (t *tally) add(u *usage) {
	if u == nil || u.Input == nil && u.Output == nil {
		return
	}
	if t.now == nil {
		t.now = &core.Usage{}
	}
	n := t.now
	fresh := n.Prompt - known(n.Cached) - known(n.CacheWrite)
	more(&n.Cached, u.Read)
	more(&n.CacheWrite, u.Write)
	if u.Lives != nil && known(u.Lives.Hour) > 0 {
		more(&n.CacheWriteHour, u.Lives.Hour)
	}
	if u.Details != nil {
		more(&n.Reasoning, u.Details.Thinking)
	}
	n.Prompt = max(fresh, known(u.Input)) + known(n.Cached) + known(n.CacheWrite)
	n.Completion = max(n.Completion, known(u.Output))
	n.Total = n.Prompt + n.Completion
}

// core returns nil if nothing is reported.
func (t *tally) core() *core.Usage {
	if t.now == nil || t.before == nil {
		return orUsage(t.now, t.before)
	}
	sum := t.before.Add(*t.now)
	return &sum
}

func orUsage(a, b *core.Usage) *core.Usage {
	if a == nil {
		return b
	}
	return a
}

func known(n *int) int {
	if n == nil || *n < 0 || *n > mostTokens {
		return 0
	}
	return *n
}

// mostTokens is more than any request has.
const mostTokens = 1 << 30

// more raises a count to one that was reported.
func more(to **int, n *int) {
	if n == nil {
		return
	}
	v := max(known(*to), known(n))
	*to = &v
}
