package core

import (
	"fmt"
	"strings"
	"time"
)

// Count says how many there are of a thing whose plural ends in s: 1 agent, 2 agents.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// InWords tells a duration as a person does, in its two largest units.
func InWords(d time.Duration) string {
	d = d.Round(time.Second)
	hours, minutes, seconds := int(d/time.Hour), int(d/time.Minute)%60, int(d/time.Second)%60
	var parts []string
	if hours > 0 {
		parts = append(parts, Count(hours, "hour"))
	}
	if minutes > 0 {
		parts = append(parts, Count(minutes, "minute"))
	}
	if hours == 0 && (seconds > 0 || minutes == 0) {
		parts = append(parts, Count(seconds, "second"))
	}
	return strings.Join(parts, " ")
}
