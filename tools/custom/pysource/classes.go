package pysource

import (
	"slices"
	"strings"
)

// enums are the classes whose members are values.
var enums = []string{"enum.Enum", "enum.IntEnum", "enum.StrEnum"}

// models are the classes, by their full names, whose fields are validated by pydantic.
var models = []string{"pydantic.BaseModel", "pydantic.main.BaseModel", "pydantic.v1.BaseModel", "BaseModel"}

// derives reports whether a class derives from one of some, by their full names, in the source.
func (t *typing) derives(c *class, from ...string) bool {
	seen := map[string]bool{}
	for todo := []*class{c}; len(todo) > 0; todo = todo[1:] {
		if seen[todo[0].name] {
			continue
		}
		seen[todo[0].name] = true
		for _, base := range todo[0].bases {
			for base.shape == subscript {
				base = base.base
			}
			full := t.full(base.name)
			if slices.Contains(from, full) {
				return true
			}
			if next := t.classes[full]; next != nil {
				todo = append(todo, next)
			}
		}
	}
	return false
}

// class describes a class of the source.
func (t *typing) class(c *class, used *expr) (*Schema, error) {
	switch {
	case t.derives(c, enums...), t.derives(c, "enum.Flag", "enum.IntFlag"):
		return t.enum(c)
	case t.derives(c, models...):
		return t.record(c, true)
	case t.derives(c, "typing.TypedDict", "TypedDict", "typing.NamedTuple", "NamedTuple"), t.dataclass(c):
		return t.record(c, false)
	}
	for _, base := range c.bases {
		if base.shape == named {
			if s, ok := scalars()[t.full(base.name)]; ok && s.Type != "" {
				return &s, nil // class UserID(str)
			}
		}
	}
	return nil, at(used.line, "the class %s is none of those that can be described: an enum, a dataclass, a TypedDict, a NamedTuple or a "+
		"pydantic model", clip(c.name))
}

func (t *typing) dataclass(c *class) bool {
	return slices.ContainsFunc(c.decorators, func(name string) bool {
		full := t.full(name)
		return full == "dataclasses.dataclass" || full == "dataclass" || full == "pydantic.dataclasses.dataclass" ||
			strings.HasPrefix(full, "attrs.") || strings.HasPrefix(full, "attr.")
	})
}

// enum describes the values of one.
func (t *typing) enum(c *class) (*Schema, error) {
	out := &Schema{}
	for _, f := range c.fields {
		if f.annotation != nil || strings.HasPrefix(f.name, "_") {
			continue
		}
		v, ok := t.enumValue(c, f, len(out.Enum))
		if !ok {
			return nil, at(f.line, "the value of %s.%s is neither text nor a number", clip(c.name), clip(f.name))
		}
		out.Enum = append(out.Enum, v)
	}
	if len(out.Enum) == 0 {
		return nil, at(c.line, "the enum %s has no members", clip(c.name))
	}
	out.Type = typeOf(out.Enum)
	return out, nil
}

// record describes a class with fields. A model's fields need descriptions, since they are all that a model is told of them.
func (t *typing) record(c *class, described bool) (*Schema, error) {
	out := object()
	if c.doc != nil {
		if out.Description = parseDocstring(*c.doc).description(); out.Description == "" {
			out.Description = *c.doc
		}
	}
	for _, f := range t.fieldsOf(c, nil) {
		s, required, err := t.field(f)
		if err != nil {
			return nil, err
		}
		if s.Description == "" {
			s.Description = f.of[f.name]
		}
		if s.Description == "" && described {
			return nil, at(f.line, "the field %s of %s has no description: write Field(description=…), or name it below `Attributes:` "+
				"in the docstring of the class", clip(f.name), clip(c.name))
		}
		out.add(f.name, s, required)
	}
	return out, nil
}

// member is a field with what the docstring of its class says.
type member struct {
	field
	of       map[string]string
	required bool // where it has no default
}

// fieldsOf are the fields of a class and of those that it derives from, which come first.
func (t *typing) fieldsOf(c *class, seen []string) (all []member) {
	if slices.Contains(seen, c.name) {
		return nil
	}
	seen = append(slices.Clip(seen), c.name)
	for _, base := range c.bases {
		for base.shape == subscript {
			base = base.base
		}
		if up := t.classes[t.full(base.name)]; up != nil {
			all = append(all, t.fieldsOf(up, seen)...)
		}
	}
	total := c.keys["total"]
	doc := docstring{}
	if c.doc != nil {
		doc = parseDocstring(*c.doc)
	}
	for _, f := range c.fields {
		if f.annotation == nil || strings.HasPrefix(f.name, "_") || t.ofClass(f) {
			continue
		}
		one := member{f, doc.params, total == nil || total.value != false}
		if i := slices.IndexFunc(all, func(m member) bool { return m.name == f.name }); i >= 0 {
			all[i] = one
		} else {
			all = append(all, one)
		}
	}
	return all
}

// ofClass reports whether a field is one of the class, which instances are not made with.
func (t *typing) ofClass(f field) bool {
	e := expression(f.annotation, 0)
	if e != nil && e.shape == subscript {
		e = e.base
	}
	return e != nil && e.shape == named && t.full(e.name) == "typing.ClassVar"
}

// field describes one, and says whether it must be given.
func (t *typing) field(f member) (s *Schema, required bool, err error) {
	e := expression(f.annotation, 0)
	s, optional, err := t.schema(e)
	if err != nil {
		return nil, false, err
	}
	required = f.required
	if e.shape == subscript && e.base.shape == named {
		switch t.full(e.base.name) {
		case "typing.NotRequired":
			required = false
		case "typing.Required":
			required = true
		}
	}
	value := expression(f.value, 0)
	said, given := t.fieldCall(value)
	if s.Description == "" || said != "" {
		s.Description = said
	}
	if f.doc != "" && s.Description == "" {
		s.Description = f.doc
	}
	if value != nil && (given || said == "" && value.shape != called) {
		required = false
	}
	if optional && value == nil {
		required = false
	}
	return s, required, nil
}

// fieldCall reads Field(…) or field(…): what it says, and whether it gives a default.
func (t *typing) fieldCall(e *expr) (said string, given bool) {
	if e == nil {
		return "", false
	}
	if e.shape != called {
		return "", e.shape != ellipsis
	}
	said, _ = e.keys["description"].str()
	if said == "" {
		said, _ = e.keys["title"].str()
	}
	if e.keys["default"] != nil && e.keys["default"].shape != ellipsis || e.keys["default_factory"] != nil || e.keys["factory"] != nil {
		return said, true
	}
	if len(e.args) > 0 && e.args[0].shape != ellipsis {
		return said, true
	}
	base := e.base
	if base.shape != named {
		return said, true
	}
	full := t.full(base.name)
	last := full[strings.LastIndexByte(full, '.')+1:]
	return said, !strings.EqualFold(last, "field") && last != "ib" && last != "attrib"
}
