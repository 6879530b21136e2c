package textcalls

import "strings"

// mostLooked is the length of an answer up to which it is looked through for calls in other forms.
const mostLooked = 64 << 10

// In returns the form in which a whole answer has calls that nobody read.
func In(text string, tools []Tool, bare bool) (Form, bool) {
	if len(text) > mostLooked || len(tools) == 0 {
		return "", false
	}
	for _, form := range Forms() {
		if !form.marked(text) {
			continue
		}
		r := NewReader(form, tools, bare)
		r.Add(text)
		if _, calls := r.End(); len(calls) > 0 {
			return form, true
		}
	}
	return "", false
}

// marked reports whether a text has any mark of the form.
func (f Form) marked(text string) bool {
	switch f { //nolint:exhaustive // the others have their marks in the grammar
	case JSON:
		return true
	case GPTOSS:
		return strings.Contains(text, messageMark)
	}
	for _, m := range f.grammar().marks {
		if strings.Contains(text, m) {
			return true
		}
	}
	return false
}
