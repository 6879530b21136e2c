package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"loci/core"
)

// maxErrorChars limits the text of an error that a model reads.
const maxErrorChars = 1000

// Func implements a tool. An error of kind invalid or too_large is shown to the model, both here and in the result's
// Apply; any other error means that Loci failed.
type Func[Args any] func(ctx context.Context, args Args, env core.ToolEnv) (core.ToolResult, error)

// Typed makes a tool from a function. Args is a struct: its json tags name the arguments, omitempty makes one optional,
// the jsonschema tag describes it, and an enum tag lists its allowed values, separated by commas. Typed panics on a
// struct without a schema: that is a bug, and the catalogue's test finds it.
func Typed[Args any](name, doc string, fn Func[Args]) core.BoundTool {
	params, schema := parametersOf[Args]()
	encoded, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("tool %s has no schema: %v", name, err))
	}
	if len(params) == 0 { // some servers refuse an object without properties
		encoded = []byte(`{"type":"object","properties":{}}`)
	}
	spec := core.ToolSpec{Name: name, Description: doc, Parameters: encoded}
	return core.BoundTool{
		Info: core.ToolInfo{ID: core.BuiltinToolID(name), Kind: core.ToolCore, Effect: core.EffectFacts, Spec: spec},
		Tool: &typedTool[Args]{spec: spec, params: params, fn: fn},
	}
}

type typedTool[Args any] struct {
	spec   core.ToolSpec
	params []parameter
	fn     Func[Args]
}

// Spec implements core.Tool.
func (t *typedTool[Args]) Spec() core.ToolSpec { return t.spec }

// Call implements core.Tool.
func (t *typedTool[Args]) Call(ctx context.Context, call core.ToolCall, env core.ToolEnv) (core.ToolResult, error) {
	var args Args
	if err := decode(t.params, call.Arguments, reflect.ValueOf(&args).Elem()); err != nil {
		return t.told("TypeError", err), nil
	}
	result, err := t.fn(ctx, args, env)
	if err != nil {
		return t.failed(err)
	}
	if apply := result.Apply; apply != nil {
		result.Apply = func(ctx context.Context, tx core.ToolEdits) (core.ToolResult, error) {
			applied, err := apply(ctx, tx)
			if err != nil {
				return t.failed(err)
			}
			return applied, nil
		}
	}
	return result, nil
}

// widened joins two tools of one name: the contract's, and the one with more arguments that the terminal's agents get.
func widened(contract, terminal core.BoundTool) core.BoundTool {
	contract.Info.Wider = &terminal.Info.Spec
	contract.Tool = &widenedTool{contract.Tool, terminal.Tool}
	return contract
}

type widenedTool struct{ contract, terminal core.Tool }

// Spec implements core.Tool.
func (t *widenedTool) Spec() core.ToolSpec { return t.contract.Spec() }

// Call implements core.Tool.
func (t *widenedTool) Call(ctx context.Context, call core.ToolCall, env core.ToolEnv) (core.ToolResult, error) {
	if env.Agent.Terminal {
		return t.terminal.Call(ctx, call, env)
	}
	return t.contract.Call(ctx, call, env)
}

// failed tells the model about errors it can fix, and passes on the others.
func (t *typedTool[Args]) failed(err error) (core.ToolResult, error) {
	var e *core.Error
	if errors.As(err, &e) && (e.Kind == core.Invalid || e.Kind == core.TooLarge) {
		return t.told("ValueError", err), nil
	}
	return core.ToolResult{}, err
}

func (t *typedTool[Args]) told(class string, err error) core.ToolResult {
	text := fmt.Sprintf("Error executing function %s: %s: %s", t.spec.Name, class, err.Error())
	if utf8.RuneCountInString(text) > maxErrorChars {
		text = string([]rune(text)[:maxErrorChars-1]) + "…"
	}
	return core.ToolError(text)
}

// parameter is one argument of a tool.
type parameter struct {
	name     string
	field    []int
	required bool
	kind     string // in words, for errors
	enum     []string
}

// parametersOf derives arguments and schema. It leaves out what JSON Schema allows but models need not know (null
// instead of an absent list, closed objects), because every word of a schema is sent with every request.
func parametersOf[Args any]() ([]parameter, *jsonschema.Schema) {
	schema, err := jsonschema.For[Args](nil)
	if err != nil {
		panic(fmt.Sprintf("arguments %T have no schema: %v", *new(Args), err))
	}
	simplify(schema)
	var params []parameter
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Args]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := schema.Properties[name]
		if property == nil {
			panic(fmt.Sprintf("field %s of %T is not in its schema", field.Name, *new(Args)))
		}
		p := parameter{name: name, field: field.Index, required: slices.Contains(schema.Required, name), kind: kindOf(property)}
		if enum := field.Tag.Get("enum"); enum != "" {
			p.enum = strings.Split(enum, ",")
			setEnum(property, p.enum)
		}
		params = append(params, p)
	}
	return params, schema
}

// simplify removes what models need not know, here and in nested schemas.
func simplify(s *jsonschema.Schema) {
	s.AdditionalProperties = nil
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		simplify(p)
	}
	if s.Items != nil {
		simplify(s.Items)
	}
}

func setEnum(property *jsonschema.Schema, values []string) {
	target := property
	if property.Items != nil {
		target = property.Items
	}
	for _, v := range values {
		target.Enum = append(target.Enum, v)
	}
}

func kindOf(s *jsonschema.Schema) string {
	switch {
	case s.Type == "array" && s.Items != nil:
		return "a list of " + s.Items.Type + "s"
	case s.Type == "integer":
		return "an integer"
	default:
		return "a " + s.Type
	}
}

// heartbeatArgument is for the loop, not for the tool: models that know it from earlier turns send it unasked.
const heartbeatArgument = "request_heartbeat"

// decode reads a call's arguments into a struct. Null stands for an absent optional argument.
func decode(params []parameter, arguments string, into reflect.Value) error {
	raw := map[string]json.RawMessage{}
	if strings.TrimSpace(arguments) != "" {
		if err := json.Unmarshal([]byte(arguments), &raw); err != nil {
			return core.E(core.Invalid, "the arguments are not a JSON object: %v", err)
		}
	}
	delete(raw, heartbeatArgument)
	for name := range raw {
		if !slices.ContainsFunc(params, func(p parameter) bool { return p.name == name }) {
			return core.E(core.Invalid, "unexpected argument %q; the arguments are %s", name, names(params))
		}
	}
	for _, p := range params {
		value, given := raw[p.name]
		if !given || string(value) == "null" {
			if p.required {
				return core.E(core.Invalid, "missing required argument %q, %s", p.name, p.kind)
			}
			continue
		}
		if err := p.decode(value, into.FieldByIndex(p.field)); err != nil {
			return err
		}
	}
	return nil
}

func (p parameter) decode(value json.RawMessage, into reflect.Value) error {
	if err := json.Unmarshal(value, into.Addr().Interface()); err != nil {
		return core.E(core.Invalid, "argument %q must be %s, not %s", p.name, p.kind, short(value))
	}
	if p.enum == nil {
		return nil
	}
	var given []string
	switch v := into.Interface().(type) {
	case string:
		given = []string{v}
	case []string:
		given = v
	}
	for _, v := range given {
		if !slices.Contains(p.enum, v) {
			return core.E(core.Invalid, "argument %q must be one of %s, not %q", p.name, strings.Join(p.enum, ", "), v)
		}
	}
	return nil
}

func names(params []parameter) string {
	if len(params) == 0 {
		return "none"
	}
	var all []string
	for _, p := range params {
		all = append(all, p.name)
	}
	return strings.Join(all, ", ")
}

func short(value json.RawMessage) string {
	const most = 80
	if r := []rune(string(value)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(value)
}
