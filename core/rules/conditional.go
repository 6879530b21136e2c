package rules

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"loci/core"
)

// conditional returns the child that a conditional rule picks for a return value; known is false if it picks none.
func conditional(r core.ToolRule, value string) (child string, known bool) {
	for _, key := range slices.Sorted(maps.Keys(r.Mapping)) {
		if sameValue(key, value) {
			return r.Mapping[key], true
		}
	}
	return r.DefaultChild, r.DefaultChild != ""
}

// sameValue compares a mapping's key with a return: as text, boolean or number.
func sameValue(key, value string) bool {
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	var text string
	if json.Unmarshal([]byte(value), &text) == nil {
		value = text
	}
	if key == value {
		return true
	}
	if isBool(key) && isBool(value) {
		return strings.EqualFold(key, value)
	}
	a, errA := strconv.ParseFloat(key, 64)
	b, errB := strconv.ParseFloat(value, 64)
	return errA == nil && errB == nil && a == b
}

func isBool(s string) bool { return strings.EqualFold(s, "true") || strings.EqualFold(s, "false") }
