package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

// putBack takes all changes back.
func (p *place) putBack() (core.FilesBack, error) {
	p.Helper()
	r := Restorer{Contents: p}
	plan, err := r.Plan(p.Context(), p.newest())
	if err != nil {
		return core.FilesBack{}, err
	}
	back, err := r.Apply(p.Context(), plan.Changes)
	back.Kept = append(plan.Kept, back.Kept...)
	return back, err
}

// tree is every file with mode and content, and every folder.
func (p *place) tree() map[string]string {
	p.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		if d.Type() == fs.ModeSymlink {
			if content, err = os.Readlink(path); err != nil {
				return err
			}
		}
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(text)
		}
		out[strings.TrimPrefix(path, p.dir)] = info.Mode().String() + " " + content
		return nil
	})
	if err != nil {
		p.Fatal(err)
	}
	return out
}

func TestRandomChangesAreTakenBackToTheTreeAsItWas(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		p := newPlace(t)
		names := []string{"a.txt", "b.txt", "x/c.txt", "x/y/d.txt", "z/e.txt"}
		for i, ending := range []string{"\n", "\r\n", "\n"} {
			path := p.file(names[i], strings.Repeat("alpha beta"+ending, 5))
			if err := os.Chmod(path, []fs.FileMode{0o600, 0o644, 0o755}[i]); err != nil {
				t.Fatal(err)
			}
		}
		before := p.tree()
		for n := range 30 {
			name := names[rnd.IntN(len(names))]
			switch rnd.IntN(3) {
			case 0:
				p.read(name)
				p.write(name, strings.Repeat(fmt.Sprintf("alpha %d\n", n), rnd.IntN(4)))
			case 1:
				p.edit(name, Edit{Old: "alpha", New: fmt.Sprintf("alpha\n%d", n), All: true})
			case 2:
				p.edit(name, Edit{Old: "beta", New: "gamma", All: true}, Edit{Old: "gamma", New: "beta", All: rnd.IntN(2) == 0})
			}
		}
		if len(p.changes) < 10 {
			t.Fatalf("seed %d: only %d changes", seed, len(p.changes))
		}
		back, err := p.putBack()
		if err != nil || len(back.Kept) > 0 {
			t.Fatalf("seed %d: %+v, %v", seed, back.Kept, err)
		}
		if diff := cmp.Diff(before, p.tree()); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

func TestWhatSomebodyElseChangedIsNamedAndNotOverwritten(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	mine := p.file("mine.txt", "one\n")
	p.file("other.txt", "one\n")
	gone := p.file("gone.txt", "one\n")
	for _, name := range []string{"mine.txt", "other.txt", "gone.txt"} {
		p.edit(name, Edit{Old: "one", New: "two"})
	}
	p.write("new/made.txt", "made\n")
	if err := os.WriteFile(mine, []byte("two, and mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	p.file("new/beside.txt", "a person's")
	back, err := p.putBack()
	if err != nil {
		t.Fatal(err)
	}
	want := core.FilesBack{
		Back: []string{filepath.Join(p.dir, "new/made.txt"), filepath.Join(p.dir, "other.txt")},
		Kept: []core.FileKept{{Path: gone, Why: "somebody changed it since"}, {Path: mine, Why: "somebody changed it since"}},
	}
	if diff := cmp.Diff(want, back); diff != "" {
		t.Error(diff)
	}
	p.holds("mine.txt", "two, and mine\n")
	p.holds("other.txt", "one\n")
	p.holds("new/beside.txt", "a person's")
}

func TestAPersonsChangeBetweenTwoOfTheAgentsStays(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	path := p.file("a.txt", "one\n")
	p.edit("a.txt", Edit{Old: "one", New: "two"})
	if err := os.WriteFile(path, []byte("two\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.read("a.txt")
	p.edit("a.txt", Edit{Old: "three", New: "four"})
	back, err := p.putBack()
	if err != nil || !slices.Equal(back.Back, []string{path}) || len(back.Kept) != 1 {
		t.Errorf("%+v, %v", back, err)
	}
	p.holds("a.txt", "two\nthree\n")
}

func TestAContentThatIsNotKeptAnyMoreIsNamedAndNothingLeavesTheFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file("a.txt", "one\n")
	p.file("d/b.txt", "one\n")
	p.edit("a.txt", Edit{Old: "one", New: "two"})
	p.edit("d/b.txt", Edit{Old: "one", New: "two"})
	clear(p.contents)
	elsewhere := t.TempDir()
	if err := os.Rename(filepath.Join(p.dir, "d"), filepath.Join(elsewhere, "d")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(elsewhere, "d"), filepath.Join(p.dir, "d")); err != nil {
		t.Fatal(err)
	}
	back, err := p.putBack()
	if err != nil || len(back.Back) > 0 || len(back.Kept) != 2 || !strings.Contains(back.Kept[1].Why, "link") ||
		!strings.Contains(back.Kept[0].Why, "not kept any more") {
		t.Errorf("%+v, %v", back, err)
	}
	if got, err := os.ReadFile(filepath.Join(elsewhere, "d", "b.txt")); err != nil || string(got) != "two\n" {
		t.Errorf("outside: %q, %v", got, err)
	}
}

func TestAFileThatBecameAFolderComesBackAndNothingInItIsNamed(t *testing.T) {
	t.Parallel()
	p, w := newPlace(t), NewWatcher("")
	p.file("a", "1")
	p.line(w, "call", func() {
		if err := os.Remove(p.at("a")); err != nil {
			t.Fatal(err)
		}
		p.file("a/deep/down/there", "2")
	})
	back, err := p.putBack()
	if text, rerr := os.ReadFile(p.at("a")); err != nil || rerr != nil || string(text) != "1" || len(back.Kept) > 0 {
		t.Errorf("a holds %q, %v, %v; kept %v", text, rerr, err, back.Kept)
	}
}

func TestAFolderThatBecameALinkComesBackWithWhatWasInIt(t *testing.T) {
	t.Parallel()
	p, w := newPlace(t), NewWatcher("")
	p.file("a/b/c", "1")
	p.file("a/d", "1")
	p.file("elsewhere/b/c", "of elsewhere")
	before := p.tree()
	p.line(w, "call", func() {
		if err := os.RemoveAll(p.at("a")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("elsewhere", p.at("a")); err != nil {
			t.Fatal(err)
		}
	})
	back, err := p.putBack()
	if diff := cmp.Diff(before, p.tree()); err != nil || len(back.Kept) > 0 || diff != "" {
		t.Errorf("%v, kept %v (-was +is):\n%s", err, back.Kept, diff)
	}
}

func TestWhatSomebodyPutALinkInFrontOfStays(t *testing.T) {
	t.Parallel()
	p, w := newPlace(t), NewWatcher("")
	p.file("a/b", "1")
	p.file("elsewhere/b", "of elsewhere")
	p.line(w, "call", func() { p.file("a/b", "2") })
	if err := errors.Join(os.RemoveAll(p.at("a")), os.Symlink("elsewhere", p.at("a"))); err != nil {
		t.Fatal(err)
	}
	before := p.tree()
	back, err := p.putBack()
	if err != nil || len(back.Kept) != 1 || back.Kept[0].Why != whyLink || cmp.Diff(before, p.tree()) != "" {
		t.Errorf("%v, kept %v", err, back.Kept)
	}
}
