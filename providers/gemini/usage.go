package gemini

import "loci/core"

// usage is a count of tokens, with the fields that we need. Of a stream, each count holds all that came before it.
type usage struct {
	Prompt     *int `json:"promptTokenCount"`
	ToolPrompt *int `json:"toolUsePromptTokenCount"`
	Cached     *int `json:"cachedContentTokenCount"`
	Answer     *int `json:"candidatesTokenCount"`
	Thoughts   *int `json:"thoughtsTokenCount"`
}

// mostTokens is more than any request has.
const mostTokens = 1 << 30

func known(n *int) int {
	if n == nil || *n < 0 || *n > mostTokens {
		return 0
	}
	return *n
}

func detail(n *int) *int {
	if n == nil {
		return nil
	}
	v := known(n)
	return &v
}

// core returns nil if nothing is reported. What is 0 is not reported by the service, so a detail that is missing is unknown.
func (u *usage) core() *core.Usage {
	if u == nil || u.Prompt == nil && u.Answer == nil {
		return nil
	}
	out := &core.Usage{
		Prompt: known(u.Prompt) + known(u.ToolPrompt), Completion: known(u.Answer) + known(u.Thoughts),
		Cached: detail(u.Cached), Reasoning: detail(u.Thoughts),
	}
	out.Total = out.Prompt + out.Completion
	return out
}

// plus adds the usage of a request that was made before.
func plus(before, now *core.Usage) *core.Usage {
	if before == nil {
		return now
	}
	if now == nil {
		return before
	}
	sum := before.Add(*now)
	return &sum
}
