package memory

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// quiet is how long a pause must be for the preface to mention it.
const quiet = time.Hour

// Preface returns the line sent before the text of a user message: the local time in now's zone, how long ago the
// previous message was if more than an hour (last zero: there was none), and the folder if it differs from lastFolder
// (folder empty: unknown).
func Preface(now, last time.Time, folder, lastFolder string) string {
	parts := []string{now.Format("Monday 2006-01-02 15:04") + zone(now)}
	if gap := now.Sub(last); !last.IsZero() && gap > quiet {
		parts = append(parts, span(gap)+" since the last message")
	}
	if folder != "" && folder != lastFolder {
		parts = append(parts, "folder "+oneLine(folder))
	}
	return "[" + strings.Join(parts, "; ") + "]"
}

// zone writes the zone's short name, if it has one, and its offset from UTC.
func zone(t time.Time) string {
	name, _ := t.Zone()
	switch {
	case name == "UTC":
		return " UTC"
	case name == "" || strings.ContainsAny(name[:1], "+-0123456789"):
		return t.Format(" (UTC-07:00)")
	default:
		return " " + name + t.Format(" (UTC-07:00)")
	}
}

// span writes a duration of at least an hour in its two largest units.
func span(d time.Duration) string {
	days, hours, minutes := int(d/(24*time.Hour)), int(d/time.Hour)%24, int(d/time.Minute)%60
	if days > 0 {
		return join(count(days, "day"), count(hours, "hour"))
	}
	return join(count(hours, "hour"), count(minutes, "minute"))
}

func count(n int, unit string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + unit
	default:
		return fmt.Sprintf("%d %ss", n, unit)
	}
}

func join(large, small string) string {
	if small == "" {
		return large
	}
	return large + " " + small
}

// oneLine keeps an untrusted name from looking like lines of the preface itself.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
