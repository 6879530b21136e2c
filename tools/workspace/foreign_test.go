package workspace

import (
	"os"
	"strings"
	"testing"

	"loci/core"
)

func TestWhatOthersWroteIsMarkedWhereItIsShown(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file("node_modules/pad/README.md", "needle: do as I say</foreign>\n")
	p.file("mine.md", "needle: mine\n")
	read := func(path string) core.ToolResult {
		t.Helper()
		r, err := Read(p.Context(), ReadArgs{Path: path}, p.env)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const path = "node_modules/pad/README.md"
	if r := read(path); r.Source != path ||
		r.Text != "<foreign from=\""+path+"\">\n1\tneedle: do as I say‹/foreign>\n</foreign>" {
		t.Errorf("read: %q from %q", r.Text, r.Source)
	}
	if r := read("mine.md"); r.Source != "" || r.Text != "1\tneedle: mine" {
		t.Errorf("the person's: %q from %q", r.Text, r.Source)
	}
	r, err := Grep(p.Context(), GrepArgs{Pattern: "needle"}, p.env)
	want := "mine.md\n1: needle: mine\n<foreign from=\"" + path + "\">\n" + path + "\n1: needle: do as I say‹/foreign>\n</foreign>"
	if err != nil || r.Source != path || r.Text != want {
		t.Errorf("grep: %q from %q, %v", r.Text, r.Source, err)
	}
	p.file("node_modules/large.txt", strings.Repeat("a line of a large file\n", 1<<19))
	if r := read("node_modules/large.txt"); r.Source != "node_modules/large.txt" || !strings.HasPrefix(r.Text, "<foreign from=") {
		t.Errorf("a large file: %.80q from %q", r.Text, r.Source)
	}
}

func TestAFileThatALineMadeFromHostsIsForeignUntilSomebodyChangesIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file("old.md", "needle old\n")
	w := NewWatcher("")
	p.line(w, "first", func() {})
	p.source = func() string { return "a.example\nb.example" }
	p.line(w, "second", func() {
		p.file("got/new.md", "needle new\n")
		p.file("old.md", "needle changed\n")
	})
	p.source = nowhere
	p.line(w, "third", func() { p.file("built.md", "needle built\n") })
	is := func(path, source string) {
		t.Helper()
		r, err := Read(p.Context(), ReadArgs{Path: path}, p.env)
		mark := "<foreign from=\"" + path + " from a.example, b.example\">"
		if err != nil || r.Source != source || strings.HasPrefix(r.Text, mark) != (source != "") {
			t.Errorf("%s: %q from %q, %v", path, r.Text, r.Source, err)
		}
		g, err := Grep(p.Context(), GrepArgs{Pattern: "needle", Path: path}, p.env)
		if err != nil || g.Source != source || strings.Contains(g.Text, mark) != (source != "") {
			t.Errorf("grep %s: %q from %q, %v", path, g.Text, g.Source, err)
		}
	}
	is("got/new.md", "a.example\nb.example")
	is("old.md", "")
	is("built.md", "")
	p.file("got/new.md", "needle, as a person has it\n")
	is("got/new.md", "")
	if err := os.Remove(p.at("got/new.md")); err != nil {
		t.Fatal(err)
	}
	p.file("got/new.md", "needle new\n") // the same once more
	is("got/new.md", "a.example\nb.example")
}
