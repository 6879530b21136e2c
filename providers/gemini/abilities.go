package gemini

import (
	"slices"
	"strconv"
	"strings"
)

// abilities is what a model takes.
type abilities struct {
	Thinks      bool
	Levels      []string // of thinking; none: it has a budget, or can't be told
	LeastBudget int      // of thinking, in tokens
	MostBudget  int
	Off         bool // a budget of 0 turns thinking off
	Signs       bool // a call goes back only with its signature
	Shows       bool // a function response may hold pictures
	Structures  bool // takes a schema of the answer beside tools
	NoTools     bool
	Hidden      string // why it doesn't chat
	Embeds      bool
}

var allLevels = []string{"minimal", "low", "medium", "high"}

// assumed is what is known of a model by its name. As of 25 November 2026.
func assumed(name string) abilities {
	lower := strings.ToLower(name)
	words := strings.FieldsFunc(lower, func(r rune) bool { return strings.ContainsRune("-_/@: ", r) })
	has := func(any ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(any, w) })
	}
	version, isGemini := parseVersion(words)
	if !isGemini && (has("gemma", "learnlm", "aqa") || slices.ContainsFunc(words, isOldFamily)) {
		return abilities{NoTools: has("gemma") && has("3", "3n"), Hidden: otherKind(has)}
	}
	can := abilities{Thinks: true, Signs: true, Shows: true, Structures: true, Hidden: otherKind(has), Embeds: has("embedding")}
	pro, lite := has("pro"), has("lite")
	switch {
	case version == 0, version >= 37: // the newest, and names that say nothing
		can.Levels = allLevels[1:]
	case version >= 31 && pro:
		can.Levels = allLevels[1:]
	case version >= 30 && pro:
		can.Levels = []string{"low", "high"}
	case version >= 30:
		can.Levels = allLevels
	case version >= 25:
		can = abilities{Thinks: true, LeastBudget: 1, MostBudget: 24_576, Off: true, Hidden: can.Hidden, Embeds: can.Embeds}
		if lite {
			can.LeastBudget = 512
		}
		if pro {
			can.LeastBudget, can.MostBudget, can.Off = 128, 32_768, false
		}
	default:
		can = abilities{Hidden: can.Hidden, Embeds: can.Embeds}
	}
	return can
}

func isOldFamily(word string) bool {
	return strings.HasPrefix(word, "gemma") || word == "bison" || word == "gecko"
}

// otherKind says why a model with such a name doesn't chat.
func otherKind(has func(...string) bool) string {
	switch {
	case has("embedding"):
		return "it makes embeddings"
	case has("image", "imagen", "veo", "lyria"):
		return "it makes images, videos or music"
	case has("tts", "audio", "live"):
		return "it speaks"
	}
	return ""
}

// parseVersion reads 25 from gemini, 2.5, flash; 0 is none. It reports false for a name of no Gemini.
func parseVersion(words []string) (version int, ok bool) {
	at := slices.Index(words, "gemini")
	if at < 0 {
		return 0, false
	}
	for _, word := range words[at+1:] {
		n, err := strconv.ParseFloat(word, 64)
		if err == nil && n > 0 && n < 100 {
			return int(n*10 + .5), true
		}
	}
	return 0, true
}

// budgets is how many tokens each effort may think, for models that are told so.
var budgets = map[string]int{"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 32_768}

// budget returns how many tokens an effort may think.
func (a abilities) budget(effort string) int {
	if effort == "none" && a.Off {
		return 0
	}
	return min(max(budgets[effort], a.LeastBudget), a.MostBudget)
}

// level returns the level that is closest to an effort, from below where there is one; "" for a model without levels.
func (a abilities) level(effort string) string {
	at := slices.Index(allLevels, effort)
	switch effort {
	case "none":
		at = 0
	case "xhigh", "max":
		at = len(allLevels) - 1
	}
	for ; at >= 0; at-- {
		if slices.Contains(a.Levels, allLevels[at]) {
			return allLevels[at]
		}
	}
	if len(a.Levels) > 0 {
		return a.Levels[0]
	}
	return ""
}
