package search

import (
	"slices"
	"strings"
	"unicode"
)

// leadingTime reads a time that stands alone in brackets at the start of a text. It returns the minute it names, in
// local clock time, and where the text continues.
func leadingTime(text string) (minute int64, rest int, ok bool) {
	start := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	if start == len(text) || text[start] != '(' && text[start] != '[' {
		return 0, 0, false
	}
	closing := byte(')')
	if text[start] == '[' {
		closing = ']'
	}
	const longest = 64
	end := strings.IndexByte(text[start:min(len(text), start+longest)], closing)
	if end < 0 {
		return 0, 0, false
	}
	t := tokens(text[start+1 : start+end])
	for i := range t { // 2023-05-08T13:56
		if t[i].text == "t" && i+1 < len(t) && t[i].before == "" {
			t = slices.Delete(t, i, i+1)
			break
		}
	}
	c := &calendar{t: t, ref: NoDay}
	day, clock := NoDay, -1
	for i := 0; i < len(t); {
		if m, found := c.at(i); found && m.month == 0 && m.span.days() == 1 && day == NoDay {
			day, i = m.span.From, m.next
			continue
		}
		if m, next := readClock(t, i); next > i && (clock < 0 || t[i].before == "+" || t[i].before == "-") {
			if clock < 0 { // otherwise it is the offset from UTC
				clock = m
			}
			i = next
			continue
		}
		if !filler(t[i].text) {
			return 0, 0, false
		}
		i++
	}
	if day == NoDay {
		return 0, 0, false
	}
	return int64(day)*1440 + int64(max(clock, 0)), start + end + 1, true
}

// readClock reads 1:56 pm, 13:56, 13:56:07 and 1 pm as a minute of the day.
func readClock(t []token, i int) (minute, next int) {
	hour := t[i].number
	if hour < 0 || hour > 24 {
		return 0, i
	}
	minute, next = 0, i+1
	if next < len(t) && t[next].before == ":" && t[next].number >= 0 && t[next].number < 60 {
		minute, next = t[next].number, next+1
		for next < len(t) && (t[next].before == ":" || t[next].before == ".") && t[next].number >= 0 {
			next++
		}
	} else if next >= len(t) || t[next].text != "am" && t[next].text != "pm" {
		return 0, i
	}
	if next < len(t) && (t[next].text == "am" || t[next].text == "pm") {
		if hour %= 12; t[next].text == "pm" {
			hour += 12
		}
		next++
	}
	return hour%24*60 + minute, next
}

func filler(w string) bool {
	if _, ok := weekdayOf(w); ok {
		return true
	}
	switch w {
	case "on", "at", "the", "utc", "gmt", "z", "sun", "mon", "tue", "wed", "thu", "fri", "sat":
		return true
	}
	return false
}

// DayOfMinute returns the day of a minute since 1970.
func DayOfMinute(minute int64) int { return int(floorDiv(minute, 1440)) }
