package arguments

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// The bounds of a number that is calculated with: 1e999999999 is short and would fill the memory.
const (
	maxDigits   = 400
	maxExponent = 400
)

// rational returns a number exactly.
func rational(number json.Number) (*big.Rat, bool) {
	text := number.String()
	if text == "" || len(text) > maxDigits {
		return nil, false
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(text[i+1:])
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// decimal writes a number as people do.
func decimal(number *big.Rat) string {
	if number.IsInt() {
		return number.Num().String()
	}
	f, _ := number.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// typeOf returns the JSON type of a decoded value.
func typeOf(part any) string {
	switch v := part.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if number, ok := rational(v); ok && number.IsInt() {
			return "integer"
		}
	}
	return "number"
}

// canonical writes a value so that equal values have equal texts: 1 and 1.0 are equal, the order of members doesn't count.
func canonical(part any) string {
	var b strings.Builder
	write(&b, part)
	return b.String()
}

func write(b *strings.Builder, part any) {
	switch v := part.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		writeText(b, v)
	case json.Number:
		if number, ok := rational(v); ok {
			b.WriteString(number.RatString())
			return
		}
		b.WriteString(v.String())
	case []any:
		b.WriteByte('[')
		for _, element := range v {
			write(b, element)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			writeText(b, name)
			b.WriteByte(':')
			write(b, v[name])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	}
}

// writeText writes a text behind its length: quoting takes longer and says no more.
func writeText(b *strings.Builder, text string) {
	b.WriteString(strconv.Itoa(len(text)))
	b.WriteByte('"')
	b.WriteString(text)
}
