package search

import (
	"strings"
	"time"
)

// Span is a range of days, both ends included, counted from 1 January 1970.
type Span struct{ From, To int }

func (s Span) days() int { return s.To - s.From + 1 }

func (s Span) overlaps(o Span) bool { return s.From <= o.To && o.From <= s.To }

// mention is a time named in a text: a span, or, without a year, a day or month of every year.
type mention struct {
	span  Span
	month time.Month // set if no year was named
	day   int        // 0: the whole month
	first int        // the tokens it was read from
	next  int
}

// NoDay stands for an unknown day.
const NoDay = -1 << 40

// maxMentions limits how many times are read from one text.
const maxMentions = 16

// dayOf returns the day number of a calendar date.
func dayOf(year int, month time.Month, day int) int {
	seconds := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix()
	return int(seconds / 86400) // exact: midnight UTC
}

// DayOf returns the day of a time in its own zone.
func DayOf(t time.Time) int { return dayOf(t.Date()) }

func dateOf(day int) time.Time { return time.Unix(int64(day)*86400, 0).UTC() }

func weekday(day int) time.Weekday { return dateOf(day).Weekday() }

// calendar reads times from tokens. ref is the day that "yesterday" is relative to, NoDay if there is none.
type calendar struct {
	t   []token
	ref int
}

// mentions returns the times named in a text, in order.
func (c *calendar) mentions() []mention {
	var out []mention
	for i := 0; i < len(c.t) && len(out) < maxMentions; {
		m, ok := c.at(i)
		if !ok || m.span.From > m.span.To {
			i++
			continue
		}
		m.first = i
		out = append(out, m)
		i = max(m.next, i+1)
	}
	return out
}

func (c *calendar) at(i int) (mention, bool) {
	if c.t[i].number >= 0 {
		return c.numeric(i)
	}
	if month, short := monthOf(c.t[i].text); month != 0 {
		return c.month(i, month, short)
	}
	if c.ref == NoDay {
		return mention{}, false
	}
	return c.relative(i)
}

func (c *calendar) get(i int) token {
	if i < 0 || i >= len(c.t) {
		return token{number: -1}
	}
	return c.t[i]
}

func isYear(n int) bool { return n >= 1900 && n < 2100 }

func isDay(n int) bool { return n >= 1 && n <= 31 }

// numeric reads 2023-05-07, 5/7/2023, 7 May 2023, 7th of May, 2023 and "three weeks ago" written with digits.
func (c *calendar) numeric(i int) (mention, bool) {
	a, b, d := c.t[i], c.get(i+1), c.get(i+2)
	if b.number >= 0 && d.number >= 0 && b.before == d.before && (b.before == "-" || b.before == "/" || b.before == ".") {
		switch {
		case isYear(a.number) && validDate(a.number, b.number, d.number):
			return one(dayOf(a.number, time.Month(b.number), d.number), i+3), true
		case isYear(d.number) && b.before != "." && validDate(d.number, a.number, b.number):
			return one(dayOf(d.number, time.Month(a.number), b.number), i+3), true
		case isYear(d.number) && validDate(d.number, b.number, a.number): // day first: dots, or no such month
			return one(dayOf(d.number, time.Month(b.number), a.number), i+3), true
		}
		return mention{}, false
	}
	next := i + 1
	switch c.get(next).text {
	case "st", "nd", "rd", "th":
		if c.get(next).before == "" {
			next++
		}
	}
	if c.get(next).text == "of" {
		next++
	}
	if month, _ := monthOf(c.get(next).text); month != 0 && isDay(a.number) {
		return c.dayOfMonth(a.number, month, next+1)
	}
	if isYear(a.number) && len(a.text) == 4 && !measured(c.get(i+1)) && !strings.HasSuffix(a.before, "$") {
		return mention{span: Span{dayOf(a.number, 1, 1), dayOf(a.number, 12, 31)}, next: i + 1}, true
	}
	if c.ref != NoDay {
		return c.ago(i)
	}
	return mention{}, false
}

// measured reports whether the number before counts something and so isn't a year.
func measured(t token) bool {
	switch t.text {
	case "km", "miles", "dollars", "people", "calories", "steps", "words", "euros", "pounds", "meters", "metres":
		return true
	}
	return false
}

func validDate(year, month, day int) bool {
	if month < 1 || month > 12 || !isDay(day) {
		return false
	}
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() == day
}

func one(day, next int) mention { return mention{span: Span{day, day}, next: next} }

// dayOfMonth reads the year that may follow a day and a month.
func (c *calendar) dayOfMonth(day int, month time.Month, next int) (mention, bool) {
	if y := c.get(next); isYear(y.number) && len(y.text) == 4 {
		if !validDate(y.number, int(month), day) {
			return mention{}, false
		}
		return one(dayOf(y.number, month, day), next+1), true
	}
	if !validDate(2000, int(month), day) {
		return mention{}, false
	}
	m := mention{month: month, day: day, next: next}
	if c.ref != NoDay {
		y := nearestYear(c.ref, month, day)
		at := dayOf(y, month, day)
		m.span = Span{at, at}
	}
	return m, true
}

// nearestYear returns the year in which a month's middle, or a day, is nearest to the reference.
func nearestYear(ref int, month time.Month, day int) int {
	if day == 0 {
		day = 15
	}
	year := dateOf(ref).Year()
	best, far := year, 1<<30
	for _, y := range []int{year, year - 1, year + 1} {
		d := dayOf(y, month, day) - ref
		if d < 0 {
			d = -d
		}
		if d < far {
			best, far = y, d
		}
	}
	return best
}

// month reads May 7, May 7th, 2023, May 2023 and May alone.
func (c *calendar) month(i int, month time.Month, short bool) (mention, bool) {
	next := c.get(i + 1)
	if next.number >= 0 && len(next.text) == 4 && isYear(next.number) {
		return mention{span: wholeMonth(next.number, month), next: i + 2}, true
	}
	if isDay(next.number) && len(next.text) <= 2 && !strings.ContainsAny(next.before, ":;()!?") && c.get(i+2).before != ":" {
		after := i + 2
		switch c.get(after).text {
		case "st", "nd", "rd", "th":
			if c.get(after).before == "" {
				after++
			}
		}
		if c.t[i].capital || !ambiguous(c.t[i].text) || !measured(c.get(after)) {
			return c.dayOfMonth(next.number, month, after)
		}
	}
	if by, after, ok := c.yearStep(i + 1); ok && c.ref != NoDay {
		return mention{span: wholeMonth(dateOf(c.ref).Year()+by, month), next: after}, true
	}
	by, stepped := direction(c.get(i - 1).text)
	if by == 0 && (short || ambiguous(c.t[i].text) && (!c.t[i].capital || !introduces(c.get(i-1).text))) {
		return mention{}, false
	}
	m := mention{month: month, next: i + 1}
	switch {
	case c.ref == NoDay:
	case stepped:
		m.month, m.span = 0, stepMonth(c.ref, month, by)
	default:
		m.span = wholeMonth(nearestYear(c.ref, month, 0), month)
	}
	return m, true
}

// yearStep reads "last year" and "of this year" after a month.
func (c *calendar) yearStep(i int) (by, next int, ok bool) {
	if c.get(i).text == "of" {
		i++
	}
	by, ok = direction(c.get(i).text)
	return by, i + 2, ok && c.get(i+1).text == "year"
}

// direction reads the words that step from today to another time.
func direction(w string) (by int, ok bool) {
	switch w {
	case "last", "past", "previous":
		return -1, true
	case "this":
		return 0, true
	case "next":
		return 1, true
	}
	return 0, false
}

// stepMonth returns the latest such month that is over, this year's, or the next to begin.
func stepMonth(ref int, month time.Month, by int) Span {
	year := dateOf(ref).Year()
	m := wholeMonth(year, month)
	switch {
	case by < 0 && m.To >= ref:
		return wholeMonth(year-1, month)
	case by > 0 && m.From <= ref:
		return wholeMonth(year+1, month)
	}
	return m
}

// ambiguous reports the months that are also other words.
func ambiguous(w string) bool { return w == "may" || w == "march" || w == "mar" }

func introduces(w string) bool {
	switch w {
	case "in",
		"last",
		"this",
		"next",
		"since",
		"until",
		"till",
		"by",
		"early",
		"late",
		"mid",
		"of",
		"during",
		"around",
		"from",
		"before",
		"after",
		"for":
		return true
	}
	return false
}

func wholeMonth(year int, month time.Month) Span {
	return Span{dayOf(year, month, 1), dayOf(year, month+1, 1) - 1}
}

func week(day int) Span {
	monday := day - (int(weekday(day))+6)%7
	return Span{monday, monday + 6}
}

// relative reads times that are relative to the reference day.
func (c *calendar) relative(i int) (mention, bool) {
	w := c.t[i].text
	switch w {
	case "today", "tonight":
		return one(c.ref, i+1), true
	case "yesterday":
		if c.get(i-1).text == "before" && c.get(i-2).text == "day" {
			return one(c.ref-2, i+1), true
		}
		return one(c.ref-1, i+1), true
	case "tomorrow":
		return one(c.ref+1, i+1), true
	case "last", "past", "previous", "this", "next":
		return c.step(i)
	}
	return c.ago(i)
}

// step reads last Friday, this weekend, next month, last summer and the last three weeks.
func (c *calendar) step(i int) (mention, bool) {
	by, _ := direction(c.t[i].text)
	unit := c.get(i + 1)
	if day, ok := weekdayOf(unit.text); ok {
		return one(stepWeekday(c.ref, day, by), i+2), true
	}
	today := dateOf(c.ref)
	m := mention{next: i + 2}
	switch unit.text {
	case "night":
		if by == 1 {
			return mention{}, false
		}
		return one(c.ref+by, i+2), true
	case "week":
		m.span = week(c.ref + 7*by)
	case "weekend":
		w := week(c.ref + 7*by)
		m.span = Span{w.To - 1, w.To}
	case "month":
		first := time.Date(today.Year(), today.Month()+time.Month(by), 1, 0, 0, 0, 0, time.UTC)
		m.span = wholeMonth(first.Year(), first.Month())
	case "year":
		y := today.Year() + by
		m.span = Span{dayOf(y, 1, 1), dayOf(y, 12, 31)}
	case "spring", "summer", "fall", "autumn", "winter":
		m.span = season(c.ref, unit.text, by)
	default:
		n := smallNumber(unit)
		days := unitDays(c.get(i + 2).text)
		if n == 0 || days == 0 || by == 0 {
			return mention{}, false
		}
		m.next = i + 3
		if m.span = (Span{c.ref - n*days, c.ref}); by > 0 {
			m.span = Span{c.ref, c.ref + n*days}
		}
	}
	return m, true
}

// stepWeekday returns the nearest such weekday before, on or after the reference.
func stepWeekday(ref int, day time.Weekday, by int) int {
	ahead := (int(day) - int(weekday(ref)) + 7) % 7
	switch {
	case by < 0:
		return ref + ahead - 7
	case by > 0 && ahead == 0:
		return ref + 7
	}
	return ref + ahead
}

// season returns the last, the current or the next one, for the northern hemisphere.
func season(ref int, name string, by int) Span {
	first := map[string]time.Month{
		"spring": time.March, "summer": time.June, "fall": time.September, "autumn": time.September, "winter": time.December,
	}[name]
	year := dateOf(ref).Year()
	span := func(y int) Span { return Span{dayOf(y, first, 1), dayOf(y, first+3, 1) - 1} }
	switch {
	case by < 0:
		for y := year; ; y-- {
			if s := span(y); s.To < ref {
				return s
			}
		}
	case by > 0:
		for y := year - 1; ; y++ {
			if s := span(y); s.From > ref {
				return s
			}
		}
	}
	for y := year - 1; ; y++ {
		if s := span(y); s.To >= ref {
			return s
		}
	}
}

func unitDays(w string) int {
	switch strings.TrimSuffix(w, "s") {
	case "day":
		return 1
	case "week":
		return 7
	case "month":
		return 30
	case "year":
		return 365
	}
	return 0
}

// ago reads three weeks ago, a couple of days ago, a few months back; the larger the unit, the wider the span.
func (c *calendar) ago(i int) (mention, bool) {
	n, next := smallNumber(c.t[i]), i+1
	if n == 0 {
		return mention{}, false
	}
	if w := c.get(next).text; n == 1 && (w == "few" || w == "couple") {
		n, next = smallNumber(c.get(next)), next+1
	}
	if c.get(next).text == "of" {
		next++
	}
	days := unitDays(c.get(next).text)
	if w := c.get(next + 1).text; days == 0 || w != "ago" && w != "back" && w != "earlier" {
		return mention{}, false
	}
	at := c.ref - n*days
	slack := map[int]int{1: 0, 7: 3, 30: 15, 365: 182}[days]
	return mention{span: Span{at - slack, at + slack}, next: next + 2}, true
}
