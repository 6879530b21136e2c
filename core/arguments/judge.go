package arguments

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of judging.
const (
	maxSteps = 4_000_000 // one for each schema that a value meets, and more for long values
	maxKept  = 1_000     // faults; those behind them aren't looked for
)

// judgement is one judging of arguments by a schema.
type judgement struct {
	tracks bool // what was looked at is remembered
	steps  int
	quiet  int // greater than 0: whether something fits is all that counts
}

// evaluated says which parts of a value schemas have looked at, for the keywords about the rest; nil: nobody asks.
type evaluated struct {
	members  map[string]bool
	elements map[int]bool
}

func (e *evaluated) add(of *evaluated) {
	if e == nil || of == nil {
		return
	}
	for name := range of.members {
		e.member(name)
	}
	for i := range of.elements {
		e.element(i)
	}
}

func (e *evaluated) member(name string) {
	if e == nil {
		return
	}
	if e.members == nil {
		e.members = map[string]bool{}
	}
	e.members[name] = true
}

func (e *evaluated) element(i int) {
	if e == nil {
		return
	}
	if e.elements == nil {
		e.elements = map[int]bool{}
	}
	e.elements[i] = true
}

// spend counts work, and reports whether there is some left.
func (j *judgement) spend(steps int) bool {
	j.steps += steps
	return j.steps <= maxSteps
}

// value is a part of the arguments, at its place.
type value struct {
	any
	at []string
}

func (v value) within(step string, part any) value {
	return value{part, append(slices.Clip(v.at), step)}
}

// faults returns what is wrong with a value, in words. What the node looked at is added to seen, if nothing is wrong.
func (j *judgement) faults(n *node, v value, seen *evaluated) []string {
	if !j.spend(1) {
		return nil
	}
	if n.never {
		return []string{tell(v.at, "is not allowed")}
	}
	var found []string
	var mine *evaluated
	if j.tracks {
		mine = &evaluated{}
	}
	for _, stage := range [...]func(*judgement, *node, value, *evaluated) []string{
		(*judgement).ofReference, (*judgement).ofValue, (*judgement).ofForms, (*judgement).ofList, (*judgement).ofObject,
	} {
		found = append(found, stage(j, n, v, mine)...)
		if len(found) > 0 && j.quiet > 0 || len(found) > maxKept {
			return found
		}
	}
	if len(found) == 0 {
		seen.add(mine)
	}
	return found
}

// fits reports whether nothing is wrong with a value.
func (j *judgement) fits(n *node, v value, seen *evaluated) bool {
	j.quiet++
	defer func() { j.quiet-- }()
	return len(j.faults(n, v, seen)) == 0
}

func (j *judgement) ofReference(n *node, v value, seen *evaluated) []string {
	if n.ref == nil {
		return nil
	}
	return j.faults(n.ref, v, seen)
}

func (j *judgement) ofValue(n *node, v value, _ *evaluated) []string {
	got := typeOf(v.any)
	if n.types != nil && !slices.Contains(n.types, got) && (got != "integer" || !slices.Contains(n.types, "number")) {
		return []string{tell(v.at, "must be "+kindWords(n.types)+", not "+kindWord(told(got)))}
	}
	if n.values != nil || n.always != nil {
		text := canonical(v.any)
		if !j.spend(len(text) / 64) {
			return nil
		}
		if n.values != nil && !n.values[text] {
			return []string{tell(v.at, "must be one of "+shown(n.enum...)+", not "+shown(v.any))}
		}
		if n.always != nil && *n.always != text {
			return []string{tell(v.at, "must be "+shown(n.one)+", not "+shown(v.any))}
		}
	}
	switch part := v.any.(type) {
	case string:
		return j.ofText(n, v.at, part)
	case json.Number:
		return ofNumber(n, v.at, part)
	}
	return nil
}

func (j *judgement) ofText(n *node, at []string, text string) []string {
	var found []string
	if n.minLength != nil || n.maxLength != nil {
		found = append(found, sizes(at, "Length", utf8.RuneCountInString(text), n.minLength, n.maxLength)...)
	}
	if n.pattern != nil && j.spend(len(text)/16) && !n.pattern.MatchString(text) {
		found = append(found, tell(at, "is not valid: it does not match pattern "+shown(n.pattern.String())+": "+shown(text)))
	}
	return found
}

func ofNumber(n *node, at []string, text json.Number) []string {
	if n.minimum == nil && n.maximum == nil && n.above == nil && n.below == nil && n.multiple == nil {
		return nil
	}
	got, ok := rational(text)
	if !ok {
		return []string{tell(at, "is not valid: the number is too large or too exact")}
	}
	var found []string
	for _, bound := range []struct {
		keyword string
		want    *big.Rat
		ok      func(order int) bool
	}{
		{"minimum", n.minimum, func(order int) bool { return order >= 0 }},
		{"maximum", n.maximum, func(order int) bool { return order <= 0 }},
		{"exclusiveMinimum", n.above, func(order int) bool { return order > 0 }},
		{"exclusiveMaximum", n.below, func(order int) bool { return order < 0 }},
	} {
		if bound.want != nil && !bound.ok(got.Cmp(bound.want)) {
			found = append(found, tell(at, "is not valid: "+bound.keyword+": got "+decimal(got)+", want "+decimal(bound.want)))
		}
	}
	if n.multiple != nil && !new(big.Rat).Quo(got, n.multiple).IsInt() {
		found = append(found, tell(at, "is not valid: multipleOf: got "+decimal(got)+", want "+decimal(n.multiple)))
	}
	return found
}

func (j *judgement) ofForms(n *node, v value, seen *evaluated) []string {
	var found []string
	for _, form := range n.allOf {
		found = append(found, j.faults(form, v, seen)...)
	}
	if len(n.anyOf) > 0 {
		found = append(found, j.oneFits(n.anyOf, v, seen, false)...)
	}
	if len(n.oneOf) > 0 {
		found = append(found, j.oneFits(n.oneOf, v, seen, true)...)
	}
	if n.not != nil && j.fits(n.not, v, nil) {
		found = append(found, tell(v.at, "is not valid: it fits a form that is excluded"))
	}
	if n.condition != nil {
		next := n.otherwise
		if j.fits(n.condition, v, seen) {
			next = n.then
		}
		if next != nil {
			found = append(found, j.faults(next, v, seen)...)
		}
	}
	return found
}

// oneFits judges by several forms, of which one is enough, or exactly one is right. All are tried, since each may have looked
// at another part of the value.
func (j *judgement) oneFits(forms []*node, v value, seen *evaluated, single bool) []string {
	fitting := 0
	var why []string
	for _, form := range forms {
		faults := j.faults(form, v, seen)
		if len(faults) == 0 {
			fitting++
		}
		if len(why) < maxFault {
			why = append(why, faults...)
		}
	}
	switch {
	case fitting == 1 || fitting > 0 && !single:
		return nil
	case fitting > 1:
		return []string{tell(v.at, "fits more than one of its forms")}
	}
	return []string{tell(v.at, "fits none of its forms: "+strings.Join(why[:min(len(why), maxFault)], ", or "))}
}

func (j *judgement) ofList(n *node, v value, seen *evaluated) []string {
	list, ok := v.any.([]any)
	if !ok {
		return nil
	}
	found := sizes(v.at, "Items", len(list), n.minItems, n.maxItems)
	for i, element := range list {
		by := n.items
		if i < len(n.first) {
			by = n.first[i]
		}
		if by == nil {
			continue
		}
		seen.element(i)
		if found = append(found, j.faults(by, v.within(strconv.Itoa(i), element), nil)...); len(found) > maxKept {
			return found
		}
	}
	if n.unique {
		found = append(found, j.twins(list, v.at)...)
	}
	if n.contains != nil {
		found = append(found, j.contained(n, list, v, seen)...)
	}
	if n.unevaluatedItems == nil {
		return found
	}
	for i, element := range list {
		if !seen.elements[i] {
			found = append(found, j.faults(n.unevaluatedItems, v.within(strconv.Itoa(i), element), nil)...)
			seen.element(i)
		}
	}
	return found
}

// twins finds two elements of a list that are equal.
func (j *judgement) twins(list []any, at []string) []string {
	places := make(map[string]int, len(list))
	for i, element := range list {
		text := canonical(element)
		if !j.spend(len(text) / 64) {
			return nil
		}
		if other, ok := places[text]; ok {
			return []string{tell(at, "is not valid: items at "+strconv.Itoa(other)+" and "+strconv.Itoa(i)+" are equal")}
		}
		places[text] = i
	}
	return nil
}

func (j *judgement) contained(n *node, list []any, v value, seen *evaluated) []string {
	count := 0
	for i, element := range list {
		if j.fits(n.contains, v.within(strconv.Itoa(i), element), nil) {
			count++
			seen.element(i)
		}
	}
	least := n.minContains
	if least == nil {
		one := 1
		least = &one
	}
	return sizes(v.at, "Contains", count, least, n.maxContains)
}

func (j *judgement) ofObject(n *node, v value, seen *evaluated) []string {
	object, ok := v.any.(map[string]any)
	if !ok {
		return nil
	}
	found := sizes(v.at, "Properties", len(object), n.minMembers, n.maxMembers)
	found = append(found, missing(n, object, v.at)...)
	names := slices.Sorted(maps.Keys(object))
	for _, name := range names {
		if found = append(found, j.ofMember(n, name, v.within(name, object[name]), seen)...); len(found) > maxKept {
			return found
		}
		if next := n.dependentSchemas[name]; next != nil {
			found = append(found, j.faults(next, v, seen)...)
		}
	}
	if n.unevaluatedMembers == nil {
		return found
	}
	for _, name := range names {
		if !seen.members[name] {
			found = append(found, j.extra(n.unevaluatedMembers, v.within(name, object[name]))...)
			seen.member(name)
		}
	}
	return found
}

func (j *judgement) ofMember(n *node, name string, member value, seen *evaluated) []string {
	var found []string
	if n.names != nil && !j.fits(n.names, value{any: name}, nil) {
		found = append(found, tell(member.at, "has a name that is not valid"))
	}
	known := false
	if by, ok := n.properties[name]; ok {
		known = true
		found = append(found, j.faults(by, member, nil)...)
	}
	for _, p := range n.patterns {
		if j.spend(1+len(name)/16) && p.pattern.MatchString(name) {
			known = true
			found = append(found, j.faults(p.node, member, nil)...)
		}
	}
	if !known && n.additional != nil {
		known = true
		found = append(found, j.extra(n.additional, member)...)
	}
	if known {
		seen.member(name)
	}
	return found
}

// extra judges a member that nothing names.
func (j *judgement) extra(by *node, member value) []string {
	if by.never {
		return []string{short("unexpected " + subject(member.at))}
	}
	return j.faults(by, member, nil)
}

// missing names the members that aren't there.
func missing(n *node, object map[string]any, at []string) []string {
	var found []string
	for _, name := range n.required {
		if _, ok := object[name]; !ok {
			found = append(found, short("missing required "+subject(append(slices.Clip(at), name))))
		}
	}
	for _, given := range slices.Sorted(maps.Keys(n.dependentRequired)) {
		if _, ok := object[given]; !ok {
			continue
		}
		for _, name := range n.dependentRequired[given] {
			if _, ok := object[name]; !ok {
				there := subject(append(slices.Clip(at), given))
				found = append(found, short("missing "+subject(append(slices.Clip(at), name))+", which "+there+" requires"))
			}
		}
	}
	return found
}

// sizes judges how long a text is, or how many elements or members there are.
func sizes(at []string, of string, got int, least, most *int) []string {
	var found []string
	if least != nil && got < *least {
		found = append(found, tell(at, "is not valid: min"+of+": got "+strconv.Itoa(got)+", want "+strconv.Itoa(*least)))
	}
	if most != nil && got > *most {
		found = append(found, tell(at, "is not valid: max"+of+": got "+strconv.Itoa(got)+", want "+strconv.Itoa(*most)))
	}
	return found
}
