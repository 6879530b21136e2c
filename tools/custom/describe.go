package custom

import (
	"bytes"
	"encoding/json"

	"loci/core"
	"loci/tools/custom/pysource"
)

// Describe implements core.ToolMaker.
func (b *Box) Describe(t *core.CustomTool) error {
	if len(t.Source) > core.MaxToolSource {
		return core.E(core.TooLarge, "the source has %d bytes; at most %d are kept", len(t.Source), core.MaxToolSource)
	}
	switch t.Language {
	case core.LanguagePython:
		return describePython(t)
	case core.LanguageTypeScript:
		if t.Name == "" || t.Parameters == nil {
			return core.E(core.Invalid, "a tool in TypeScript needs json_schema, with its name and parameters")
		}
		return nil
	case core.LanguageProgram: // it stands in a file, whose header says it
	}
	return core.E(core.Invalid, "source_type %q is not known; it can be %s or %s", t.Language, core.LanguagePython, core.LanguageTypeScript)
}

func describePython(t *core.CustomTool) error {
	given := t.Parameters
	if given == nil {
		given = t.ArgsSchema
	}
	if given == nil {
		found, err := pysource.Describe([]byte(t.Source), t.Name)
		if err != nil {
			return underived(err)
		}
		if t.Parameters, err = json.Marshal(found.Parameters); err != nil {
			return core.E(core.Internal, "write a schema: %w", err)
		}
		t.Name = found.Name
		if t.Description == "" {
			t.Description = found.Description
		}
		return nil
	}
	head, err := pysource.Head([]byte(t.Source), t.Name)
	if err != nil {
		return underived(err)
	}
	t.Name = head.Name
	if t.Description == "" {
		t.Description = head.Description
	}
	if t.Description == "" {
		t.Description = "The " + t.Name + " tool"
	}
	t.Parameters, err = asParameters(given)
	return err
}

// asParameters makes what is stored of a schema of arguments: an object, as models are told.
func asParameters(schema json.RawMessage) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(schema, &object); err != nil || object == nil {
		return nil, core.E(core.Invalid, "the schema of the arguments is no JSON object")
	}
	if object["type"] == nil {
		object["type"] = json.RawMessage(`"object"`)
	}
	if object["properties"] == nil {
		object["properties"] = json.RawMessage(`{}`)
	}
	if string(object["type"]) != `"object"` {
		return nil, core.E(core.Invalid, "the schema of the arguments describes no object")
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(object); err != nil {
		return nil, core.E(core.Internal, "write a schema: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// underived says what is asked for of a source that can't be described.
func underived(err error) error {
	return core.E(core.KindOf(err), "Failed to derive json schema: %w", err).
		WithHint("give each parameter a type and a line under Args: in the docstring, or send json_schema")
}
