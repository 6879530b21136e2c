package core

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Arguments are those of a call. Read from JSON, their numbers are a json.Number each: an integer may be larger than a
// float64 holds exactly.
type Arguments map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (a *Arguments) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var args map[string]any
	if err := dec.Decode(&args); err != nil {
		return err
	}
	for name, v := range args {
		args[name] = plainNumbers(v)
	}
	*a = args
	return nil
}

// ParseArguments reads the JSON text of a call's arguments into an object. Empty text is an empty object; anything
// that is not an object is invalid.
func ParseArguments(text string) (map[string]any, error) {
	if strings.TrimSpace(text) == "" {
		return map[string]any{}, nil
	}
	var args Arguments
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		return nil, E(Invalid, "the arguments are not a JSON object: %w", err)
	}
	if args == nil {
		args = Arguments{}
	}
	return args, nil
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(v)
	case []any:
		for i, one := range v {
			v[i] = plainNumbers(one)
		}
	case map[string]any:
		for name, one := range v {
			v[name] = plainNumbers(one)
		}
	}
	return v
}

// The bounds of a number that is written anew.
const (
	maxPlainText = 1000 // characters
	maxPlain     = 1e21
)

// plainNumber writes an integer as one: 6.0 and 1e3 are integers to JSON Schema, and none to Python or to a shell.
func plainNumber(n json.Number) json.Number {
	text := n.String()
	if len(text) > maxPlainText || !strings.ContainsAny(text, ".eE") {
		return n
	}
	switch f, err := strconv.ParseFloat(text, 64); {
	case err != nil || math.Abs(f) >= maxPlain:
		return n
	case math.Abs(f) < 1: // 1e-999999999 is short, and long to calculate with
		if strings.Trim(text, "-0.") == "" {
			return "0"
		}
		return n
	}
	if exact, ok := new(big.Rat).SetString(text); ok && exact.IsInt() {
		return json.Number(exact.Num().String())
	}
	return n
}
