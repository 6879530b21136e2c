package arguments

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"loci/core"
)

// heartbeat is an argument of the loop, which tools may be given and ignore.
const heartbeat = "request_heartbeat"

// Schema judges the arguments of one tool.
type Schema struct {
	compiled *jsonschema.Schema
	cyclic   bool // it refers to itself
	own      bool // heartbeat is an argument of the tool's own
}

// nowhere loads nothing: a schema is complete as it is.
type nowhere struct{}

// Load implements jsonschema.URLLoader.
func (nowhere) Load(url string) (any, error) {
	return nil, core.E(core.Unsupported, "a schema can't be loaded from %s", url)
}

const schemaName = "arguments.json"

// Compile reads a schema. One that is no schema, or that would take too long to judge by, is an error.
func Compile(text json.RawMessage) (*Schema, error) {
	if len(text) > maxSchema || depth(string(text)) > maxDepth {
		return nil, core.E(core.TooLarge, "the schema is too large or nested too deeply")
	}
	value, err := decode(string(text))
	if err != nil {
		return nil, core.E(core.Invalid, "the schema is not JSON: %w", err)
	}
	cyclic, err := affordable(value)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	if err := c.AddResource(schemaName, value); err != nil {
		return nil, core.E(core.Invalid, "the schema is not valid: %w", err)
	}
	compiled, err := c.Compile(schemaName)
	if err != nil {
		return nil, core.E(core.Invalid, "the schema is not valid: %w", err)
	}
	_, own := compiled.Properties[heartbeat]
	return &Schema{compiled: compiled, cyclic: cyclic, own: own}, nil
}

// Check returns what is wrong with arguments that Read returned, all of it in one error; nil if nothing is. An argument
// that is null counts as one that wasn't given, where the schema doesn't say otherwise.
func (s *Schema) Check(text string) error {
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	value, err := decode(text)
	if err != nil {
		return core.E(core.Invalid, "the arguments are not a JSON object: %w", err)
	}
	if s.cyclic && depth(text) > maxCyclicDepth {
		return core.E(core.Invalid, "the arguments are nested more than %d deep", maxCyclicDepth)
	}
	if object, ok := value.(map[string]any); ok && !s.own {
		delete(object, heartbeat)
	}
	err = s.compiled.Validate(value)
	if err == nil || s.compiled.Validate(withoutNulls(value)) == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return core.E(core.Invalid, "the arguments can't be judged: %w", err)
	}
	return core.E(core.Invalid, "%s", tell(invalid))
}

// withoutNulls returns the value without the members of objects that are null.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := make(map[string]any, len(v))
		for name, member := range v {
			if member != nil {
				kept[name] = withoutNulls(member)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, element := range v {
			kept[i] = withoutNulls(element)
		}
		return kept
	}
	return value
}
