package structured_test

import (
	"strings"
	"testing"

	"loci/core"
	"loci/core/structured"
)

// city asks for an object with a name and, if it is known, a number of people.
func city() map[string]any {
	return map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "city", "schema": map[string]any{
		"type": "object", "required": []any{"name"}, "additionalProperties": false,
		"properties": map[string]any{"name": map[string]any{"type": "string"}, "people": map[string]any{"type": "integer", "minimum": 0}},
	}}}
}

func TestAnAnswerThatFitsIsItsValue(t *testing.T) {
	t.Parallel()
	form, err := structured.Of(city())
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{
		`{"name":"Oslo"}`:                            `{"name":"Oslo"}`,
		" {\"name\": \"Oslo\", \"people\": 7e2}\n":   `{"name": "Oslo", "people": 7e2}`,
		"```json\n{\"name\":\"```\"}\n```":           "{\"name\":\"```\"}",
		"```\n{\"name\":\"a\"}```":                   `{"name":"a"}`,
		`{"name":"\u001b[31m"}`:                      `{"name":"\u001b[31m"}`,
		`{"name":"a","people":12345678901234567890}`: `{"name":"a","people":12345678901234567890}`,
	} {
		if got, err := form.Value(answer); err != nil || got != want {
			t.Errorf("%q: got %q, %v", answer, got, err)
		}
	}
}

func TestWhatIsWrongWithAnAnswerIsSaid(t *testing.T) {
	t.Parallel()
	form, err := structured.Of(city())
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{
		"":                                   "it is empty",
		"Oslo.":                              "it is not JSON",
		`Here it is: {"name":"Oslo"}`:        "it is not JSON",
		`{"name":"Oslo"} {"name":"Rome"}`:    "it is not JSON",
		"```yaml\n{\"name\":\"Oslo\"}\n```":  "it is not JSON",
		`{}`:                                 `missing required member "name"`,
		`{"name":null}`:                      `member "name" must be a string, not null`,
		`{"name":"Oslo","people":-1}`:        `member "people" is not valid: minimum: got -1, want 0`,
		`{"name":"argument \"x\"","more":1}`: `unexpected member "more"`,
		`["Oslo"]`:                           "the whole of it must be an object, not a list",
		strings.Repeat("[", 70) + strings.Repeat("]", 70): "the answer is nested too deeply",
	} {
		_, err := form.Value(answer)
		if core.KindOf(err) != core.SchemaMismatch || err.Error() != want {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

func TestAnObjectOfAnyKindIsOne(t *testing.T) {
	t.Parallel()
	form, err := structured.Of(map[string]any{"type": "json_object"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := form.Value(`{"a":[1]}`); got != `{"a":[1]}` || err != nil {
		t.Error(got, err)
	}
	if _, err := form.Value(`[1]`); core.KindOf(err) != core.SchemaMismatch {
		t.Error(err)
	}
}

func TestTextHasNoForm(t *testing.T) {
	t.Parallel()
	for _, format := range []any{nil, map[string]any{"type": "text"}, map[string]any{}, "json_object"} {
		if form, err := structured.Of(format); form != nil || err != nil {
			t.Errorf("%v: %v, %v", format, form, err)
		}
	}
}

func TestASchemaThatNobodyCanJudgeByIsRefused(t *testing.T) {
	t.Parallel()
	deep := map[string]any{"type": "string"}
	for range 80 {
		deep = map[string]any{"type": "array", "items": deep}
	}
	for name, schema := range map[string]any{
		"no schema":         "object",
		"an unknown type":   map[string]any{"type": "text"},
		"a broken pattern":  map[string]any{"type": "string", "pattern": "("},
		"another document":  map[string]any{"$ref": "https://example.com/schema.json"},
		"itself":            map[string]any{"$ref": "#"},
		"too deep":          deep,
		"too long":          map[string]any{"type": "string", "description": strings.Repeat("x", 300<<10)},
		"a required number": map[string]any{"type": "object", "required": 1},
	} {
		format := map[string]any{"type": "json_schema", "json_schema": map[string]any{"schema": schema}}
		if _, err := structured.Of(format); core.KindOf(err) != core.Invalid && core.KindOf(err) != core.TooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
}
