package memory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

func TestAPatchChangesTheLinesThatItNames(t *testing.T) {
	t.Parallel()
	const value = "Ada\nlikes tea\nlikes cats\n\nlives in Leipzig"
	for name, tt := range map[string]struct{ patch, want string }{
		"replace": {"-likes tea\n+likes coffee", "Ada\nlikes coffee\nlikes cats\n\nlives in Leipzig"},
		"with lines around": {
			"@@ -1,2 +1,3 @@\n Ada\n+is a programmer\n likes tea\n", "Ada\nis a programmer\nlikes tea\nlikes cats\n\nlives in Leipzig",
		},
		"two hunks, swapped": {
			"@@\n-lives in Leipzig\n+lives in Jena\n@@\n-Ada\n+Ada Lovelace", "Ada Lovelace\nlikes tea\nlikes cats\n\nlives in Jena",
		},
		"an empty line": {" likes cats\n\n-lives in Leipzig", "Ada\nlikes tea\nlikes cats\n"},
		"only adding":   {"+has a dog\n+and a horse", value + "\nhas a dog\nand a horse"},
		"a file's header": {
			"--- a/human\n+++ b/human\n@@\n-Ada\n+Eve\n\\ No newline at end of file", "Eve\nlikes tea\nlikes cats\n\nlives in Leipzig",
		},
		"everything": {"-Ada\n-likes tea\n-likes cats\n-\n-lives in Leipzig", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Patch(value, tt.patch)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("Patch() = %v (-want +got):\n%s", err, diff)
			}
		})
	}
	if got, err := Patch("", "+first"); got != "first" || err != nil {
		t.Errorf("an empty block becomes %q, %v", got, err)
	}
}

func TestAPatchThatDoesNotFitSaysWhy(t *testing.T) {
	t.Parallel()
	const value = "a\nb\na\nb\nc"
	for name, tt := range map[string]struct{ patch, want string }{
		"not there":      {"-x\n+y", `beginning "x" do not occur`},
		"ambiguous":      {"-a\n+y", `occur 2 times, from lines 1, 3`},
		"not in a row":   {" a\n-c", "one after the other"},
		"overlapping":    {"-c\n+d\n@@\n b\n-c", "change the same lines"},
		"no marks":       {"replace a by b", "begins with none of"},
		"nothing":        {"", "changes nothing"},
		"only the same":  {" c", "changes nothing"},
		"line numbers":   {"-5→ c\n+d", "without them"},
		"a display note": {"+" + lineWarning, "no part of the value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Patch(value, tt.patch)
			if core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), tt.want) || got != "" {
				t.Errorf("Patch() = %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestAPatchOfSeveralBlocksIsReadByItsHeaders(t *testing.T) {
	t.Parallel()
	patch := "*** Begin Patch\n*** Add Block: project\nDescription: What we build.\n+Loci\n+\n+in Go\n\n*** Update Block: human\n" +
		"*** Move to: person\n@@\n-Ada\n+Eve\n" +
		"*** Update Block: notes\n*** Move to: old/notes\n*** Delete Block: scratch\n*** End Patch\nThat was it."
	want := []BlockEdit{
		{Kind: EditAdd, Label: "project", Description: "What we build.", Value: "Loci\n\nin Go"},
		{Kind: EditUpdate, Label: "human", MoveTo: "person", Patch: "@@\n-Ada\n+Eve"},
		{Kind: EditUpdate, Label: "notes", MoveTo: "old/notes"},
		{Kind: EditDelete, Label: "scratch"},
	}
	got, ok, err := Edits(patch)
	if diff := cmp.Diff(want, got); diff != "" || !ok || err != nil {
		t.Errorf("Edits() = %v, %v (-want +got):\n%s", ok, err, diff)
	}
	if _, ok, err := Edits("@@\n-a\n+b"); ok || err != nil {
		t.Errorf("a patch of one block: %v, %v", ok, err)
	}
	for name, tt := range map[string]struct{ patch, want string }{
		"an unknown header":  {"*** Rename Block: a", "is none of"},
		"no label":           {"*** Add Block:", "needs a label"},
		"text before":        {"hello\n*** Delete Block: a", "before the first header"},
		"lines to delete":    {"*** Delete Block: a\n-x", "takes no lines"},
		"nothing to update":  {"*** Update Block: a", "changes nothing"},
		"a move of nothing":  {"*** Move to: b", "belongs right behind"},
		"a move too late":    {"*** Update Block: a\n-x\n*** Move to: b", "belongs right behind"},
		"unmarked new lines": {"*** Add Block: a\nhello", "must begin with +"},
		"only an end":        {"*** End Patch", "names no block"},
	} {
		if _, ok, err := Edits(tt.patch); !ok || core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v; want %q", name, ok, err, tt.want)
		}
	}
}

// FuzzPatch looks for a patch that breaks the reader, and for one that changes lines which it does not name.
func FuzzPatch(f *testing.F) {
	for _, s := range []string{
		"-a\n+b", "@@ -1 +1 @@\n a\n+b\n c", "*** Add Block: x\nDescription: y\n+z", "*** Update Block: x\n*** Move to: y\n-a",
		"--- a\n+++ b\n+\n", "\\", "***", "\n\n",
	} {
		f.Add("a\nb\nc\n\na", s)
	}
	f.Fuzz(func(t *testing.T, value, patch string) {
		if edits, ok, err := Edits(patch); ok && err == nil {
			for _, e := range edits {
				if e.Label == "" || strings.Contains(e.Label, "\n") {
					t.Errorf("label %q", e.Label)
				}
			}
		}
		got, err := Patch(value, patch)
		if err != nil {
			if core.KindOf(err) != core.Invalid || got != "" {
				t.Errorf("%q: %v", got, err)
			}
			return
		}
		gone := 0
		for line := range strings.SplitSeq(patch, "\n") {
			if strings.HasPrefix(line, "-") {
				gone++
			}
		}
		if n := strings.Count(value, "\n") - strings.Count(got, "\n"); n > gone {
			t.Errorf("%d lines went, the patch names %d", n, gone)
		}
	})
}
