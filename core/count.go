package core

import "fmt"

// Count says how many there are of a thing whose plural ends in s: 1 agent, 2 agents.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
