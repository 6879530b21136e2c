package transcript

import (
	"encoding/json"
	"strings"
	"testing"

	"loci/tui/term"
	"loci/tui/theme"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

func TestArgumentsToDecideByLeaveNothingOut(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]Argument{
		`{"b":"two words","a":5}`:                   {{"b", "two words"}, {"a", "5"}},
		`{"path":"safe","path":"other"}`:            {{"path", "safe"}, {"path", "other"}},
		`{"request_heartbeat":true,"thinking":"x"}`: {{"request_heartbeat", "true"}, {"thinking", "x"}},
		`{"empty":"","none":null}`:                  {{"empty", `""`}, {"none", "null"}},
		`{"list":["a",{"b":1}]}`:                    {{"list", `["a",{"b":1}]`}},
		`{"html":"<b>&"}`:                           {{"html", "<b>&"}},
		`{"nested":{"html":"<b>&"}}`:                {{"nested", `{"html":"<b>&"}`}},
		`{"long":["` + strings.Repeat("a", 30) + `","` + strings.Repeat("<", 30) + `"]}`: {
			{"long", "[\n  \"" + strings.Repeat("a", 30) + "\",\n  \"" + strings.Repeat("<", 30) + "\"\n]"},
		},
		`{"a":1} trailing`: {{"", `{"a":1} trailing`}},
		`{"a":1`:           {{"", `{"a":1`}},
		`["no object"]`:    {{"", `["no object"]`}},
		"":                 {{"", ""}},
		"{}":               nil,
		`{"two\nlines":1}`: {{`two\nlines`, "1"}},
	} {
		if diff := cmp.Diff(want, Arguments(raw)); diff != "" {
			t.Errorf("Arguments(%s) (-want +got):\n%s", raw, diff)
		}
	}
}

func TestWhatCannotBeSeenIsRevealed(t *testing.T) {
	t.Parallel()
	for hidden, want := range map[string]string{
		"\x1b[31mrm -rf\x1b[0m":  `\u001b[31mrm -rf\u001b[0m`,
		"a\u202egpj.exe":         `a\u202egpj.exe`,
		"zero\u200bwidth":        `zero\u200bwidth`,
		"tag\U000E0041":          `tag\udb40\udc41`,
		"c1\u009b31m":            `c1\u009b31m`,
		"cr\roverwritten":        `cr\u000doverwritten`,
		"line\u2028separator":    `line\u2028separator`,
		"two\nlines\tand a tab":  "two\nlines\tand a tab",
		"👩‍👧 and 漢字 and café":    "👩‍👧 and 漢字 and café",
		"not UTF-8 \xff":         `not UTF-8 \ufffd`,
		"\u200eleft to right":    `\u200eleft to right`,
		"a plain \\u0041 escape": `a plain \u0041 escape`,
	} {
		if got := Reveal(hidden); got != want {
			t.Errorf("Reveal(%q) = %q, want %q", hidden, got, want)
		}
	}
}

func TestPrettyArgumentsAreStillTheSameValue(t *testing.T) {
	t.Parallel()
	raw := "{\"text\":\"a\u202eb\U000E0041\\n\",\"n\":[1,2]}"
	var before, after any
	if err := json.Unmarshal([]byte(raw), &before); err != nil {
		t.Fatal(err)
	}
	pretty := Pretty(raw)
	if err := json.Unmarshal([]byte(pretty), &after); err != nil {
		t.Fatalf("%v in %s", err, pretty)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if Clean(pretty) != pretty {
		t.Errorf("an editor would change %q", pretty)
	}
}

// TestNoValuePretendsToBeAnotherArgument checks that only names stand two cells
// from the left, whatever a value says and however it is wrapped.
func TestNoValuePretendsToBeAnotherArgument(t *testing.T) {
	t.Parallel()
	value := "x\n  path: /etc\n" + strings.Repeat("w", 40) + "\ny  allow"
	for _, width := range []int{8, 20, 80} {
		r := NewRenderer(theme.New(theme.None), width)
		names := 0
		for _, row := range r.Arguments([]Argument{{"content", value}, {"last", "1"}}, 0) {
			if term.Width(row) > width {
				t.Errorf("%q is wider than %d", row, width)
			}
			if !strings.HasPrefix(ansi.Strip(row), "    ") {
				names++
			}
		}
		if names != 2 && width > 8 {
			t.Errorf("%d rows look like arguments at %d", names, width)
		}
	}
}

func TestALongValueIsCutWithAWordOfHowMuchIsLeft(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.None), 40)
	got := strings.Split(ansi.Strip(strings.Join(r.Arguments([]Argument{{"text", "1\n2\n3\n4\n5"}, {"n", "7"}}, 3), "\n")), "\n")
	want := []string{"  text:", "    1", "    2", "    ⋮ 3 more", "  n: 7"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
