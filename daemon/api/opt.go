package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Opt is a key of a PATCH body in one of three states: absent, null, or a value. Give the field the tag omitzero.
type Opt[T any] struct {
	Set   bool // the key was sent
	Null  bool // it was sent as null
	Value T
}

// Some returns a key sent with a value.
func Some[T any](v T) Opt[T] { return Opt[T]{Set: true, Value: v} }

// Null returns a key sent as null.
func Null[T any]() Opt[T] { return Opt[T]{Set: true, Null: true} }

// Get returns the value, if there is one.
func (o Opt[T]) Get() (T, bool) { return o.Value, o.Set && !o.Null }

// IsZero makes omitzero leave out a key that was not sent.
func (o Opt[T]) IsZero() bool { return !o.Set }

// MarshalJSON writes the value or null.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.Set || o.Null {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// UnmarshalJSON is called only for keys that were sent.
func (o *Opt[T]) UnmarshalJSON(data []byte) error {
	*o = Opt[T]{Set: true}
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		o.Null = true
		return nil
	}
	return json.Unmarshal(data, &o.Value)
}

// Schema is the value's schema, or null. For a named object it can't express null, but the framework accepts null for
// optional keys anyway.
func (o Opt[T]) Schema(r huma.Registry) *huma.Schema {
	s := r.Schema(reflect.TypeFor[T](), true, "Opt")
	s.Nullable = s.Nullable || s.Ref == "" && s.Type != ""
	return s
}

// Param is an optional query parameter.
type Param[T any] struct {
	Value T
	Set   bool
}

// Given returns a parameter with a value.
func Given[T any](v T) Param[T] { return Param[T]{Value: v, Set: true} }

// Or returns the value, or other if the parameter is absent.
func (p Param[T]) Or(other T) T {
	if p.Set {
		return p.Value
	}
	return other
}

// Text returns the parameter as written in a URL, and whether it was given.
func (p Param[T]) Text() (string, bool) { return fmt.Sprint(p.Value), p.Set }

// Schema is the value's schema.
func (p Param[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "Param")
}

// Receiver tells the framework where to store the parsed parameter.
func (p *Param[T]) Receiver() reflect.Value { return reflect.ValueOf(p).Elem().Field(0) }

// OnParamSet is called by the framework to say whether the parameter was given.
func (p *Param[T]) OnParamSet(isSet bool, _ any) { p.Set = isSet }

// List is an array that is never null in JSON.
type List[T any] []T

// MarshalJSON writes [] for a nil list.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// Object is any JSON object.
type Object map[string]any

// Val returns what a pointer points at, or the zero value.
func Val[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// PtrTo returns a pointer to a non-zero value, and nil otherwise.
func PtrTo[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
