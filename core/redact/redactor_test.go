package redact

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"loci/core"
)

func TestARedactorLeavesNothingAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, in, want string
		fold           bool
	}{
		"span":       {text: "Ada Lovelace", in: "so Ada Lovelace said", want: "so [forgotten] said"},
		"twice":      {text: "abcd", in: "abcdabcd", want: "[forgotten][forgotten]"},
		"mark":       {text: "forgotten", in: "not forgotten", want: "not [removed]"},
		"both marks": {text: "[removed", in: "a[removed]", want: "a[forgotten]]"},
		"made anew":  {text: "]end", in: "]endend", want: "[forgotten[forgotten]"},
		"case":       {text: "ÜBER uns", in: "Alles über Uns", want: "Alles [forgotten]", fold: true},
		"no case":    {text: "Über", in: "über", want: "über"},
		"escaped":    {text: "a\"b\nc", in: `{"x":"a\"b\nc"}`, want: `{"x":"[forgotten]"}`},
		"ascii":      {text: "Ada 🚀", in: `"Ada \ud83d\ude80"`, want: `"[forgotten]"`},
		// as JavaScript and Python write it
		"unescaped":  {text: "a\"b\u2028c", in: "{\"x\":\"a\\\"b\u2028c\"}", want: `{"x":"[forgotten]"}`},
		"slashes":    {text: "https://a/b", in: `"https:\/\/a\/b"`, want: `"[forgotten]"`}, // as PHP does
		"any digits": {text: "a über", in: `"a \u00FCber"`, want: `"[forgotten]"`},         // as .NET does
		"ascii case": {text: "ÜBER Öl", in: `"\u00fcber \u00f6L, \u00DCBER \u00D6L"`, want: `"[forgotten], [forgotten]"`, fold: true},
		"twice deep": {text: "a\"b\nc", in: `"{\"x\":\"a\\\"b\\nc\"}"`, want: `"{\"x\":\"[forgotten]\"}"`},
	} {
		if got := New([]string{c.text}, c.fold).Text(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestATextIsFoundInAnyMixOfComposedAndDecomposedLetters(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]struct {
		text string
		ways [][]string // of each of its letters
	}{
		"accents": {"d\u00e9j\u00e0 \u017d\u00fcrich", [][]string{
			{"d"}, {"\u00e9", "e\u0301"}, {"j"}, {"\u00e0", "a\u0300"}, {" "}, {"\u017d", "Z\u030c"}, {"\u00fc", "u\u0308"}, {"rich"},
		}},
		"two marks": {"Vi\u1ec7t b\u1ea1n", [][]string{
			{"Vi"}, {"\u1ec7", "e\u0323\u0302", "\u1eb9\u0302", "\u00ea\u0323"}, {"t b"}, {"\u1ea1", "a\u0323"}, {"n"},
		}},
		"as Windows types": {"Vi\u00ea\u0323t \u1ebf", [][]string{
			{"Vi"}, {"\u1ec7", "e\u0323\u0302", "\u00ea\u0323"}, {"t "}, {"\u1ebf", "\u00ea\u0301", "e\u0302\u0301"},
		}},
		"syllables": {"\ud55c\uad6d\uc5b4\uc694", [][]string{
			{"\ud55c", "\u1112\u1161\u11ab", "\ud558\u11ab"},
			{"\uad6d", "\u1100\u116e\u11a8"},
			{"\uc5b4", "\u110b\u1165"},
			{"\uc694", "\u110b\u116d"},
		}},
		"nothing plain": {"\u00e9\u00e0\u00fc\u00f6", [][]string{
			{"\u00e9", "e\u0301"}, {"\u00e0", "a\u0300"}, {"\u00fc", "u\u0308"}, {"\u00f6", "o\u0308"},
		}},
	} {
		for range 50 {
			in := ""
			for _, ways := range c.ways {
				in += ways[r.IntN(len(ways))]
			}
			for _, fold := range []bool{false, true} {
				forget, typed := New([]string{c.text}, fold), in
				if fold {
					typed = strings.ToUpper(in)
				}
				for _, w := range []string{typed, asciiJSON(typed), asciiJSON(asciiJSON(typed))} {
					if got := forget.Text("so " + w + " it is"); got != "so [forgotten] it is" {
						t.Errorf("%s, any case %t: %+q became %+q", name, fold, w, got)
					}
				}
			}
		}
	}
}

func TestAVeryLongTextIsFoundAsItIsAndInTheNormalForms(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("\u00e9 in Z\u030curich ", maxMixed/10)
	r := New([]string{text}, false)
	for _, in := range []string{text, norm.NFC.String(text), norm.NFD.String(text)} {
		if got := r.Text("so " + asciiJSON(in) + "it is"); got != "so [forgotten]it is" {
			t.Errorf("%d bytes are left", len(got))
		}
	}
}

func TestTheStructureOfADocumentStays(t *testing.T) {
	t.Parallel()
	r := New([]string{"user", "text", "1234", "name"}, false)
	r.Declared, r.Tools = map[string]bool{"name": true, "text": true}, map[string]bool{"text": true}
	for in, want := range map[string]string{
		`{"type":"text","text":"a text"}`: `{"type":"text","text":"a [forgotten]"}`,
		`{"role":"user", "id":"message-12340000-0000-4000-8000-000000001234"}`: `{"role":"user", ` +
			`"id":"message-12340000-0000-4000-8000-000000001234"}`,
		`{"call":{"name":"text","arguments":"{\"name\":\"user\"}"}}`: `{"call":{"name":"text","arguments":"{\"name\":\"[forgotten]\"}"}}`,
		`{"at":"1234-01-02T03:04:05Z","n":1234,"name":"user"}`:       `{"at":"1234-01-02T03:04:05Z","n":1234,"name":"[forgotten]"}`,
		`{"metadata":{"user":{"text":[1234, true, null]}}}`: `{"metadata":{"[forgotten]":{"[forgotten]":[` +
			`"[forgotten]", true, null]}}}`,
		`{"tags":["user","b"]}`: `{"tags":["forgotten","b"]}`,
		`{"call":{"arguments":"{\"text\":{\"user\":{\"name\":1}}}"}}`: `{"call":{"arguments":"{\"text\":{` +
			`\"[forgotten]\":{\"[forgotten]\":1}}}"}}`,
		`{"call":{"arguments":"{\"user\":1,\"a user\":{\"b\":2}}"}}`: `{"call":{"arguments":"{\"[forgotten]\":1,` +
			`\"a [forgotten]\":{\"b\":2}}"}}`,
		`{"rules":[{"args":{"user":"user","text":1}}]}`: `{"rules":[{"args":{"[forgotten]":"[forgotten]","text":1}}]}`,
		`not json, text`: `not json, [forgotten]`,
		`[]`:             `[]`,
	} {
		if got := r.JSON(in, ""); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestWhatAClientSentIsForgottenInEverySetting(t *testing.T) {
	t.Parallel()
	r := New([]string{"Quimby"}, false)
	r.Declared, r.Tools = map[string]bool{"query": true}, map[string]bool{"QuimbySearch": true}
	for in, want := range map[string]string{
		`{"extra":{"template_id":"a Quimby","embedding_config":{"Quimby":"Quimby","status":"Quimby"}}}`: `{"extra":{"template_id":"a ` +
			`[forgotten]","embedding_config":{"[forgotten]":"[forgotten]","status":"[forgotten]"}}}`,
		`{"input":[{"otid":"Quimby-1","sender_id":"Quimby"}]}`: `{"input":[{"otid":"[forgotten]-1","sender_id":"[forgotten]"}]}`,
		`{"settings":{"response_format":{"json_schema":{"Quimby's":{"properties":{"Quimby":{"type":"string"},` +
			`"query":{}}}}}}}`: `{"settings":{"response_format":{"json_schema":{"[forgotten]'s":{"properties":{"[forgotten]":{` +
			`"type":"string"},"query":{}}}}}}}`,
		`{"content":[{"type":"call","call":{"name":"note_Quimby","arguments":"{}"}}]}`: `{"content":[{"type":"call",` +
			`"call":{"name":"note_forgotten","arguments":"{}"}}]}`,
		`{"returns":[{"name":"note_Quimby"},{"name":"QuimbySearch"}]}`: `{"returns":[{"name":"note_forgotten"},{"name":"QuimbySearch"}]}`,
		`{"base_template_id":"Quimby"}`:                                `{"base_template_id":"Quimby"}`,
	} {
		if got := r.JSON(in, ""); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestAKeyThatLooksLikeAnIDIsForgottenWhereSomebodySaidIt(t *testing.T) {
	t.Parallel()
	const token = "6f1c2a7e-0b1d-4c3e-9f00-a1b2c3d4e5f6"
	r := New([]string{token}, false)
	for _, doc := range []string{
		`{"content":[{"type":"text","text":"` + token + `"}]}`,
		`{"returns":[{"name":"read","text":"` + token + `","stdout":["` + token + `"]}]}`,
		`{"content":[{"type":"call","call":{"name":"note","arguments":"{\"text\":\"` + token + `\"}"}}]}`,
		`{"metadata":{"token":"` + token + `"}}`,
		`{"tags":["` + token + `"]}`,
	} {
		if got := r.JSON(doc, ""); strings.Contains(got, token) {
			t.Errorf("it is left in %s", got)
		}
	}
	if pin := `{"text":"` + token + `","pin":{"system":"` + token + `"}}`; r.JSON(pin, "") != pin {
		t.Errorf("what names a record became %s", r.JSON(pin, ""))
	}
}

func TestTheSectionsOfADocumentMoveWithItsText(t *testing.T) {
	t.Parallel()
	text := "# One\nab secret cd\n# secret two\nsecret\nsecret"
	at := func(s string) int { return strings.Index(text, s) }
	doc := core.Document{Kind: "markdown", Title: "of secret", Text: text, Sections: []core.Section{
		{Path: []string{"One"}, Start: 0, End: at("# secret"), Line: 1, EndLine: 2},
		{Path: []string{"secret two"}, Start: at("# secret"), End: len(text), Line: 3, EndLine: 5},
	}}
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		forget, text string
		parts        []string
	}{
		{
			"secret", "# One\nab [forgotten] cd\n# [forgotten] two\n[forgotten]\n[forgotten]",
			[]string{"# One\nab [forgotten] cd\n", "# [forgotten] two\n[forgotten]\n[forgotten]"},
		},
		{ // across two sections
			"cd\n# secret", "# One\nab secret [forgotten] two\nsecret\nsecret",
			[]string{"# One\nab secret [forgotten]", " two\nsecret\nsecret"},
		},
	} {
		var got core.Document
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		New([]string{c.forget}, false).Document(&got)
		if got.Text != c.text {
			t.Errorf("text %q", got.Text)
		}
		for i, s := range got.Sections {
			if part := got.Text[s.Start:s.End]; part != c.parts[i] || s.Line != 1+strings.Count(got.Text[:s.Start], "\n") {
				t.Errorf("section %d: %q, line %d", i, part, s.Line)
			}
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("secret", `{"a":"a secret","metadata":{"secret":[1,"secret"]}}`, false)
	f.Add("été\n\"x\"", `"été\n\"x\""`, true)
	f.Add("[forgotten]", "[forg[forgotten]otten]", false)
	f.Fuzz(func(t *testing.T, text, doc string, fold bool) {
		q := core.ForgetQuery{Text: text}
		if q.Validate() != nil || len(text) > 200 {
			return
		}
		r := New([]string{text}, fold)
		if got := r.Text(doc); r.Finds(got) || strings.Contains(got, text) {
			t.Errorf("%q is left in %q", text, got)
		}
		if got := r.JSON(doc, ""); json.Valid([]byte(doc)) && !json.Valid([]byte(got)) {
			t.Errorf("%s became %s", doc, got)
		}
		if hint := longestPlain(text); !strings.Contains(text, hint) {
			t.Errorf("%q is no part of %q", hint, text)
		}
	})
}
