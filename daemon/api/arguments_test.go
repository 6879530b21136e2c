package api_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"loci/daemon/api"
)

func TestArgumentsKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	const args = `"args":{"a":9007199254740993,"b":[1234567890123456789012]}`
	for text, into := range map[string]any{
		`{"source_code":"x",` + args + `}`: &api.RunSource{},
		`{` + args + `}`:                   &api.RunTool{},
		`{"tool_name":"f",` + args + `}`:   &api.ToolRule{},
		`{"name":"f",` + args + `}`:        &api.ToolCallNode{},
	} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(into); err != nil || string(got) != text {
			t.Errorf("%s of %s, %v", got, reflect.TypeOf(into), err)
		}
	}
}
