package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
)

func TestAFolderIsOpenedListedAndClosedInTheChat(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"work", "the library"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f := newFake()
	r := newRobot(t, f, 80, 24, func(o *Options) { o.Who.Folder = filepath.Join(base, "work") }).connect()
	r.say("/add-dir")
	r.until("the list", func() bool { return strings.Contains(r.view(), "/add-dir FOLDER opens one") })
	r.key(tea.Key{Code: tea.KeyEscape})
	r.say(`/add-dir "../the library" --write`)
	said := func(text string) bool { // however it is broken into rows, for which the length of a path counts
		return strings.Contains(strings.Join(strings.Fields(r.said()), ""), strings.ReplaceAll(text, " ", ""))
	}
	r.until("the answer", func() bool { return said("read and change") && said("in this session (--always:") })
	r.say("/add-dir --always " + base)
	r.until("the second answer", func() bool { return said("here, in later sessions as well") })
	r.until("the second", func() bool { return len(f.kept()) == 2 })
	want := []api.PermissionRule{
		{Effect: "allow", Rule: "add_dir(" + filepath.Join(base, "the library") + ":rw)", Session: true},
		{Effect: "allow", Rule: "add_dir(" + base + ")", Folder: filepath.Join(base, "work")},
	}
	for i, rule := range f.kept() {
		if rule.Source = ""; rule != want[i] {
			t.Errorf("%+v, want %+v", rule, want[i])
		}
	}
	r.say("/add-dir")
	r.until("the list", func() bool { return strings.Contains(r.view(), "change  ") })
	r.typ("library")
	r.enter()
	r.typ("r")
	r.until("one less", func() bool { return len(f.kept()) == 1 && strings.Contains(r.view(), "What agents may do here") })
	r.key(tea.Key{Code: tea.KeyEscape})
	r.say("/add-dir --all x")
	r.until("the refusal", func() bool { return strings.Contains(r.m.ui.flash, "is not known") })
}

func TestWhatFollowsAddDirIsTakenApart(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]struct {
		path             string
		writable, always bool
	}{
		"": {}, "../a": {path: "../a"}, "a b/c --write": {"a b/c", true, false}, "--always --write a": {"a", true, true},
		"a:rw": {"a", true, false}, "a --always --write": {"a", true, true}, "--write": {"", true, false}, "my--write": {path: "my--write"},
		"--writeable": {path: "--writeable"}, `"a b" --write`: {"a b", true, false}, `'a b:rw'`: {"a b", true, false},
		"a:rw/": {path: "a:rw/"}, "a:rw:rw": {"a:rw", true, false}, "a:b": {path: "a:b"}, // a folder may be called so
		`"~/a b":rw`: {"~/a b", true, false}, `"a`: {path: `"a`},
	} {
		path, writable, always := wantedDir(arg)
		if path != want.path || writable != want.writable || always != want.always {
			t.Errorf("%q: %q %v %v", arg, path, writable, always)
		}
	}
}
