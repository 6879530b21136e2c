package arguments

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The bounds of what is told.
const (
	maxFaults = 10
	maxFault  = 300 // characters of one
)

// report says faults one after the other.
func report(faults []string) string {
	slices.Sort(faults)
	faults = slices.Compact(faults)
	more := ""
	if n := len(faults) - maxFaults; n > 0 {
		faults, more = faults[:maxFaults], fmt.Sprintf("; and %d more", n)
	}
	return strings.Join(faults, "; ") + more
}

// tell says what is wrong with the value at a place.
func tell(at []string, predicate string) string { return short(subject(at) + " " + predicate) }

// kindWord names a JSON type in words; nothing if there is no such type.
func kindWord(kind string) string {
	switch kind {
	case "string":
		return "a string"
	case "integer":
		return "an integer"
	case "number":
		return "a number"
	case "boolean":
		return "a boolean"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "null":
		return "null"
	}
	return ""
}

func kindWords(kinds []string) string {
	words := make([]string, 0, len(kinds))
	for _, kind := range kinds {
		words = append(words, kindWord(kind))
	}
	return strings.Join(words, " or ")
}

// told is the type that is said of a value: whether a number is whole matters only where one is asked for.
func told(kind string) string {
	if kind == "integer" {
		return "number"
	}
	return kind
}

// shown writes values as JSON, as many as can be told.
func shown(list ...any) string {
	var all []string
	size := 0
	for _, part := range list {
		var text string
		switch v := part.(type) {
		case string:
			text = strconv.Quote(clipped(v))
		case []any, map[string]any:
			text = kindWord(typeOf(v))
		case nil:
			text = "null"
		default:
			text = clipped(fmt.Sprint(v))
		}
		if all, size = append(all, text), size+len(text); size > 4*maxFault {
			break
		}
	}
	return strings.Join(all, ", ")
}

// subject names the value at a place.
func subject(location []string) string {
	if len(location) == 0 {
		return "the whole of the arguments"
	}
	return "argument " + strconv.Quote(path(location))
}

// ofAnswer words a fault of a value that is no call's arguments. What was given stands behind the subject.
func ofAnswer(fault string) string {
	if rest, ok := strings.CutPrefix(fault, "the whole of the arguments "); ok {
		return "the whole of it " + rest
	}
	return strings.Replace(fault, "argument \"", "member \"", 1)
}

// path writes a place as models write it: edits[0].old.
func path(location []string) string {
	var b strings.Builder
	for i, step := range location {
		step = clipped(step)
		if _, err := strconv.Atoi(step); err == nil && i > 0 {
			b.WriteString("[" + step + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	return b.String()
}

// clipped returns the start of a text that may be very long, at most what a fault has.
func clipped(text string) string { return short(text[:min(len(text), 4*maxFault)]) }

func short(text string) string {
	if r := []rune(text); len(r) > maxFault {
		return string(r[:maxFault-1]) + "…"
	}
	return text
}
