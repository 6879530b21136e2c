package arguments

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"loci/core"
)

const sample = `{"type":"object","properties":{
	"path":{"type":"string"},"count":{"type":"integer","minimum":1},"mode":{"type":"string","enum":["any","all"]},
	"edits":{"type":"array","items":{"type":"object",
		"properties":{"old":{"type":"string"},"new":{"type":"string"}},"required":["old","new"]}},
	"either":{"anyOf":[{"type":"string"},{"type":"integer"}]}
},"required":["path"]}`

func compiled(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryFaultIsToldWithItsPath(t *testing.T) {
	t.Parallel()
	s := compiled(t, sample)
	closed := compiled(t, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`)
	for _, tt := range []struct {
		schema *Schema
		text   string
		want   string // empty: nothing is wrong
	}{
		{s, `{"path":"a"}`, ""},
		{s, `{"path":"a","count":2,"mode":"all","edits":[{"old":"a","new":"b"}],"either":1}`, ""},
		{s, `{"path":"a","count":null,"edits":null,"request_heartbeat":true,"other":1}`, ""},
		{s, `{"path":"a","count":2.0}`, ""},
		{closed, `{"a":"x","request_heartbeat":true}`, ""},
		{s, ``, `missing required argument "path"`},
		{s, `{"path":null}`, `argument "path" must be a string, not null`},
		{
			s, `{"count":"2","edits":[{"old":"a","new":"b"},{"old":5}],"mode":"none"}`,
			`argument "count" must be an integer, not a string; argument "edits[1].old" must be a string, not a number; ` +
				`argument "mode" must be one of "any", "all", not "none"; ` +
				`missing required argument "edits[1].new"; missing required argument "path"`,
		},
		{s, `{"path":"a","count":0}`, `argument "count" is not valid: minimum: got 0, want 1`},
		{
			s, `{"path":"a","either":true}`,
			`argument "either" fits none of its forms: argument "either" must be a string, not a boolean, or ` +
				`argument "either" must be an integer, not a boolean`,
		},
		{closed, `{"a":"x","b":1,"c":2}`, `unexpected argument "b"; unexpected argument "c"`},
	} {
		err := tt.schema.Check(tt.text)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.text, err)
			}
			continue
		}
		if core.KindOf(err) != core.Invalid || err.Error() != tt.want {
			t.Errorf("%s: %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

func TestWhatIsToldIsBounded(t *testing.T) {
	t.Parallel()
	var members []string
	for i := range 500 {
		members = append(members, fmt.Sprintf(`"%d%s":1`, i, strings.Repeat("x", 1000)))
	}
	err := compiled(t, `{"type":"object","additionalProperties":{"type":"string"}}`).Check("{" + strings.Join(members, ",") + "}")
	if err == nil || len([]rune(err.Error())) > maxFaults*(maxFault+2)+50 || !strings.HasSuffix(err.Error(), "; and 490 more") {
		t.Errorf("%.200v…", err)
	}
}

func TestASchemaThatMayTakeForeverIsNotJudgedBy(t *testing.T) {
	t.Parallel()
	var laughs strings.Builder
	for i := range 60 {
		fmt.Fprintf(&laughs, `"a%d":{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i+1, i, i)
	}
	for name, text := range map[string]string{
		"references that double": `{"$defs":{` + laughs.String() + `"a0":{"type":"string"}},"$ref":"#/$defs/a60"}`,
		"many cycles":            `{"anyOf":[` + strings.Repeat(`{"properties":{"x":{"$ref":"#"}}},`, 9) + `{"type":"null"}]}`,
		"a file":                 `{"$ref":"file:///etc/passwd"}`,
		"the network":            `{"$ref":"https://example.com/schema.json"}`,
		"an id":                  `{"$id":"https://example.com/x","type":"object"}`,
		"a dynamic reference":    `{"$dynamicRef":"#x"}`,
		"a dangling reference":   `{"$ref":"#/$defs/none"}`,
		"no schema":              `{"type":"strung"}`,
		"no JSON":                `{`,
		"a bad pattern":          `{"pattern":"("}`,
		"too large":              `{"description":"` + strings.Repeat("x", maxSchema) + `"}`,
		"too deep":               strings.Repeat(`{"not":`, 80) + "{}" + strings.Repeat("}", 80),
	} {
		if _, err := Compile(json.RawMessage(text)); err == nil {
			t.Errorf("%s: it is compiled", name)
		}
	}
	if _, err := Compile(nil); err == nil {
		t.Error("nothing is compiled")
	}
}

func TestASchemaThatRefersToItselfIsJudgedInBoundedTime(t *testing.T) {
	t.Parallel()
	s := compiled(t, `{"anyOf":[{"type":"object","properties":{"x":{"$ref":"#"}},"required":["y"]},
		{"type":"object","properties":{"x":{"$ref":"#"}}}]}`)
	deep := func(n int) string { return strings.Repeat(`{"x":`, n) + "1" + strings.Repeat("}", n) }
	begun := time.Now()
	if err := s.Check(deep(maxCyclicDepth)); err == nil {
		t.Error("a number is an object")
	}
	if err := s.Check(deep(maxCyclicDepth + 1)); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Errorf("deeper arguments: %v", err)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	tree := compiled(t, `{"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"},"n":{"type":"integer"}},"required":["n"]}`)
	err := tree.Check(`{"n":1,"left":{"n":2},"right":{"left":{"n":"3"},"n":4}}`)
	if err == nil || !strings.Contains(err.Error(), `"right.left.n"`) {
		t.Errorf("a tree: %v", err)
	}
}

func FuzzAnyArgumentsAreJudged(f *testing.F) {
	f.Add(sample, `{"path":"a","edits":[{}]}`)
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`, `{}`)
	f.Fuzz(func(_ *testing.T, schema, text string) {
		s, err := Compile(json.RawMessage(schema))
		if err != nil {
			return
		}
		if got, err := Read(text); err == nil {
			_ = s.Check(got.JSON)
		}
	})
}

func TestSchemasAreCompiledOnce(t *testing.T) {
	t.Parallel()
	var told strings.Builder
	s := NewSchemas(slog.New(slog.NewTextHandler(&told, nil)))
	for range 3 {
		if err := s.Check(json.RawMessage(sample), `{"path":1}`); err == nil {
			t.Error("a number is a path")
		}
		if err := s.Check(json.RawMessage(`{"type":"strung"}`), `{"path":1}`); err != nil {
			t.Errorf("what is no schema judges: %v", err)
		}
	}
	if n := strings.Count(told.String(), "not checked"); n != 1 {
		t.Errorf("a schema that can't be judged by is told %d times", n)
	}
	for i := range 2 * maxSchemas {
		_ = s.Check(json.RawMessage(fmt.Sprintf(`{"type":"object","minProperties":%d}`, i)), `{}`)
	}
	if len(s.known) > maxSchemas {
		t.Errorf("%d schemas are kept", len(s.known))
	}
}
