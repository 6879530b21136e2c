package arguments

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"loci/core"
)

func TestASchemaOfAnotherKindIsRefusedWithASentence(t *testing.T) {
	t.Parallel()
	loop := `{"$defs":{"a":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}},"$ref":"#/$defs/a"}`
	for name, tt := range map[string]struct{ text, want string }{
		"an unknown draft":        {`{"$schema":"https://example.com/own"}`, `written in "https://example.com/own"; drafts 6, 7`},
		"a draft of before":       {`{"$schema":"http://json-schema.org/draft-04/schema#"}`, "drafts 6, 7"},
		"a draft that is no text": {`{"$schema":5}`, "drafts 6, 7"},
		"a loop":                  {`{"$ref":"#"}`, "without end"},
		"a loop of forms":         {loop, "without end"},
		"a word as a number":      {`{"minimum":"1"}`, "minimum must be a number"},
		"half a length":           {`{"minLength":1.5}`, "minLength must be a whole number"},
		"an endless bound":        {`{"maximum":1e999999999}`, "maximum must be a number"},
		"no divisor":              {`{"multipleOf":0}`, "multipleOf must be more than 0"},
		"names that aren't":       {`{"required":true}`, "required must be a list of texts"},
		"a member of nothing":     {`{"properties":{"a":null}}`, "not null"},
		"a pattern of others":     {`{"pattern":"(?=a)b"}`, `its pattern "(?=a)b" can't be read`},
		"too many patterns":       {`{"pattern":"` + strings.Repeat("x{1000}", 2000) + `"}`, "must be shorter"},
		"a list as a form":        {`{"not":[]}`, "not array"},
	} {
		if _, err := Compile(json.RawMessage(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func ofA(schema string) string { return `{"properties":{"a":` + schema + `}}` }

func TestHostileArgumentsAreJudgedInBoundedTime(t *testing.T) {
	t.Parallel()
	enum, forms := "0", "false"
	for i := range 5_000 {
		enum, forms = enum+fmt.Sprintf(",%d", i), forms+fmt.Sprintf(`,{"const":"%d"}`, i)
	}
	long := strings.Repeat("a", 1<<20)
	var names []string
	for i := range 50_000 {
		names = append(names, fmt.Sprintf(`"n%d":1`, i))
	}
	many := "[" + strings.TrimSuffix(strings.Repeat("[1],", 200_000), ",") + "]"
	for name, tt := range map[string]struct{ schema, text, want string }{
		"a catastrophic pattern":     {`{"properties":{"a":{"pattern":"^(a+)+$"}}}`, `{"a":"` + long + `!"}`, "does not match"},
		"a large enum, many times":   {ofA(`{"items":{"enum":[` + enum + `]}}`), `{"a":` + many + `}`, "and "},
		"a long text and many forms": {ofA(`{"anyOf":[` + forms + `]}`), `{"a":"` + long + `"}`, "take too long"},
		"many unexpected names":      {`{"additionalProperties":false}`, "{" + strings.Join(names, ",") + "}", "unexpected"},
		"equal elements":             {`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":` + many + `}`, "are equal"},
		"an endless number":          {`{"properties":{"a":{"maximum":5}}}`, `{"a":1e999999999}`, "too large"},
		"an endless integer":         {`{"properties":{"a":{"type":"integer"}}}`, `{"a":1e999999999}`, "must be an integer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := compiled(t, tt.schema)
			begun := time.Now()
			err := s.Check(tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 10_000 {
				t.Errorf("%.300v, want %q", err, tt.want)
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestWorkWithoutEndIsGivenUp(t *testing.T) {
	t.Parallel()
	s := compiled(t, `{"properties":{"a":{"items":{"allOf":[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]}}}}`)
	err := s.Check(`{"a":[` + strings.TrimSuffix(strings.Repeat("1,", 300_000), ",") + `]}`)
	if core.KindOf(err) != core.TooLarge {
		t.Errorf("%.200v", err)
	}
}

func TestExactNumbersAreCompared(t *testing.T) {
	t.Parallel()
	s := compiled(t, `{"properties":{"id":{"enum":[9007199254740993,"x"]},"n":{"maximum":9007199254740993},"m":{"multipleOf":0.01}}}`)
	for text, ok := range map[string]bool{
		`{"id":9007199254740993}`: true, `{"id":9007199254740992}`: false, `{"id":9007199254740993.0}`: true,
		`{"n":9007199254740993}`: true, `{"n":9007199254740994}`: false, `{"m":4.02}`: true, `{"m":4.025}`: false,
	} {
		if err := s.Check(text); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
