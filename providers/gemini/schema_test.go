package gemini_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers/gemini"
	"loci/providers/providertest"
)

// schemas are parameters of tools and what is sent of them: nothing, in OpenAPI's words, or in those of JSON Schema.
var schemas = map[string]struct{ in, open, json string }{
	"plain": {
		in: `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer","minimum":1}},"required":["b"],
			"additionalProperties":false}`,
		open: `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer","minimum":1}},"required":["b"],
			"propertyOrdering":["b","a"]}`,
	},
	"nothing":          {in: `{"type":"object","properties":{}}`},
	"no schema at all": {in: ``},
	"no object":        {in: `{"type":"string"}`},
	"what may be missing": {
		in: `{"type":"object","properties":{"a":{"type":["string","null"],"description":"A."},
			"b":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`,
		open: `{"type":"object","properties":{"a":{"type":"string","nullable":true,"description":"A."},"b":{"type":"integer",
			"nullable":true}},"propertyOrdering":["a","b"]}`,
	},
	"one of several": {
		in: `{"type":"object","properties":{"a":{"description":"When.",
			"oneOf":[{"type":"string","description":"A day."},{"type":"integer"}]},
			"b":{"type":["string","integer"]}}}`,
		open: `{"type":"object","properties":{"a":{"anyOf":[{"type":"string","description":"When. A day."},{"type":"integer",
			"description":"When."}]},
			"b":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"propertyOrdering":["a","b"]}`,
	},
	"references": {
		in: `{"type":"object","properties":{"at":{"$ref":"#/$defs/place","description":"Where."},"all":{"type":"array",
			"items":{"$ref":"#/$defs/place"}}},
			"$defs":{"place":{"type":"object","description":"A place.","properties":{"city":{"type":"string"}}}}}`,
		open: `{"type":"object","properties":{"at":{"type":"object","description":"Where.","properties":{"city":{"type":"string"}}},
			"all":{"type":"array","items":{"type":"object","description":"A place.","properties":{"city":{"type":"string"}}}}},
			"propertyOrdering":["at","all"]}`,
	},
	"all of several": {
		in: `{"type":"object","properties":{"a":{"allOf":[{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]},
			{"properties":{"y":{"type":"string"}},"required":["y"]}]}}}`,
		open: `{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},
			"required":["x","y"]}}}`,
	},
	"values": {
		in: `{"type":"object","properties":{"a":{"const":"x"},"b":{"enum":["p","q",null]},"c":{"type":"integer","enum":[1,2]},
			"d":{"const":true}}}`,
		open: `{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"type":"string","enum":["p","q"],"nullable":true},
			"c":{"type":"integer","description":"(one of: [1,2])"},"d":{"type":"boolean","description":"(one of: [true])"}},
			"propertyOrdering":["a","b","c","d"]}`,
	},
	"what has no keyword": {
		in: `{"type":"object","properties":{"a":{"type":"string","format":"uri","default":"x","description":"An address."},
			"b":{"type":"integer","exclusiveMinimum":0,"multipleOf":5},"c":{"type":"number","exclusiveMaximum":1.5},"d":{"type":"string",
			"format":"date-time"}}}`,
		open: `{"type":"object","properties":{"a":{"type":"string","description":"An address. (default: \"x\", format: \"uri\")"},
			"b":{"type":"integer","minimum":1,"description":"(multipleOf: 5)"},
			"c":{"type":"number","description":"(exclusiveMaximum: 1.5)"},
			"d":{"type":"string","format":"date-time"}},"propertyOrdering":["a","b","c","d"]}`,
	},
	"more properties than are named": {
		in:   `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"integer"}}`,
		open: `{"type":"object","properties":{"a":{"type":"string"}},"description":"(additionalProperties: {\"type\":\"integer\"})"}`,
	},
	"properties of any name": {
		in: `{"type":"object","properties":{"env":{"type":"object","additionalProperties":{"type":"string","pattern":"^x"}},
			"any":{},"or":{"type":["string","null"]},"n":{"type":"integer","enum":[1,2]}}}`,
		json: `{"type":"object","properties":{"env":{"type":"object",
			"additionalProperties":{"type":"string","description":"(pattern: \"^x\")"}},
			"any":{},"or":{"type":["string","null"]},"n":{"type":"integer","enum":[1,2]}},"propertyOrdering":["env","any","or","n"]}`,
	},
	"a property of the name of a keyword": {
		in: `{"type":"object","properties":{"properties":{"type":"string"},"$ref":{"type":"string"}},"required":["properties","gone"]}`,
		open: `{"type":"object","properties":{"properties":{"type":"string"},"$ref":{"type":"string"}},"required":["properties"],
			"propertyOrdering":["properties","$ref"]}`,
	},
}

// toolSent asks with one tool and returns what was sent of it.
func toolSent(t *testing.T, schema string) (open, asJSON json.RawMessage) {
	t.Helper()
	s := service(t, providertest.Turn{Text: "ok"})
	req := providertest.Ask("gemini-3.8-flash", "hello")
	req.Tools = []core.ToolSpec{{Name: "tool", Parameters: json.RawMessage(schema)}}
	if _, err := providertest.Collect(t.Context(), t, newClient(t, s, "k", gemini.Quirks{}), req); err != nil {
		t.Fatal(err)
	}
	var body struct {
		Tools []struct {
			Functions []struct {
				Parameters json.RawMessage `json:"parameters"`
				JSON       json.RawMessage `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(s.Last().Body, &body); err != nil {
		t.Fatal(err)
	}
	f := body.Tools[0].Functions[0]
	return f.Parameters, f.JSON
}

func TestASchemaSaysTheSameInTheWordsThatAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range schemas {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open, asJSON := toolSent(t, c.in)
			for which, got := range map[string][2]string{"open": {c.open, string(open)}, "json": {c.json, string(asJSON)}} {
				var want, have any
				if errs := json.Unmarshal([]byte(got[0]), &want); got[0] != "" && errs != nil {
					t.Fatal(errs)
				}
				_ = json.Unmarshal([]byte(got[1]), &have) // nothing, if nothing was sent
				if diff := cmp.Diff(want, have); diff != "" {
					t.Errorf("%s: %s\nsent: %s", which, diff, got[1])
				}
			}
		})
	}
}

func TestASchemaThatRefersToItselfEnds(t *testing.T) {
	t.Parallel()
	const tree = `{"type":"object","properties":{"name":{"type":"string"},"left":{"$ref":"#"},"right":{"$ref":"#"}}}`
	open, asJSON := toolSent(t, tree)
	if open != nil || len(asJSON) < 100 || len(asJSON) > 200_000 {
		t.Errorf("%d and %d bytes", len(open), len(asJSON))
	}
	for _, loop := range []string{`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `{"type":"object",
			"properties":{"a":{"$ref":"#/properties/a"}}}`} {
		toolSent(t, loop)
	}
	deep := strings.Repeat(`{"type":"array","items":`, 5000) + `{"type":"string"}` + strings.Repeat("}", 5000)
	toolSent(t, `{"type":"object","properties":{"a":`+deep+`}}`)
}
