// Package pysource describes a tool from the Python source of its function: its name, what it is for, and the JSON Schema of what
// it takes, from type hints and a docstring in Google's style (reST's and numpydoc's are read too).
//
// Promises: nothing is executed and no Python is needed; only headers, docstrings and the fields of classes are looked at, so that
// whatever stands in a body, even in a syntax newer than this package, can't break it; time and memory are bounded by the length
// of the source. What can't be described is refused with its line and the reason.
//
// The lexical rules are those of chapter 2 of the Python language reference (3.14).
//
// Layer 1, below tools: it imports core.
package pysource

import (
	"unicode/utf8"

	"loci/core"
)

// Bounds on a source.
const (
	MaxBytes    = 1 << 20
	maxBrackets = 200 // within each other, of parentheses, f-strings and types
	maxIndents  = 100 // as CPython has it
	maxSchema   = 2000
)

// Tool is what a function is to a model, and how it is called.
type Tool struct {
	Name        string
	Description string
	Parameters  *Schema // an object
	Function    Function
}

// Function is how the function of a tool is called.
type Function struct {
	Name       string
	Async      bool
	Parameters []Parameter // those that take something from a call, in their order
	Self       bool        // its first parameter is `self`, and gets nothing
	AgentState bool        // it takes the state of the agent as `agent_state`
}

// Positional returns the parameters that can't be named in a call.
func (f *Function) Positional() (names []string) {
	for _, p := range f.Parameters {
		if p.Positional {
			names = append(names, p.Name)
		}
	}
	return names
}

// Parameter is one of a function's.
type Parameter struct {
	Name       string
	Positional bool // it can't be named in a call
}

// Describe describes the function of a source: the one that is named, else the last `def` of the module whose name does not begin
// with an underscore. A function inside of a class or another function is none of these.
func Describe(source []byte, name string) (Tool, error) {
	m, f, err := find(source, name)
	if err != nil {
		return Tool{}, err
	}
	if f.doc == nil {
		return Tool{}, at(f.line, "the function %s has no docstring, which has to say what it does and what each parameter is for", f.name)
	}
	doc := parseDocstring(*f.doc)
	t := Tool{Name: f.name, Description: doc.description(), Function: f.function()}
	if t.Description == "" {
		t.Description = "No description available"
	}
	t.Parameters, err = m.parameters(f, doc)
	return t, err
}

// Head finds the function of a source as Describe does, for a tool whose parameters are described elsewhere: neither annotations nor
// a docstring are needed.
func Head(source []byte, name string) (Tool, error) {
	_, f, err := find(source, name)
	if err != nil {
		return Tool{}, err
	}
	t := Tool{Name: f.name, Function: f.function()}
	if f.doc != nil {
		t.Description = parseDocstring(*f.doc).description()
	}
	return t, nil
}

func find(source []byte, name string) (*module, *function, error) {
	m, err := parse(source)
	if err != nil {
		return nil, nil, err
	}
	if name != "" {
		for i := len(m.functions) - 1; i >= 0; i-- {
			if m.functions[i].name == name {
				return m, m.functions[i], nil
			}
		}
		return nil, nil, core.E(core.Invalid, "the source has no function %q that stands by itself", clip(name))
	}
	f := chosen(m.functions)
	if f == nil {
		return nil, nil, core.E(core.Invalid, "the source has no function that stands by itself: a tool is a `def` of the module")
	}
	return m, f, nil
}

// chosen is the function that a source is about, where none is named. An `async def` behind a documented `def` is taken for its
// variant, as Letta has it; a helper without a docstring is not.
func chosen(functions []*function) *function {
	var plain, async, private *function
	for _, f := range functions {
		switch {
		case f.name[0] == '_':
			private = f
		case f.async:
			async = f
		default:
			plain = f
		}
	}
	switch {
	case plain != nil && (async == nil || plain.doc != nil || async.line < plain.line):
		return plain
	case async != nil:
		return async
	}
	return private
}

// at is an error of a line.
func at(line int, format string, args ...any) error {
	return core.E(core.Invalid, "line %d: "+format, append([]any{line}, args...)...)
}

// clip keeps a message readable, whatever a source holds.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	for most := most; ; most-- {
		if utf8.RuneStart(s[most]) {
			return s[:most] + "…"
		}
	}
}
