package prompt

import (
	"fmt"
	"strings"
	"testing"
)

func TestBehindAnAtFilesAreCompleted(t *testing.T) {
	t.Parallel()
	p := fresh()
	p.SetFiles(NewFiles([]string{"a/main.go", "main.go", "cmd/loci/main_test.go", "docs/two words.md", "Ünï/漢字.txt", "x\ny"}, false))
	for typed, want := range map[string]string{
		"see @main.g": "see @main.go ", "@test": "@cmd/loci/main_test.go ", "@two": `@"docs/two words.md" `,
		`@"two w`: `@"docs/two words.md" `,
		"@字":      "@Ünï/漢字.txt ", "@clmt": "@cmd/loci/main_test.go ", "me@main": "me@main", "@none at": "@none at",
	} {
		p.Set("")
		press(p, strings.Split(typed, "")...)
		if press(p, "tab"); p.Text() != want {
			t.Errorf("%q became %q, want %q", typed, p.Text(), want)
		}
	}
}

func TestEnterTakesAFileThatIsNotWholeYetAndSendsOneThatIs(t *testing.T) {
	t.Parallel()
	p := fresh()
	p.SetFiles(NewFiles([]string{"main.go", "main.go.orig"}, false))
	press(p, "@", "m", "a")
	if event := press(p, "enter"); event != Edited || p.Text() != "@main.go " {
		t.Errorf("%v, %q", event, p.Text())
	}
	p.Set("@main.go")
	if event := press(p, "enter"); event != Submit {
		t.Errorf("%v, %q", event, p.Text())
	}
}

func TestOfFiftyThousandNamesTheBestComeFirst(t *testing.T) {
	t.Parallel()
	names := fiftyThousand()
	if got := NewFiles(names, false).match("file_49"); len(got) != filesMost || got[0] != names[49] {
		t.Errorf("%d found, first of all %q", len(got), got[0])
	}
}

// BenchmarkFiles measures the search for each letter that is typed behind an @ in a folder of 50,000 files.
func BenchmarkFiles(b *testing.B) {
	f := NewFiles(fiftyThousand(), false)
	for b.Loop() {
		f.match("file_49")
	}
}

func fiftyThousand() (names []string) {
	for i := range 50_000 {
		names = append(names, fmt.Sprintf("some/folder/number%d/with/a/longer/path/file_%d.go", i%300, i))
	}
	return names
}
