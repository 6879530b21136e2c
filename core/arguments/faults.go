package arguments

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// The bounds of what is told.
const (
	maxFaults = 10
	maxFault  = 300 // characters of one
)

// tell says every fault in words, one after the other.
func tell(err *jsonschema.ValidationError) string {
	faults := faultsOf(err)
	slices.Sort(faults)
	faults = slices.Compact(faults)
	more := ""
	if n := len(faults) - maxFaults; n > 0 {
		faults, more = faults[:maxFaults], fmt.Sprintf("; and %d more", n)
	}
	return strings.Join(faults, "; ") + more
}

// faultsOf returns the faults at the leaves. Where one of several forms would do, they are told as one.
func faultsOf(err *jsonschema.ValidationError) []string {
	switch k := err.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		var forms []string
		for _, cause := range err.Causes {
			forms = append(forms, faultsOf(cause)...)
		}
		if len(forms) == 0 {
			return []string{short(fmt.Sprintf("%s fits more than one of its forms", subject(err.InstanceLocation)))}
		}
		return []string{short(fmt.Sprintf("%s fits none of its forms: %s", subject(err.InstanceLocation), strings.Join(forms, ", or ")))}
	case *kind.Required:
		return members("missing required", err.InstanceLocation, k.Missing)
	case *kind.AdditionalProperties:
		return members("unexpected", err.InstanceLocation, k.Properties)
	}
	if len(err.Causes) == 0 {
		return []string{short(subject(err.InstanceLocation) + " " + predicate(err.ErrorKind))}
	}
	var faults []string
	for _, cause := range err.Causes {
		faults = append(faults, faultsOf(cause)...)
	}
	return faults
}

// members tells one fault of several members of an object.
func members(fault string, location, names []string) []string {
	var faults []string
	for _, name := range names {
		faults = append(faults, short(fault+" "+subject(append(slices.Clone(location), name))))
	}
	return faults
}

var english = message.NewPrinter(language.English)

// predicate says what is wrong with a value.
func predicate(fault jsonschema.ErrorKind) string {
	switch k := fault.(type) {
	case *kind.Type:
		return "must be " + kinds(k.Want) + ", not " + kinds([]string{k.Got})
	case *kind.Enum:
		return "must be one of " + values(k.Want) + ", not " + values([]any{k.Got})
	case *kind.Const:
		return "must be " + values([]any{k.Want}) + ", not " + values([]any{k.Got})
	default:
		return "is not valid: " + fault.LocalizedString(english)
	}
}

// kinds names JSON types in words.
func kinds(types []string) string {
	words := map[string]string{
		"string": "a string", "integer": "an integer", "number": "a number", "boolean": "a boolean", "array": "a list",
		"object": "an object", "null": "null",
	}
	var all []string
	for _, t := range types {
		all = append(all, words[t])
	}
	return strings.Join(all, " or ")
}

func values(list []any) string {
	var all []string
	for _, value := range list {
		text, err := json.Marshal(value)
		if err != nil {
			continue
		}
		all = append(all, string(text))
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

// path writes a place as models write it: edits[0].old.
func path(location []string) string {
	var b strings.Builder
	for i, step := range location {
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

func short(text string) string {
	if r := []rune(text); len(r) > maxFault {
		return string(r[:maxFault-1]) + "…"
	}
	return text
}
