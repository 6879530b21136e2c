package pysource

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
)

// typing turns the types of one tool into schemas.
type typing struct {
	*module
	made  int      // schemas so far
	stack []string // classes and aliases that are being read
}

// parameters describes what a function takes.
func (m *module) parameters(f *function, doc docstring) (*Schema, error) {
	t := &typing{module: m}
	out := object()
	for i, p := range f.params {
		if p.rest || p.name == "agent_state" || p.name == "self" && i == 0 {
			continue
		}
		if p.annotation == nil {
			name := clip(p.name)
			return nil, at(p.line, "the parameter %s of %s has no type: write `%s: str`, or whatever it is", name, clip(f.name), name)
		}
		s, optional, err := t.schema(expression(p.annotation, 0))
		if err != nil {
			return nil, err
		}
		if said := doc.params[p.name]; said != "" {
			s.Description = said
		}
		if s.Description == "" {
			return nil, at(p.line, "the docstring of %s says nothing of the parameter %s: add it below `Args:`", clip(f.name), clip(p.name))
		}
		out.add(p.name, s, !optional && !p.optional)
	}
	return out, nil
}

// scalars are types that JSON has, or writes as text.
var scalars = sync.OnceValue(func() map[string]Schema {
	return map[string]Schema{
		"str": {Type: "string"}, "int": {Type: "integer"}, "float": {Type: "number"}, "bool": {Type: "boolean"},
		"bytes": {Type: "string"}, "bytearray": {Type: "string"}, "complex": {Type: "string"},
		"datetime.datetime": {Type: "string", Format: "date-time"}, "datetime.date": {Type: "string", Format: "date"},
		"datetime.time": {Type: "string", Format: "time"}, "datetime.timedelta": {Type: "string", Format: "duration"},
		"uuid.UUID": {Type: "string", Format: "uuid"}, "decimal.Decimal": {Type: "number"}, "fractions.Fraction": {Type: "number"},
		"pathlib.Path": {Type: "string"}, "pathlib.PurePath": {Type: "string"},
		"typing.LiteralString": {Type: "string"}, "typing.Text": {Type: "string"}, "typing.AnyStr": {Type: "string"},
		"pydantic.EmailStr": {Type: "string"}, "pydantic.HttpUrl": {Type: "string"}, "pydantic.AnyUrl": {Type: "string"},
		"typing.Any": {}, "object": {},
		"numbers.Number": {Type: "number"},
	}
})

// lists and maps are the containers, by their full names.
var (
	lists = []string{
		"list", "typing.List", "set", "frozenset", "typing.Set", "typing.FrozenSet", "typing.Sequence", "typing.MutableSequence",
		"typing.Iterable", "typing.Collection", "typing.Iterator", "typing.AbstractSet", "typing.MutableSet", "collections.deque",
		"typing.Deque",
	}
	maps = []string{
		"dict", "typing.Dict", "typing.Mapping", "typing.MutableMapping", "collections.OrderedDict", "typing.OrderedDict",
		"collections.defaultdict", "typing.DefaultDict",
	}
	transparent = []string{
		"typing.Annotated", "typing.Final", "typing.ClassVar", "typing.Required", "typing.NotRequired", "typing.ReadOnly",
	}
)

// full returns the whole name of what is called so here.
func (m *module) full(name string) string {
	head, rest, dotted := strings.Cut(name, ".")
	if imported, ok := m.imports[head]; ok {
		name = imported
		if dotted {
			name += "." + rest
		}
	}
	for _, from := range []string{"typing_extensions.", "collections.abc.", "builtins."} {
		if rest, ok := strings.CutPrefix(name, from); ok {
			if name = "typing." + rest; from == "builtins." {
				name = rest
			}
			return abc(name)
		}
	}
	if strings.Contains(name, ".") || m.classes[name] != nil || m.aliases[name] != nil {
		return name
	}
	switch name { // as the reference has it, these need no import
	case "Optional", "Union", "List", "Dict", "Set", "FrozenSet", "Tuple", "Any", "Literal", "Annotated", "Sequence", "Iterable", "Mapping":
		return "typing." + name
	}
	return name
}

// abc is the name that typing has for one of collections.abc.
func abc(name string) string {
	if name == "typing.Set" {
		return "typing.AbstractSet"
	}
	return name
}

// schema describes a type, and says whether it may be left out.
func (t *typing) schema(e *expr) (s *Schema, optional bool, err error) {
	if t.made++; t.made > maxSchema {
		return nil, false, at(e.line, "the types are too much to be described: more than %d parts", maxSchema)
	}
	switch {
	case e == nil:
		return nil, false, at(0, "a type is missing")
	case e.none():
		return &Schema{Type: "null"}, true, nil
	case e.shape == union:
		return t.union(e, e.args)
	case e.shape == named:
		s, err = t.name(e)
		return s, false, err
	case e.shape == subscript:
		return t.subscript(e)
	}
	if text, ok := e.str(); ok {
		return t.quoted(e, text)
	}
	return nil, false, t.unknown(e)
}

func (t *typing) unknown(e *expr) error {
	return at(e.line, "the type %s can't be described. Known are str, int, float, bool, list, dict, tuple, set, Optional, Union, Literal, "+
		"Any, dates, and the enums, dataclasses, TypedDicts and pydantic models of this source", e.text)
}

// quoted reads a type that is written as a string.
func (t *typing) quoted(e *expr, text string) (*Schema, bool, error) {
	tokens, err := tokenize([]byte(strings.TrimSpace(text)))
	if err != nil || len(tokens) < 2 || len(t.stack) > maxBrackets {
		return nil, false, t.unknown(e)
	}
	for i := range tokens {
		tokens[i].line = e.line
	}
	t.stack = append(t.stack, "")
	defer func() { t.stack = t.stack[:len(t.stack)-1] }()
	inner := expression(tokens[:len(tokens)-2], 0)
	if inner == nil || inner.shape == constant && !inner.none() {
		return nil, false, t.unknown(e)
	}
	return t.schema(inner)
}

// name describes a type that has only a name.
func (t *typing) name(e *expr) (*Schema, error) {
	full := t.full(e.name)
	if s, ok := scalars()[full]; ok && t.classes[full] == nil && t.aliases[full] == nil {
		return &s, nil
	}
	switch {
	case t.classes[full] != nil:
		return t.once(e, full, func() (*Schema, error) { return t.class(t.classes[full], e) })
	case t.aliases[full] != nil:
		return t.once(e, full, func() (*Schema, error) {
			s, _, err := t.schema(t.alias(expression(t.aliases[full], 0)))
			return s, err
		})
	case slices.Contains(lists, full), full == "tuple", full == "typing.Tuple":
		return &Schema{Type: "array", Items: &Schema{Type: "string"}}, nil
	case slices.Contains(maps, full):
		return &Schema{Type: "object"}, nil
	}
	return nil, t.unknown(e)
}

// alias is the type that a call such as NewType("UserId", int) makes.
func (t *typing) alias(e *expr) *expr {
	if e != nil && e.shape == called && e.base.shape == named && t.full(e.base.name) == "typing.NewType" && len(e.args) == 2 {
		return e.args[1]
	}
	if e == nil {
		e = &expr{}
	}
	return e
}

// once describes what has a name, which must not be in itself.
func (t *typing) once(e *expr, name string, describe func() (*Schema, error)) (*Schema, error) {
	if slices.Contains(t.stack, name) {
		return nil, at(e.line, "the type %s is in itself, which can't be described", clip(name))
	}
	t.stack = append(t.stack, name)
	defer func() { t.stack = t.stack[:len(t.stack)-1] }()
	return describe()
}

func (t *typing) subscript(e *expr) (*Schema, bool, error) {
	if e.base.shape != named || len(e.args) == 0 {
		return nil, false, t.unknown(e)
	}
	full := t.full(e.base.name)
	switch {
	case full == "typing.Optional":
		s, _, err := t.schema(e.args[0])
		return s, true, err
	case full == "typing.Union":
		return t.union(e, e.args)
	case full == "typing.Literal":
		return t.literal(e)
	case slices.Contains(transparent, full):
		s, optional, err := t.schema(e.args[0])
		if err == nil && full == "typing.Annotated" {
			t.annotate(s, e.args[1:])
		}
		return s, optional, err
	case full == "type", full == "typing.Type":
		return nil, false, t.unknown(e)
	}
	s, err := t.container(e, full)
	return s, false, err
}

// annotate takes a description from what stands behind a type in Annotated.
func (t *typing) annotate(s *Schema, more []*expr) {
	for _, one := range more {
		if said, ok := one.str(); ok {
			s.Description = said
		} else if said, ok := one.keys["description"].str(); ok {
			s.Description = said
		} else if one.shape == called && len(one.args) == 1 {
			if said, ok := one.args[0].str(); ok { // Doc("…")
				s.Description = said
			}
		}
	}
}

func (t *typing) container(e *expr, full string) (*Schema, error) {
	switch {
	case slices.Contains(lists, full):
		items, _, err := t.schema(e.args[0])
		return &Schema{Type: "array", Items: items}, err
	case full == "tuple", full == "typing.Tuple":
		return t.tuple(e)
	case slices.Contains(maps, full):
		values, _, err := t.schema(e.args[len(e.args)-1])
		if err == nil && (values.Type != "" || values.AnyOf != nil || values.Enum != nil) {
			return &Schema{Type: "object", AdditionalProperties: values}, nil
		}
		return &Schema{Type: "object"}, err
	case t.aliases[full] != nil, t.classes[full] != nil:
		return t.name(e.base) // a generic one: what its parameters are is not followed
	}
	return nil, t.unknown(e)
}

// tuple describes one whose parts may differ.
func (t *typing) tuple(e *expr) (*Schema, error) {
	if len(e.args) == 2 && e.args[1].shape == ellipsis {
		items, _, err := t.schema(e.args[0])
		return &Schema{Type: "array", Items: items}, err
	}
	out := &Schema{Type: "array", MinItems: len(e.args), MaxItems: len(e.args)}
	parts, err := t.several(e.args)
	if err != nil {
		return nil, err
	}
	out.Items = either(parts)
	return out, nil
}

// several describes types, each once.
func (t *typing) several(types []*expr) (parts []*Schema, err error) {
	var known []string
	for _, one := range types {
		s, _, err := t.schema(one)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(known, string(text)) {
			known, parts = append(known, string(text)), append(parts, s)
		}
	}
	return parts, nil
}

func either(parts []*Schema) *Schema {
	if len(parts) == 1 {
		return parts[0]
	}
	return &Schema{AnyOf: parts}
}

// union describes one of several types. With None among them it may be left out.
func (t *typing) union(e *expr, types []*expr) (*Schema, bool, error) {
	var some []*expr
	for _, one := range types {
		if !one.none() {
			some = append(some, one)
		}
	}
	optional := len(some) < len(types)
	if len(some) == 0 {
		return nil, false, t.unknown(e)
	}
	parts, err := t.several(some)
	if err != nil {
		return nil, false, err
	}
	return either(parts), optional, nil
}

// literal describes one of some values.
func (t *typing) literal(e *expr) (*Schema, bool, error) {
	out := &Schema{}
	optional := false
	for _, one := range e.args {
		switch {
		case one.none():
			optional = true
		case one.shape == constant:
			out.Enum = append(out.Enum, plain(one.value))
		case one.shape == named && strings.Contains(one.name, "."): // a member of an enum
			v, ok := t.memberValue(one.name)
			if !ok {
				return nil, false, t.unknown(e)
			}
			out.Enum = append(out.Enum, v)
		default:
			return nil, false, t.unknown(e)
		}
	}
	if len(out.Enum) == 0 {
		return nil, false, t.unknown(e)
	}
	out.Type = typeOf(out.Enum)
	return out, optional, nil
}

// plain is a constant as JSON has it.
func plain(v any) any {
	if n, ok := v.(*big.Int); ok {
		return json.Number(n.String())
	}
	return v
}

// typeOf is the type that all values have; empty: they have several.
func typeOf(values []any) (common string) {
	for i, v := range values {
		var one string
		switch v.(type) {
		case string:
			one = "string"
		case bool:
			one = "boolean"
		case json.Number:
			one = "integer"
		case float64:
			one = "number"
		}
		if i > 0 && one != common {
			return ""
		}
		common = one
	}
	return common
}

func (t *typing) memberValue(name string) (any, bool) {
	i := strings.LastIndexByte(name, '.')
	c := t.classes[name[:i]]
	if c == nil {
		return nil, false
	}
	for n, f := range c.fields {
		if f.name == name[i+1:] {
			return t.enumValue(c, f, n)
		}
	}
	return nil, false
}

// enumValue is the value of a member of an enum.
func (t *typing) enumValue(c *class, f field, n int) (any, bool) {
	e := expression(f.value, 0)
	if e == nil {
		return nil, false
	}
	if e.shape == sequence && len(e.args) == 1 {
		e = e.args[0]
	}
	switch {
	case e.shape == constant && e.value != nil:
		return plain(e.value), true
	case e.shape == called && e.base.shape == named && t.full(e.base.name) == "enum.auto":
		if t.derives(c, "enum.StrEnum") {
			return strings.ToLower(f.name), true
		}
		return json.Number(fmt.Sprint(n + 1)), true
	}
	return nil, false
}
