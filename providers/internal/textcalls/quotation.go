package textcalls

import (
	"strings"
	"unicode"
)

// quotation follows the quotation marks of a text. Only the outermost quotation counts.
type quotation struct {
	closers string // the marks that end the quotation that is open
	mayEnd  bool   // the last character ended it, unless a letter follows: then it was an apostrophe
	begun   bool   // the last character was ' and began it, unless a digit follows
}

func (q *quotation) open() bool { return q.closers != "" }

// single reports whether the marks of the open quotation may be apostrophes.
func (q *quotation) single() bool { return q.closers == "'" || q.closers == "’" }

// paragraph ends what can be an apostrophe as well; other quotations go on behind a blank line.
func (q *quotation) paragraph() {
	if q.single() {
		*q = quotation{}
	}
}

// quote takes the next character. code tells whether it stands in code, where no mark is one.
func (q *quotation) quote(r, prev rune, code func() bool) {
	if q.mayEnd && !unicode.IsLetter(r) || q.begun && unicode.IsDigit(r) {
		q.closers = ""
	}
	q.mayEnd, q.begun = false, false
	const marks = `"'“”„‘’«»‹›「」『』`
	if !strings.ContainsRune(marks, r) || code() {
		return
	}
	if q.open() {
		if strings.ContainsRune(q.closers, r) {
			if q.single() {
				q.mayEnd = true
			} else {
				q.closers = ""
			}
		}
		return
	}
	switch r {
	case '“':
		q.closers = "”"
	case '„':
		q.closers = `“”"`
	case '‘':
		q.closers = "’"
	case '«':
		q.closers = "»"
	case '‹':
		q.closers = "›"
	case '「':
		q.closers = "」"
	case '『':
		q.closers = "』"
	case '"', '\'', '”':
		if begins(prev) {
			q.closers, q.begun = string(r), r == '\''
		}
	case '»':
		if begins(prev) {
			q.closers = "«»"
		}
	}
}

// begins reports whether a mark behind a character begins a quotation, where the same mark ends one.
func begins(prev rune) bool {
	switch {
	case prev == 0 || unicode.IsSpace(prev):
		return true
	case unicode.In(prev, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai): // written without spaces
		return true
	}
	return !unicode.IsLetter(prev) && !unicode.IsNumber(prev) && !strings.ContainsRune(".,!?;)]}%…'\"”’»`", prev)
}
