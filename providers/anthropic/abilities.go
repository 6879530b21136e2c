package anthropic

import (
	"slices"
	"strconv"
	"strings"
)

// abilities is what a model takes.
type abilities struct {
	Adaptive bool     // thinking of type adaptive
	Budget   bool     // thinking of type enabled, with a budget
	Off      bool     // thinking can be turned off
	Between  bool     // thinking can be limited to the time between tools
	Always   bool     // thinks unless it is turned off, and keeps its thoughts to itself unless asked
	Efforts  []string // of output_config
	Sampling bool     // temperature
	Forced   bool     // a forced tool
	Binds    bool     // its thinking is valid only after an unchanged prefix
	Output   int      // limit of an answer, in tokens
	Foreign  bool     // not one of Anthropic's
}

// thinks reports whether the model can think at all.
func (a abilities) thinks() bool { return a.Adaptive || a.Budget }

var allEfforts = []string{"low", "medium", "high", "xhigh", "max"}

// assumed is what is known of a model by its name, for servers whose listing doesn't say. As of 21 November 2026.
func assumed(name string) abilities {
	line, version, ok := parseName(name)
	if !ok { // another vendor's model: what these servers commonly take, and only on request
		return abilities{Budget: true, Off: true, Sampling: true, Forced: true, Output: 32_000, Foreign: true}
	}
	above := line == "fable" || line == "mythos"
	switch {
	case version == 0, version > 55, version == 55 && line == "opus", above && version > 50: // the newest are the strictest
		return abilities{Adaptive: true, Always: true, Efforts: allEfforts, Binds: true, Output: 128_000}
	case version == 55:
		return abilities{
			Adaptive: true, Always: true, Off: line == "haiku", Between: line == "sonnet", Efforts: allEfforts, Forced: true, Binds: true,
			Output: 128_000,
		}
	case version >= 50:
		return abilities{Adaptive: true, Always: true, Off: !above, Efforts: allEfforts, Forced: true, Output: 128_000}
	case version >= 47:
		return abilities{Adaptive: true, Off: true, Efforts: allEfforts, Forced: true, Output: 64_000}
	case version == 46:
		return abilities{
			Adaptive: true, Budget: true, Off: true, Efforts: []string{
				"low", "medium", "high",
				"max",
			}, Sampling: true, Forced: true, Output: 64_000,
		}
	case version >= 37:
		a := abilities{Budget: true, Off: true, Sampling: true, Forced: true, Output: 32_000}
		if version == 45 && line == "opus" {
			a.Efforts = allEfforts[:3]
		}
		return a
	case version == 35:
		return abilities{Sampling: true, Forced: true, Output: 8_192}
	}
	return abilities{Sampling: true, Forced: true, Output: 4_096}
}

// parseName reads the line and the version (45 for 4.5, 0 for none) of a name like claude-opus-4-5-20251101,
// claude-3-5-sonnet or us.anthropic.claude-sonnet-5-v1:0. It reports false for a name of no Claude.
func parseName(name string) (line string, version int, ok bool) {
	_, rest, ok := strings.Cut(strings.ToLower(name), "claude")
	if !ok {
		return "", 0, false
	}
	parts := 0
	for _, word := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune("-._@: ", r) }) {
		n, err := strconv.Atoi(word)
		switch {
		case err == nil && len(word) <= 2 && parts < 2:
			version, parts = version+n*[]int{10, 1}[parts], parts+1
		case err == nil, len(word) > 1 && word[0] == 'v' && word[1] >= '0' && word[1] <= '9': // a date, or the version of a deployment
			return line, version, true
		case line == "":
			line = word
		}
	}
	return line, version, true
}

// capabilities is what a listing says of a model.
type capabilities struct {
	Thinking *struct {
		Types map[string]capability `json:"types"`
	} `json:"thinking"`
	Effort map[string]any `json:"effort"`
	Images *capability    `json:"image_input"`
}

type capability struct {
	Supported bool `json:"supported"`
}

// listed corrects what was assumed of a model by what its listing says.
func (a abilities) listed(c *capabilities, output int) abilities {
	if output > 0 {
		a.Output = output
	}
	if c == nil {
		return a
	}
	if c.Thinking != nil {
		types := c.Thinking.Types
		a.Adaptive, a.Budget = types["adaptive"].Supported, types["enabled"].Supported
		a.Between, a.Off = types["between_tools"].Supported, types["disabled"].Supported || !a.Always
	}
	if c.Effort != nil {
		a.Efforts = nil
		for _, e := range allEfforts {
			if m, ok := c.Effort[e].(map[string]any); ok && m["supported"] == true {
				a.Efforts = append(a.Efforts, e)
			}
		}
	}
	return a
}

// effort returns the supported effort that is closest to a wanted one, from below where there is one; "" if none is.
func (a abilities) effort(wanted string) string {
	at := slices.Index(allEfforts, wanted)
	if at < 0 { // none and minimal
		at = 0
	}
	for ; at >= 0; at-- {
		if slices.Contains(a.Efforts, allEfforts[at]) {
			return allEfforts[at]
		}
	}
	if len(a.Efforts) > 0 {
		return a.Efforts[0]
	}
	return ""
}

// budgets is how many tokens each effort may think, for models that are told so.
var budgets = map[string]int{"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 32_000}

// leastBudget is the smallest that is taken.
const leastBudget = 1024
