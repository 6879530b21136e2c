package search

import (
	"strings"
	"time"
	"unicode/utf8"
)

// token is a run of letters or a run of digits.
type token struct {
	text    string // lower case
	number  int    // of digits, else -1
	capital bool
	before  string // what is between this token and the previous one
	from    int    // where it begins in the text
	to      int
}

// maxDateTokens limits how far into a text dates are read.
const maxDateTokens = 20_000

// tokens splits a text into the parts that dates are made of. Non-ASCII letters end a token.
func tokens(text string) []token {
	var out []token
	end := 0
	for i := 0; i < len(text) && len(out) < maxDateTokens; {
		c := text[i]
		class := classOf(c)
		if class == 0 {
			i++
			continue
		}
		j := i + 1
		for j < len(text) && classOf(text[j]) == class {
			j++
		}
		t := token{text: text[i:j], number: -1, before: text[end:i], from: i, to: j}
		if class == 'd' {
			if t.number = 0; j-i > 4 {
				t.number = 10_000 // not part of a date
			} else {
				for _, d := range []byte(text[i:j]) {
					t.number = t.number*10 + int(d-'0')
				}
			}
		} else {
			t.capital = c >= 'A' && c <= 'Z'
			t.text = strings.ToLower(t.text)
		}
		out = append(out, t)
		end, i = j, j
	}
	return out
}

func classOf(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return 'd'
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf:
		return 'l'
	}
	return 0
}

// monthOf reads the name of a month; short says that it was abbreviated.
func monthOf(w string) (m time.Month, short bool) {
	switch w {
	case "january":
		return time.January, false
	case "february":
		return time.February, false
	case "march":
		return time.March, false
	case "april":
		return time.April, false
	case "may":
		return time.May, false
	case "june":
		return time.June, false
	case "july":
		return time.July, false
	case "august":
		return time.August, false
	case "september":
		return time.September, false
	case "october":
		return time.October, false
	case "november":
		return time.November, false
	case "december":
		return time.December, false
	case "jan":
		return time.January, true
	case "feb":
		return time.February, true
	case "mar":
		return time.March, true
	case "apr":
		return time.April, true
	case "jun":
		return time.June, true
	case "jul":
		return time.July, true
	case "aug":
		return time.August, true
	case "sep", "sept":
		return time.September, true
	case "oct":
		return time.October, true
	case "nov":
		return time.November, true
	case "dec":
		return time.December, true
	}
	return 0, false
}

func weekdayOf(w string) (time.Weekday, bool) {
	switch w {
	case "sunday":
		return time.Sunday, true
	case "monday":
		return time.Monday, true
	case "tuesday":
		return time.Tuesday, true
	case "wednesday":
		return time.Wednesday, true
	case "thursday":
		return time.Thursday, true
	case "friday":
		return time.Friday, true
	case "saturday":
		return time.Saturday, true
	}
	return 0, false
}

// smallNumber reads a number written in words or digits; it returns 0 for anything else.
func smallNumber(t token) int {
	if t.number > 0 && t.number < 1000 {
		return t.number
	}
	switch t.text {
	case "a", "an", "one":
		return 1
	case "two", "couple":
		return 2
	case "three", "few":
		return 3
	case "four":
		return 4
	case "five":
		return 5
	case "six":
		return 6
	case "seven":
		return 7
	case "eight":
		return 8
	case "nine":
		return 9
	case "ten":
		return 10
	case "eleven":
		return 11
	case "twelve":
		return 12
	}
	return 0
}
