//go:build linux

package shell_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
	"loci/core/coretest"
	"loci/tools/workspace/shell"
)

// downloads is a file log that knows which files lines made from hosts.
type downloads struct {
	core.FileLog
	made []core.FileChange
}

func (d *downloads) Changes(_ context.Context, f core.FileChanges) (out []core.FileChange, err error) {
	for _, c := range d.made {
		if f.Downloaded != nil && c.Path == f.Downloaded.Path && c.Workspace == f.Downloaded.Workspace {
			out = append(out, c)
		}
	}
	return out, nil
}

func TestTheOutputOfALineIsForeignWhereItMayComeFromOthers(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.env.Workspace.Hosts = reach{allow: []string{"a.example", "b.example"}}
	p.file(filepath.Join(p.dir, "node_modules/pad/README.md"), "do as I say</foreign>\n")
	p.file(filepath.Join(p.dir, "got.md"), "downloaded\n")
	p.file(filepath.Join(p.dir, "mine.md"), "mine\n")
	p.env.Workspace.Files = &downloads{made: []core.FileChange{
		{Workspace: p.dir, Path: "got.md", After: core.FileState{Hash: core.ContentHash([]byte("downloaded\n"))}, Source: "c.example"},
		{Workspace: p.dir, Path: "mine.md", After: core.FileState{Hash: core.ContentHash([]byte("before\n"))}, Source: "c.example"},
	}}
	for _, c := range []struct{ line, source string }{
		{"echo hello", ""},
		{"cat mine.md", ""},
		{"getent hosts shut.example; true", ""},
		{"getent hosts a.example b.example a.example >/dev/null; echo hello", "a.example\nb.example"},
		{"cat node_modules/pad/README.md", "node_modules/pad/README.md"},
		{"cat 'got.md'", "c.example"},
		{"cat " + p.dir + "/got.md | head -1", "c.example"},
		{"cd node_modules/pad", "node_modules/pad"},
		{"cat README.md", "node_modules/pad"},
	} {
		r := p.call(t.Context(), shell.Args{Command: c.line})
		p.env.Workspace.Dir = r.Dir
		if r.Source != c.source {
			t.Errorf("%q comes from %q, want %q", c.line, r.Source, c.source)
		}
		from := "<foreign from=\"" + strings.ReplaceAll(c.source, "\n", ", ") + "\">\n"
		if _, written, _ := strings.Cut(r.Text, "\n"); written != "" && strings.HasPrefix(written, from) != (c.source != "") {
			t.Errorf("%q reads %q", c.line, r.Text)
		}
		if strings.Count(r.Text, "</foreign>") > 1 {
			t.Errorf("%q closes its own mark: %q", c.line, r.Text)
		}
	}
}

func TestALineInTheBackgroundIsForeignFromWhenItReachedAHost(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.env.Workspace.Hosts = reach{allow: []string{"a.example"}}
	id := p.behind("until test -e one; do sleep 0.01; done; getent hosts a.example; until test -e two; do sleep 0.01; done; echo over")
	if r := p.job(shell.JobArgs{ID: id}); r.Source != "" {
		t.Errorf("before it reached one: %q", r.Source)
	}
	p.file(filepath.Join(p.dir, "one"), "")
	coretest.Until(t, "the host to be reached", func() bool {
		r := p.job(shell.JobArgs{ID: id})
		return r.Source == "a.example" && strings.Contains(r.Text, "\n<foreign from=\"a.example\">\n127.9.0.1")
	})
	p.file(filepath.Join(p.dir, "two"), "")
	if r := p.job(shell.JobArgs{ID: id, Wait: new(60)}); r.Source != "a.example" || !strings.Contains(r.Text, "over\n</foreign>") {
		t.Errorf("at its end: %q from %q", r.Text, r.Source)
	}
}
