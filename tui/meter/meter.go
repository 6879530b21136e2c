// Package meter draws what fills a model's context window, for both the chat
// and the command line. It knows only numbers and a width: no colours, no
// terminal.
package meter

import (
	"fmt"
	"strconv"
	"strings"

	"loci/daemon/api"
)

const (
	nameWidth   = 9
	tokensWidth = 11
	shareWidth  = 6
	mostBar     = 40
	leastBar    = 8
)

// part is a row of the overview.
type part struct {
	name   string
	tokens int
}

// parts are what a request is made of. Parts that only some agents have are
// left out when they are empty.
func parts(w api.ContextWindow) []part {
	out := []part{
		{"system", w.NumTokensSystem + w.NumTokensToolUsageRules + w.NumTokensExternalMemorySummary},
		{"memory", w.NumTokensCoreMemory + w.NumTokensMemoryFilesystem},
	}
	out = append(out, part{"tools", w.NumTokensFunctionsDefinitions})
	if w.NumTokensDirectories > 0 {
		out = append(out, part{"files", w.NumTokensDirectories})
	}
	if w.NumTokensSummaryMemory > 0 {
		out = append(out, part{"summary", w.NumTokensSummaryMemory})
	}
	return append(out, part{"messages", w.NumTokensMessages})
}

// Line says how full the window is.
func Line(w api.ContextWindow) string {
	return fmt.Sprintf("%s of %s tokens (%s) · %s", grouped(w.ContextWindowSizeCurrent), grouped(w.ContextWindowSizeMax),
		Share(w.ContextWindowSizeCurrent, w.ContextWindowSizeMax), counted(w.NumMessages))
}

// Rows are the parts, each with a bar and its share if the width has room for
// them.
func Rows(w api.ContextWindow, width int) []string {
	bar := min(width-nameWidth-tokensWidth-shareWidth, mostBar)
	free := max(w.ContextWindowSizeMax-w.ContextWindowSizeCurrent, 0)
	var out []string
	for _, p := range append(parts(w), part{"free", free}) {
		row := fmt.Sprintf("%-*s", nameWidth, p.name)
		switch {
		case bar >= leastBar:
			row += drawn(p.tokens, w.ContextWindowSizeMax, bar)
		case bar < 0: // room for the number only
			out = append(out, row+fmt.Sprintf("%*s", width-nameWidth, grouped(p.tokens)))
			continue
		}
		out = append(out, row+fmt.Sprintf("%*s%*s", tokensWidth, grouped(p.tokens), shareWidth, Share(p.tokens, w.ContextWindowSizeMax)))
	}
	return out
}

// drawn is a bar. Anything above zero gets at least one mark.
func drawn(tokens, most, width int) string {
	full := 0
	if most > 0 && tokens > 0 {
		full = max(1, min((tokens*width+most/2)/most, width))
	}
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// Share is the percentage of the window that tokens take up.
func Share(tokens, most int) string {
	if most <= 0 {
		return "-"
	}
	percent := (100*tokens + most/2) / most
	if percent == 0 && tokens > 0 {
		return "<1%"
	}
	return strconv.Itoa(percent) + "%"
}

func counted(messages int) string {
	if messages == 1 {
		return "1 message"
	}
	return strconv.Itoa(messages) + " messages"
}

// grouped writes a number with a comma between thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
