// Package reach tells what a program did not reach of the network, and how a person opens that.
//
// Layer 1, below tools: it imports core and core/jobs.
package reach

import (
	"fmt"
	"slices"
	"strings"

	"loci/core"
)

// Unreached says which hosts a program did not reach, and what would open them, in the open folder alone if one is.
func Unreached(refused []core.JobRefusal, rules core.HostRules, folder bool) string {
	where := ""
	if folder {
		where = " --folder ."
	}
	const most = 5
	var said, opens []string
	for _, r := range refused {
		why := r.Why
		if r.Rule != "" && rules != nil {
			if closed := rules.Closed(r.Rule); closed != "" {
				why, r.Rule = closed, ""
			}
		}
		if line := r.Host + ": " + why; !slices.Contains(said, line) {
			said = append(said, line)
		}
		if open := "loci permissions add allow 'fetch(" + r.Rule + ")'" + where; r.Rule != "" && !slices.Contains(opens, open) {
			opens = append(opens, open)
		}
	}
	if len(said) == 0 {
		return ""
	}
	text := "\n(Hosts that it did not reach: " + strings.Join(said[:min(len(said), most)], "; ")
	if n := len(said) - most; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	text += "."
	if len(opens) > 0 {
		text += " What helps, and only the person can do it: " + strings.Join(opens[:min(len(opens), most)], "; ")
	}
	return text + ")"
}
