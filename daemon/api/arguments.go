package api

import (
	"bytes"
	"encoding/json"
)

// Arguments are those of a call of a tool. Read from JSON, their numbers are a json.Number each: an integer may be larger
// than a float64 holds exactly.
type Arguments map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (a *Arguments) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode((*map[string]any)(a))
}
