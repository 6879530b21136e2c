package core

// Usage is what one model call cost, in tokens. A nil detail means that the provider didn't report it.
type Usage struct {
	Prompt     int  `json:"prompt"`
	Completion int  `json:"completion"`
	Total      int  `json:"total"`
	Cached     *int `json:"cached,omitempty"`
	CacheWrite *int `json:"cache_write,omitempty"`
	// CacheWriteHour is the part of CacheWrite that is kept for an hour, which costs more; nil: none.
	CacheWriteHour *int `json:"cache_write_hour,omitempty"`
	Reasoning      *int `json:"reasoning,omitempty"`
}

// Add returns the sum; a detail is known if either part knows it.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		Prompt:     u.Prompt + o.Prompt,
		Completion: u.Completion + o.Completion,
		Total:      u.Total + o.Total,
		Cached: addKnown(
			u.Cached,
			o.Cached,
		),
		CacheWrite:     addKnown(u.CacheWrite, o.CacheWrite),
		CacheWriteHour: addKnown(u.CacheWriteHour, o.CacheWriteHour),
		Reasoning:      addKnown(u.Reasoning, o.Reasoning),
	}
}

func addKnown(a, b *int) *int {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	sum := *a + *b
	return &sum
}

// EstimateTokens estimates how many tokens a text takes: one for every four ASCII characters and one for every other
// rune, since scripts outside ASCII come close to a token a rune.
func EstimateTokens(text string) int {
	ascii, other := 0, 0
	for _, r := range text {
		if r < 0x80 {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}
