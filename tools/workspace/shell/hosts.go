package shell

import (
	"fmt"
	"slices"
	"strings"

	"loci/core"
)

// network is what a line may reach: hosts that rules of permission allow. Where none does, its names are noted nevertheless.
func network(rules core.HostRules) *core.JobNetwork {
	if rules == nil {
		return nil
	}
	return &core.JobNetwork{Allows: rules.Allows}
}

// unreached says which hosts a line did not reach, and what would open them.
func unreached(refused []core.JobRefusal, rules core.HostRules) string {
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
		if open := "loci permissions add allow 'fetch(" + r.Rule + ")' --folder ."; r.Rule != "" && !slices.Contains(opens, open) {
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
