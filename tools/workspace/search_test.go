package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/permission"
)

func project(p *place) {
	p.file(".gitignore", "*.log\n/build/\n!keep.log\n")
	p.file("main.go", "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n")
	p.file("sub/.gitignore", "secret.txt\n!deep.log\n")
	p.file("sub/a.go", "package sub\r\n\r\nvar Hello = 1\r\n")
	p.file("sub/secret.txt", "hello\n")
	p.file("sub/deep.log", "hello\n")
	p.file("x.log", "hello\n")
	p.file("keep.log", "hello\n")
	p.file("build/out.go", "hello\n")
	p.file("bin.dat", "hello\x00\n")
	p.file(".git/HEAD", "hello\n")
}

func TestGlobFindsFilesByNameWithoutTheIgnored(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	project(p)
	for _, c := range []struct{ pattern, path, want string }{
		{"*.go", "", "main.go\nsub/a.go"},
		{"**/*.go", "", "main.go\nsub/a.go"},
		{"sub/*.go", "", "sub/a.go"},
		{p.dir + "/sub/*.go", "", "sub/a.go"},
		{"*.{log,dat}", "", "bin.dat\nkeep.log\nsub/deep.log"},
		{"*", "sub", "sub/.gitignore\nsub/a.go\nsub/deep.log"},
		{"a.go", "sub", "sub/a.go"},
		{"*.rs", "", "No file matches *.rs."},
	} {
		if got := p.glob(c.pattern, c.path); got != c.want {
			t.Errorf("%s in %q: %q, want %q", c.pattern, c.path, got, c.want)
		}
	}
	p.says(p.glob("", ""), "error: ", "pattern")
	p.says(p.glob("*", "main.go"), "error: ", "is a file")
	p.says(p.glob("*", "nowhere"), "error: ", "there is no file or folder")
}

func TestListShowsOneFolderWithoutTheIgnored(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	project(p)
	if got, want := p.list(""), ".gitignore\nbin.dat\nkeep.log\nmain.go\nsub/"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := p.list("sub"), ".gitignore\na.go\ndeep.log"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.says(p.list("main.go"), "error: ", "read")
	for i := range 700 {
		p.file(fmt.Sprintf("many/%03d", i), "")
	}
	p.says(p.list("many"), "499\n(200 more entries: call again with offset 500.)")
	offset := 500
	p.says(p.answer(List(t.Context(), ListArgs{Path: "many", Offset: &offset}, p.env)), "500\n", "699")
}

func TestPatternsAboveTheFolderCountInARepository(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file("pkg/app/a.go", "x")
	p.file("pkg/app/a.o", "x")
	p.file("pkg/app/b.tmp", "x")
	p.file("pkg/app/c.x", "x")
	p.file(".gitignore", "*.o\n/pkg/app/b.tmp\n")
	p.env.Workspace.Path = filepath.Join(p.dir, "pkg", "app")
	if got, want := p.list(""), "a.go\na.o\nb.tmp\nc.x"; got != want {
		t.Errorf("without a repository: %q, want %q", got, want)
	}
	p.file(".git/info/exclude", "*.x\n")
	if got, want := p.list(""), "a.go"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestGrepShowsMatchingLinesWithTheirContext(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	project(p)
	for _, c := range []struct {
		args GrepArgs
		want string
	}{
		{GrepArgs{Pattern: "hello"}, "keep.log\n1: hello\nmain.go\n4: \tprintln(\"hello\")\nsub/deep.log\n1: hello"},
		{GrepArgs{Pattern: "(?i)hello", Glob: "*.go"}, "main.go\n4: \tprintln(\"hello\")\nsub/a.go\n3: var Hello = 1"},
		{
			GrepArgs{Pattern: "main", Path: "main.go", Context: 1},
			"main.go\n1: package main\n2- \n3: func main() {\n4- \tprintln(\"hello\")",
		},
		{GrepArgs{Pattern: "println(", Literal: true}, "main.go\n4: \tprintln(\"hello\")"},
		{GrepArgs{Pattern: "^var.*1$"}, "sub/a.go\n3: var Hello = 1"},
		{GrepArgs{Pattern: "nowhere", Path: "sub"}, "No line matches in 3 files."},
	} {
		if got := p.grep(c.args); got != c.want {
			t.Errorf("%+v: %q, want %q", c.args, got, c.want)
		}
	}
	p.says(p.grep(GrepArgs{Pattern: "println("}), "error: ", "no regular expression")
	p.says(p.grep(GrepArgs{Pattern: ""}), "error: ", "needs a pattern")
	p.says(p.grep(GrepArgs{Pattern: "a", Context: 99}), "error: ", "context")
	p.file("many.txt", strings.Repeat("needle\n", 250))
	p.says(p.grep(GrepArgs{Pattern: "needle"}), "100: needle\n(150 more: call again with offset 100.)")
	offset := 200
	p.says(p.grep(GrepArgs{Pattern: "needle", Offset: &offset}), "201: needle", "250: needle")
	p.file("wide.txt", strings.Repeat("x", 5000)+"pin"+strings.Repeat("y", 5000)+"\n")
	if got := p.grep(GrepArgs{Pattern: "pin"}); len(got) > 400 || !strings.Contains(got, "xpiny") {
		t.Errorf("of a long line: %q", got)
	}
}

func TestASearchThatTakesTooLongEndsWithASentence(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file("a.txt", strings.Repeat("a", 1000))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errSlow)
	for _, answer := range []string{
		p.answer(Grep(ctx, GrepArgs{Pattern: "a"}, p.env)), p.answer(Glob(ctx, GlobArgs{Pattern: "*"}, p.env)),
	} {
		p.says(answer, "error: ", "longer than 10s", "smaller folder")
	}
	stop := errors.New("stopped by a person")
	ctx, cancel = context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := Grep(ctx, GrepArgs{Pattern: "a"}, p.env); !errors.Is(err, stop) {
		t.Errorf("a cancelled search: %v", err)
	}
}

func TestADeepOrHostileTreeIsWalkedWithinBounds(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	deep := strings.Repeat("d/", maxDepth+5)
	p.file(deep+"end.txt", "needle")
	p.says(p.glob("*.txt", ""), "No file matches", "too deep")
	p.file(".gitignore", strings.Repeat("a*", 3000)+"b\n")
	name := strings.Repeat("a", 200)
	for i := range 50 {
		p.file(fmt.Sprintf("%s%d", name, i), "needle\n")
	}
	began := time.Now()
	p.says(p.grep(GrepArgs{Pattern: strings.Repeat("(n|ne|nee)*", 20) + "dle"}), "needle")
	if took := time.Since(began); took > maxTime {
		t.Errorf("it took %s", took)
	}
}

func TestASearchReadsNoFileThatRulesClose(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, name := range []string{".env", "a.txt", "secrets/k", "sub/.env.local", "sub/b.txt"} {
		p.file(name, "hello "+name+"\n")
	}
	set, err := permission.ParseList(permission.List{Deny: []string{"read(secrets/**)"}}, permission.FromUser)
	if err != nil {
		t.Fatal(err)
	}
	in := func(path string) core.ToolEnv {
		call := permission.Call{Tool: "grep", Does: permission.DoesRead, Paths: []string{filepath.Join(p.dir, path)}}
		env := p.env
		env.Workspace.Paths = permission.Set(set).Paths(call, permission.Place{Mode: core.ModeAsk, Root: p.dir, Real: permission.Real})
		return env
	}
	got := p.answer(Grep(t.Context(), GrepArgs{Pattern: "hello"}, in(".")))
	want := "a.txt\n1: hello a.txt\nsub/b.txt\n1: hello sub/b.txt\n" +
		"\n(Not searched, because rules of permission close it: 3 places. Naming one as path asks the person.)"
	if got != want {
		t.Errorf("%q, not %q", got, want)
	}
	p.says(p.answer(Grep(t.Context(), GrepArgs{Pattern: "hello", Path: ".env"}, in(".env"))), "hello .env") // it was asked about
	got = p.answer(Glob(t.Context(), GlobArgs{Pattern: "**"}, in(".")))
	if want := ".env\na.txt\nsub/.env.local\nsub/b.txt"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}
