package mirror

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

func TestAFileSaysWhatItsFrontMatterAndTextSay(t *testing.T) {
	t.Parallel()
	type said struct {
		Value, Description string
		Limit              int
		ReadOnly           bool
	}
	// What a file leaves out stays as the block has it.
	old := core.Block{Value: "old", Description: "old words", Limit: 7, ReadOnly: true}
	for name, c := range map[string]struct {
		text string
		want said
	}{
		"text alone":      {"just text\n", said{"just text", "old words", 7, true}},
		"nothing":         {"", said{"", "old words", 7, true}},
		"everything":      {"---\ndescription: who\nlimit: 20\nread_only: true\n---\n\nAda\n", said{"Ada", "who", 20, true}},
		"no empty line":   {"---\ndescription: who\n---\nAda", said{"Ada", "who", 7, false}},
		"two empty lines": {"---\nlimit: 9\n---\n\n\nAda\n\n", said{"\nAda\n", "old words", 9, false}},
		"quoted and folded": {
			"---\ndescription: 'it''s: long\n  and goes on'\nlimit: 9\n---\nA", said{"A", "it's: long and goes on", 9, false},
		},
		"a block of text":        {"---\ndescription: |\n  # one\n  two\nlimit: 9\n---\nA", said{"A", "# one\ntwo\n", 9, false}},
		"unknown keys":           {"---\ntags: [a, b]\nlimit: 9\nmeta:\n  limit: 3\n---\nA", said{"A", "old words", 9, false}},
		"nulls":                  {"---\ndescription:\nlimit: ~\nread_only: null\n---\nA", said{"A", "", 7, false}},
		"remarks alone":          {"---\n# nothing\n---\nA", said{"A", "old words", 7, false}},
		"other line ends":        {"---\r\nlimit: 9\r\n---\r\n\r\nA", said{"A", "old words", 9, false}},
		"a byte order mark":      {"\ufeff---\nlimit: 9\n---\nA", said{"A", "old words", 9, false}},
		"a rule inside the text": {"A\n---\nB\n", said{"A\n---\nB", "old words", 7, true}},
		"nothing after":          {"---\nlimit: 9\n---", said{"", "old words", 9, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := parse([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			b := d.over(old)
			if diff := cmp.Diff(c.want, said{b.Value, b.Description, b.Limit, b.ReadOnly}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFileThatSaysNothingClearIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not closed":          "---\ndescription: who\nAda\n",
		"no mapping":          "---\n- a\n- b\n---\n",
		"a flow":              "---\n{limit: 9}\n---\n",
		"no YAML":             "---\ndescription: [\n---\n",
		"twice":               "---\nlimit: 9\nlimit: 10\n---\n",
		"no number":           "---\nlimit: many\n---\n",
		"no size":             "---\nlimit: 0\n---\n",
		"no yes or no":        "---\nread_only: perhaps\n---\n",
		"a list of words":     "---\ndescription: [a]\n---\n",
		"not UTF-8":           "a\xff",
		"endless front":       "---\n" + strings.Repeat("# x\n", maxFront) + "---\n",
		"too large":           strings.Repeat("a", maxFile+1),
		"an alias to nothing": "---\nlimit: *a\n---\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d, err := parse([]byte(text)); err == nil {
				t.Errorf("read as %+v", d)
			} else if strings.Contains(err.Error(), "yaml:") {
				t.Errorf("said to a person: %v", err)
			}
		})
	}
}

func TestWhatAPersonWroteIntoTheFrontMatterIsKept(t *testing.T) {
	t.Parallel()
	was, err := parse([]byte("---\n# mine\ntags:\n  - a # b\ndescription: >\n  old\n# about the limit\nlimit: 3\nlast: 1\n---\nx\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := string(render(core.Block{Value: "y", Description: "new: words", Limit: 4, ReadOnly: true}, was))
	want := "---\n# mine\ntags:\n  - a # b\ndescription: \"new: words\"\n# about the limit\nlimit: 4\nlast: 1\nread_only: true\n---\n\ny\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzFile: whatever a file holds, a block that is printed over it reads back as that block.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"", "---\na: &x 1\ndescription: *x\n---\n", "---\ndescription: &x 1\na: *x\n---\nb", "---\n? a\n: b\n---\n",
		"---\n\"a\\nb\": 1\n---\n", "---\n...\nx: 1\n---\n",
	} {
		f.Add(seed, "who: she is", "Ada\n---\n", 3, true)
	}
	f.Add("x", "yes", "\r\n", 1, false)
	f.Add("x", "\u0085\ufeff\x00\U0001F600'\" ", "\x00\n\n", 1, false)
	f.Fuzz(func(t *testing.T, text, description, value string, limit int, readOnly bool) {
		was, err := parse([]byte(text))
		if err != nil {
			was = document{}
		}
		if !utf8.ValidString(description) || !utf8.ValidString(value) || limit < 1 || len(description) > 1000 {
			return
		}
		b := core.Block{Value: value, Description: description, Limit: limit, ReadOnly: readOnly}
		d, err := parse(render(b, was))
		if err != nil {
			t.Fatalf("%v\n%s", err, render(b, was))
		}
		if diff := cmp.Diff(b, d.over(core.Block{}), cmp.AllowUnexported()); diff != "" {
			t.Fatalf("(-want +got):\n%s\n%s", diff, render(b, was))
		}
	})
}

func TestEveryLabelHasAFileOfItsOwnOrNone(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		"human": "system/human.md", "project/tooling/bun": "system/project/tooling/bun.md", "system/human": "system/system/human.md",
		"a.md": "system/a.md.md", "Ünïcode": "system/Ünïcode.md", "a.conflict-x": "system/a.conflict-x.md",
		"a/../b": "", "a//b": "", "a/": "", "a/./b": "", "a/.git": "", "a..": "system/a...md", "a.conflict-1": "", "a.conflict-1/b": "",
		"memory_filesystem": "", strings.Repeat("日", 100): "",
	} {
		got, problem := pathOf(label)
		if got != want || (got == "") != (problem != "") {
			t.Errorf("pathOf(%q) = %q, %q, want %q", label, got, problem, want)
		}
		if got != "" && labelOf(got) != label {
			t.Errorf("labelOf(%q) = %q", got, labelOf(got))
		}
	}
	if p := conflictPath("system/a.md", 12); !isConflict(p) || conflictOf(p) != "system/a.md" || isConflict("system/a.md") {
		t.Errorf("%q is not recognised", p)
	}
}
