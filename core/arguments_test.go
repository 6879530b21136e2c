package core_test

import (
	"encoding/json"
	"testing"

	"loci/core"
)

func TestArgumentsKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`{"a":9007199254740993}`:            `{"a":9007199254740993}`,
		`{"a":[-1234567890123456789012]}`:   `{"a":[-1234567890123456789012]}`,
		`{"a":{"b":0.1000000000000000055}}`: `{"a":{"b":0.1000000000000000055}}`,
		`{"a":1e400}`:                       `{"a":1e400}`,
		`{"a":1e-999999999}`:                `{"a":1e-999999999}`,
		`{"a":[5.0,0.0,2e3]}`:               `{"a":[5,0,2000]}`, // an integer, in whatever way it is written
		`{"a":9007199254740993.0}`:          `{"a":9007199254740993}`,
		`{"a":1e21}`:                        `{"a":1e21}`,
		``:                                  `{}`,
		`null`:                              `{}`,
	} {
		args, err := core.ParseArguments(given)
		if err != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		if got, err := json.Marshal(args); err != nil || string(got) != want {
			t.Errorf("%s became %s, %v", given, got, err)
		}
	}
	for _, bad := range []string{`{} {}`, `{"a":1}]`, `[1]`, `1`, `{`, `{"a":01}`} {
		if args, err := core.ParseArguments(bad); core.KindOf(err) != core.Invalid {
			t.Errorf("%s became %v, %v", bad, args, err)
		}
	}
}

func TestArgumentsOfARuleKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	const text = `{"type":"run_first","tool_name":"f","child_arg_nodes":[{"name":"g","args":{"b":9007199254740995}}],` +
		`"args":{"a":9007199254740993}}`
	var r core.ToolRule
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(r); err != nil || string(got) != text {
		t.Errorf("%s, %v", got, err)
	}
}
