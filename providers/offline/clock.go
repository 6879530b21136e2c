package offline

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// clock is what the preface of a message says: local time, zone, and the gap since the previous message.
type clock struct {
	at   time.Time // zero: no preface
	zone string
	gap  string
}

// cutPreface removes the preface from a message: a first line in brackets that contains a date.
func cutPreface(s string) (clock, string) {
	first, rest, _ := strings.Cut(s, "\n")
	line := strings.TrimSpace(first)
	if !strings.HasPrefix(line, "[") || len(line) > 2000 {
		return clock{}, s
	}
	inner := strings.Trim(line, "[]")
	c := clock{}
	for part := range strings.SplitSeq(inner, ";") {
		if gap, ok := strings.CutSuffix(strings.TrimSpace(part), " since the last message"); ok {
			c.gap = gap
		}
	}
	fields := strings.FieldsFunc(inner, func(r rune) bool { return unicode.IsSpace(r) || r == ';' || r == ',' })
	for i, f := range fields {
		if date, clock, ok := strings.Cut(f, "T"); ok && len(date) == len(time.DateOnly) { // 2026-11-23T09:15
			f = date
			fields = append(fields[:i+1:i+1], append([]string{clock[:min(5, len(clock))]}, fields[i+1:]...)...)
		}
		day, err := time.Parse(time.DateOnly, f)
		if err != nil {
			continue
		}
		c.at = day
		c.zone = zoneOf(inner)
		if i+1 < len(fields) {
			if t, err := time.Parse("15:04", fields[i+1]); err == nil {
				c.at = c.at.Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute)
				if i+2 < len(fields) && !strings.HasPrefix(fields[i+2], "(") && !strings.Contains(c.zone, fields[i+2]) {
					c.zone = strings.TrimSpace(fields[i+2] + " " + c.zone)
				}
			}
		}
		return c, rest
	}
	return clock{}, s
}

func zoneOf(s string) string {
	if i := strings.Index(s, "(UTC"); i >= 0 {
		if j := strings.IndexByte(s[i:], ')'); j >= 0 {
			return s[i : i+j+1]
		}
	}
	return ""
}

// day formats a day for answers and facts.
func day(t time.Time) string { return t.Format("Monday 2006-01-02") }

// relative finds the day meant by a phrase at the start of words: yesterday, three days ago, last Friday. n is how many
// words the phrase takes. The caller handles any preposition before it.
func (c clock) relative(ws []word) (t time.Time, n int) {
	if c.at.IsZero() || len(ws) == 0 {
		return time.Time{}, 0
	}
	word := func(i int) string {
		if i < len(ws) {
			return ws[i].low
		}
		return ""
	}
	days := func(d, n int) (time.Time, int) { return c.at.AddDate(0, 0, d), n }
	switch word(0) {
	case "yesterday":
		if listed(" morning afternoon evening night ", word(1)) {
			return days(-1, 2)
		}
		return days(-1, 1)
	case "tomorrow":
		return days(1, 1)
	case "today", "tonight":
		return days(0, 1)
	case "the", "day":
		i := 0
		if word(0) == "the" {
			i = 1
		}
		if word(i) == "day" && word(i+1) == "before" && word(i+2) == "yesterday" {
			return days(-2, i+3)
		}
		if word(i) == "day" && word(i+1) == "after" && word(i+2) == "tomorrow" {
			return days(2, i+3)
		}
	case "this":
		if listed(" morning afternoon evening ", word(1)) {
			return days(0, 2)
		}
	case "last", "next":
		return c.weekday(word(0), word(1))
	case "in":
		if d, ok := span(word(1), word(2)); ok {
			return days(d, 3)
		}
	}
	if d, ok := span(word(0), word(1)); ok && word(2) == "ago" {
		return days(-d, 3)
	}
	return time.Time{}, 0
}

func (c clock) weekday(which, name string) (time.Time, int) {
	if which == "last" && name == "night" {
		return c.at.AddDate(0, 0, -1), 2
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.ToLower(d.String()) != name {
			continue
		}
		back := (int(c.at.Weekday()) - int(d) + 7) % 7
		if which == "last" {
			if back == 0 {
				back = 7
			}
			return c.at.AddDate(0, 0, -back), 2
		}
		return c.at.AddDate(0, 0, 7-back), 2
	}
	return time.Time{}, 0
}

const numerals = ` a=1 an=1 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 thirteen=13
 fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 thirty=30 forty=40 fifty=50 sixty=60 seventy=70
 eighty=80 ninety=90 `

// span reads "three days" or "2 weeks" as days.
func span(count, unit string) (int, bool) {
	if v, ok := lookup(numerals, count); ok {
		count = v
	}
	n := number(count, "")
	if n <= 0 || n > 5000 {
		return 0, false
	}
	switch unit {
	case "day", "days":
		return n, true
	case "week", "weeks":
		return 7 * n, true
	}
	return 0, false
}

// dated replaces days named relative to now by dates; vaguer times (last spring) get the date on which they were told,
// so that they still mean something later.
func (c clock) dated(ws []word) []word {
	out := c.dates(ws)
	vague := false
	for i, w := range out {
		vague = vague || i+1 < len(out) && w.is("last", "next", "this") && listed(times, out[i+1].low)
	}
	if vague && !c.at.IsZero() {
		out = append(slices.Clone(out), made(fmt.Sprintf("(said on %s)", c.at.Format(time.DateOnly)))...)
	}
	return out
}

// dates replaces days named relative to now by dates.
func (c clock) dates(ws []word) []word {
	if c.at.IsZero() {
		return ws
	}
	var out []word
	for i := 0; i < len(ws); {
		t, n := c.relative(ws[i:])
		if n == 0 {
			out = append(out, ws[i])
			i++
			continue
		}
		lead := "on "
		if len(out) > 0 && out[len(out)-1].is("on", "by", "until", "since", "before", "after", "from", "for", "is", "was", "till") {
			lead = ""
		}
		phrase := made(lead + day(t))
		phrase[0].gap = ws[i].gap
		out = append(out, phrase...)
		i += n
	}
	return out
}

const times = " week month year weekend spring summer autumn fall winter january february march april may june july august september " +
	"october november december "

// timely reports whether a text names a time.
func timely(ws []word) bool {
	for _, w := range ws {
		_, numeral := lookup(numerals, w.low)
		if w.number() || numeral && len(w.low) > 2 || listed(times, w.low) ||
			listed(" noon midnight ago tomorrow yesterday today christmas easter birthday daily weekly monthly ", w.low) {
			return true
		}
		for d := time.Sunday; d <= time.Saturday; d++ {
			name := strings.ToLower(d.String())
			if w.low == name || w.low == name+"s" {
				return true
			}
		}
	}
	return false
}
