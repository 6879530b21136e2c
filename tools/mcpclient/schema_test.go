package mcpclient

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/core"
)

func offered(t *testing.T, schema string) core.MCPOffer {
	t.Helper()
	tool := &mcp.Tool{Name: "t"}
	if err := json.Unmarshal([]byte(schema), &tool.InputSchema); err != nil {
		t.Fatal(err)
	}
	return offerOf(tool)
}

func TestSchemasBecomeWhatProvidersTake(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object"}`: `{"properties":{},"type":"object"}`,
		`null`:              `{"properties":{},"type":"object"}`,
		`{"$schema":"x","$id":"y","properties":{"a":{"type":"array"}}}`: `` +
			`{"properties":{"a":{"items":{},"type":"array"}},"type":"object"}`,
		`{"type":"object","anyOf":[{"required":["a"]}],"properties":{}}`: `{"properties":{},"type":"object"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"mine"}},` +
			`"$defs":{"A":{"type":"string","description":"its"}}}`: `` +
			`{"properties":{"a":{"description":"mine","type":"string"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/definitions/N"}},` +
			`"definitions":{"N":{"type":"object","properties":{"n":{"$ref":"#/definitions/N"}}}}}`: `` +
			`{"properties":{"a":{"properties":{"n":{}},"type":"object"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":["string","null"],"description":"x\u001b[31my"}},"required":["a","b"]}`: `` +
			`{"properties":{"a":{"description":"xy","type":["string","null"]}},"required":["a"],"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"integer"}},"required":"a"}`: `{"properties":{"a":{"type":"integer"}},"type":"object"}`,
	} {
		if got := offered(t, schema); string(got.Parameters) != want || got.Health == core.MCPInvalid {
			t.Errorf("%s became %s (%s %v)", schema, got.Parameters, got.Health, got.Reasons)
		}
	}
}

func TestTheHealthOfASchemaIsSaidWithItsReasons(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 40) + `{}` + strings.Repeat(`}}`, 40)
	var wide []string
	for i := range 5000 {
		wide = append(wide, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
	}
	bomb := `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`
	for i := range 20 {
		bomb += fmt.Sprintf(`"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	bomb += `"d20":{}}}`
	for schema, want := range map[string]core.MCPHealth{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`: core.MCPStrict,
		`{"type":"object","properties":{"a":{"type":"string"}}}`:                                               core.MCPNonStrict,
		`{"type":"string"}`:                 core.MCPInvalid,
		`[1]`:                               core.MCPInvalid,
		`{"type":"object","properties":[]}`: core.MCPInvalid,
		`{"type":"object","properties":{"a":{"type":"banana"}}}`:   core.MCPInvalid,
		`{"type":"object","properties":{"a b":{}}}`:                core.MCPInvalid,
		`{"type":"object","properties":{"a":{"$ref":"http://x"}}}`: core.MCPInvalid,
		`{"type":"object","properties":{"a":7}}`:                   core.MCPInvalid,
		deep:                                                       core.MCPInvalid,
		bomb:                                                       core.MCPInvalid,
		`{"type":"object","properties":{` + strings.Join(wide, ",") + `}}`: core.MCPInvalid,
	} {
		got := offered(t, schema)
		if got.Health != want || want != core.MCPStrict && len(got.Reasons) == 0 {
			t.Errorf("%.80s is %s, for %v", schema, got.Health, got.Reasons)
		}
		if tool := (&core.MCPTool{ID: "t", Server: "s", Name: "t", MCPOffer: got}); tool.Validate() != nil {
			t.Errorf("%.80s can't be kept: %v", schema, tool.Validate())
		}
	}
}

func FuzzSchemasAreBounded(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"anyOf":[{},true]}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		tool := &mcp.Tool{Name: "t"}
		if json.Unmarshal([]byte(schema), &tool.InputSchema) != nil {
			return
		}
		got := offerOf(tool)
		if !json.Valid(got.Parameters) || len(got.Parameters) > mostSchema {
			t.Errorf("%s", got.Parameters)
		}
	})
}
