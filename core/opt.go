package core

import "encoding/json"

// Opt is a value in one of three states: absent (the zero value), null, or set. A patch needs all three.
type Opt[T any] struct {
	Present bool // the key was there
	Null    bool // … and was null
	Value   T
}

// Some returns a set value.
func Some[T any](v T) Opt[T] { return Opt[T]{Present: true, Value: v} }

// Set reports whether there is a value.
func (o Opt[T]) Set() bool { return o.Present && !o.Null }

// Or returns the value, or other if none is set.
func (o Opt[T]) Or(other T) T {
	if o.Set() {
		return o.Value
	}
	return other
}

// UnmarshalJSON sets the state from JSON; it is only called if the key is present.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	o.Present = true
	if string(b) == "null" {
		o.Null = true
		return nil
	}
	return json.Unmarshal(b, &o.Value)
}

// MarshalJSON writes the value, or null.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.Set() {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// IsZero reports absence, for omitzero.
func (o Opt[T]) IsZero() bool { return !o.Present }
