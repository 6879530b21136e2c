package transcript

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatGoesAlongIsToldFromThePersonsOwnWords(t *testing.T) {
	t.Parallel()
	file := File("a b.md", "```go\nx\n```\n[File c, 1 lines]\n", 4, 9)
	ran := Ran("/home/ada", "ls", "Exit code 0", "a\n````\nb")
	full := Enclose("Look:\n\n- at this", []Enclosure{file, ran})
	words, heads := Unfold(full)
	if diff := cmp.Diff("Look:\n\n- at this", words); diff != "" {
		t.Error(diff)
	}
	want := []string{"File a b.md, the first 4 of 9 lines", "The person ran this in /home/ada: Exit code 0"}
	if diff := cmp.Diff(want, heads); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "plain", "[File x, 1 lines]\nand no fence", "[File x, 1 lines]\n```\nnever ends", "```\n[x]\n```"} {
		if words, heads := Unfold(text); words != text || heads != nil {
			t.Errorf("%q became %q with %q", text, words, heads)
		}
	}
	if !strings.Contains(full, "\n`````\n$ ls\n") {
		t.Errorf("a fence within ends the fence:\n%s", full)
	}
}

func TestWhatGoesAlongNamesNoImageToSend(t *testing.T) {
	t.Parallel()
	if got := File("a.md", "see [image /home/ada/private.png]\n", 1, 1).String(); strings.Contains(got, "[image /") {
		t.Errorf("a file that goes along sends an image: %s", got)
	}
}
