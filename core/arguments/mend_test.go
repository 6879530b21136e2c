package arguments

import (
	"encoding/json"
	"strings"
	"testing"

	"loci/core"
)

func TestArgumentsBrokenInOneUnambiguousWayAreMended(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want, mended string }{
		{`{"a":1}`, `{"a":1}`, ""},
		{``, ``, ""},
		{`{"a":1,}`, `{"a":1}`, "comma"},
		{"{\"a\":[1,2 ,\n],\"b\":\",]\"}", "{\"a\":[1,2 \n],\"b\":\",]\"}", "comma"},
		{`{"a":"x"`, `{"a":"x"}`, "closing bracket was missing"},
		{"{\"a\":{\"b\":[true]}\n", `{"a":{"b":[true]}}`, "closing bracket was missing"},
		{"```json\n{\"a\":1}\n```", `{"a":1}`, "fence"},
		{"```\n{\"a\":\"```\"}\n```\n", "{\"a\":\"```\"}", "fence"},
		{"```{\"a\":1}```", `{"a":1}`, "fence"},
		{`{'a':'x','b':['y',1,null]}`, `{"a":"x","b":["y",1,null]}`, "single quotes"},
		{`{'a':'it\'s','b':'1\n2'}`, `{"a":"it's","b":"1\n2"}`, "single quotes"},
	} {
		got, err := Read(tt.text)
		if err != nil || got.JSON != tt.want || (tt.mended == "") != (got.Mended == "") || !strings.Contains(got.Mended, tt.mended) {
			t.Errorf("%s: %+v, %v", tt.text, got, err)
		}
	}
}

func TestArgumentsBrokenOtherwiseGoBack(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"a":1,,}`, `{"a":1,},}`, `{"a":[1,],"b":[2,]}`, `{"a":[1`, `{"a":"x`, `{"a":12`, `{"a":-`, `{"a":`, `{"a"`, `{"a":1,`, `{`, `[`,
		`["a"]`, `["a",]`, `"a"`, `1`, "```json\n[1]\n```", "```json\n{\"a\":1,}\n```", "here: ```{\"a\":1}```", "```{\"a\":1}``` done",
		`{'a':'it's'}`, `{'a':"x"}`, `{'a':'x',}`, `{a:1}`, `{"a":1}}`, `{"a":1}{"b":2}`, `{"a":True}`, "{\"a\":\"x\n\"}", `{'a':'x'`,
		strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), strings.Repeat("[", 100_000),
	} {
		if got, err := Read(text); core.KindOf(err) != core.Invalid {
			t.Errorf("%.60s: %+v, %v", text, got, err)
		}
	}
	if _, err := Read(`{"a":"` + strings.Repeat("x", maxText) + `"}`); core.KindOf(err) != core.TooLarge {
		t.Errorf("endless arguments: %v", err)
	}
}

func FuzzWhatIsMendedIsAnObjectThatNeedsNoMending(f *testing.F) {
	for _, seed := range []string{`{"a":1,}`, `{"a":"x"`, "```json\n{}\n```", `{'a':'x'}`, `{"a":[1,2,],}`, `{'a':'it\'s'}`, `{"a":"\`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Read(text)
		if err != nil {
			return
		}
		if got.Mended == "" {
			if got.JSON != text {
				t.Errorf("%q was changed and nothing says so", text)
			}
			return
		}
		var object map[string]any
		if json.Unmarshal([]byte(got.JSON), &object) != nil {
			t.Errorf("%q was mended to %q", text, got.JSON)
		}
		if again, err := Read(got.JSON); err != nil || again.Mended != "" {
			t.Errorf("%q was mended to %q, which is broken, too", text, got.JSON)
		}
	})
}
