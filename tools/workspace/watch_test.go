package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

// line runs do as a shell line would, and returns what the model is told.
func (p *place) line(w *Watcher, call string, do func()) string {
	p.Helper()
	end := p.begin(w, call)
	do()
	return end()
}

// begin begins a line; what it returns ends it.
func (p *place) begin(w *Watcher, call string) (end func() string) {
	p.Helper()
	env := p.env
	env.Call = call
	after := w.Watch(p.Context(), env, nil, p.source)
	return func() string { return after(p.Context()) }
}

func (p *place) at(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

// unignored is the tree without what .gitignore leaves out.
func (p *place) unignored() map[string]string {
	p.Helper()
	all := p.tree()
	for name := range all {
		if strings.HasPrefix(name, "/ignored") || strings.Contains(name+"/", ".log/") {
			delete(all, name)
		}
	}
	return all
}

// act does something that a program may do in a folder. That some of it fails, as where nothing is there, is a part of it.
func act(rnd *rand.Rand, dir string, n int) {
	names := []string{
		"a", "b", "d/c", "d/e/f", "d/e/g", "g/h", "g", "d/e", "d", "new/i", "new", "l", "ignored/x", "d/y.log", ".git/index",
		".git/HEAD", ".git/refs/heads/main", ".git/refs/heads/topic",
	}
	name := func() string { return filepath.Join(dir, names[rnd.IntN(len(names))]) }
	at := name()
	switch rnd.IntN(8) {
	case 0, 1:
		_ = os.MkdirAll(filepath.Dir(at), 0o755)
		_ = os.WriteFile(at, fmt.Appendf(nil, "%d of %d\n", rnd.IntN(10), n), []fs.FileMode{0o600, 0o644, 0o755}[rnd.IntN(3)])
	case 2:
		_ = os.RemoveAll(at)
	case 3:
		to := name()
		_ = os.MkdirAll(filepath.Dir(to), 0o755)
		_ = os.Rename(at, to)
	case 4:
		_ = os.Chmod(at, []fs.FileMode{0o600, 0o700, 0o755}[rnd.IntN(3)]|fs.FileMode(rnd.IntN(2))*0o100)
	case 5:
		_ = os.Symlink(fmt.Sprint("to/", n), at)
	case 6:
		_ = os.MkdirAll(at, 0o755)
	case 7: // in place, with size and time as they were
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() {
			_ = os.WriteFile(at, []byte(strings.Repeat("#", int(info.Size()))), 0o600)
			_ = os.Chtimes(at, info.ModTime(), info.ModTime())
		}
	}
}

func TestWhatLinesAndToolsDoAtRandomIsTakenBackToTheTreeAsItWas(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		p, w := newPlace(t), NewWatcher("")
		p.file(".gitignore", "ignored\n*.log\n")
		for _, name := range []string{"a", "b", "d/c", "d/e/f", "g/h", "ignored/z", ".git/HEAD", ".git/index", ".git/refs/heads/main"} {
			p.file(name, "first of "+name+"\n")
		}
		if err := os.Symlink("a", p.at("l")); err != nil {
			t.Fatal(err)
		}
		before := p.unignored()
		var ends []func() string // of lines that run
		for n := range 40 {
			switch rnd.IntN(6) {
			case 0:
				p.write(fmt.Sprint("t", rnd.IntN(3)), fmt.Sprint("written ", n, "\n"))
			case 1:
				// Where a line changes the file meanwhile, what it held in between is not known, and it stays.
				if text, err := os.ReadFile(p.at("a")); err == nil && len(ends) == 0 && strings.Contains(string(text), "of") {
					p.read("a")
					p.edit("a", Edit{Old: "of", New: fmt.Sprint("of ", n), All: true})
				}
			case 2:
				if len(ends) < 3 {
					ends = append(ends, p.begin(w, fmt.Sprint("call", n)))
				}
			case 3:
				if len(ends) > 0 {
					i := rnd.IntN(len(ends))
					if told := ends[i](); told != "" {
						t.Fatalf("seed %d: %s", seed, told)
					}
					ends = slices.Delete(ends, i, i+1)
				}
			default:
				if len(ends) > 0 {
					act(rnd, p.dir, n)
				}
			}
		}
		for _, end := range ends {
			end()
		}
		back, err := p.putBack()
		if err != nil || len(back.Kept) > 0 {
			t.Fatalf("seed %d: %+v, %v", seed, back.Kept, err)
		}
		if diff := cmp.Diff(before, p.unignored()); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

func TestWhatAPersonDoesBetweenLinesIsNoChangeOfThem(t *testing.T) {
	t.Parallel()
	p, w := newPlace(t), NewWatcher("")
	p.file("mine", "one\n")
	p.file("its", "one\n")
	p.line(w, "call1", func() { p.file("its", "two\n"); p.file("made", "made\n") })
	p.file("mine", "mine\n")
	p.file("made", "mine now\n")
	p.line(w, "call2", func() { p.file("its", "three\n") })
	var noted []string
	for _, c := range p.changes {
		noted = append(noted, c.Call+" "+c.Path)
	}
	if got := strings.Join(noted, ", "); got != "call1 its, call1 made, call2 its" {
		t.Errorf("noted are %s", got)
	}
	back, err := p.putBack()
	if err != nil || len(back.Kept) != 1 || back.Kept[0] != (core.FileKept{Path: p.at("made"), Why: whyChanged}) {
		t.Errorf("kept are %+v, %v", back.Kept, err)
	}
	p.holds("mine", "mine\n")
	p.holds("its", "one\n")
	p.holds("made", "mine now\n")
}

func TestIgnoreRulesOfALineAreThoseBeforeIt(t *testing.T) {
	t.Parallel()
	p, w := newPlace(t), NewWatcher("")
	p.file(".gitignore", "out\n")
	p.file("kept", "one\n")
	p.file("out/big", "one\n")
	p.line(w, "call", func() {
		p.file(".gitignore", "")
		p.file("out/big", "two\n")
		p.file("venv/.gitignore", "*\n")
		p.file("venv/lib", "made\n")
	})
	back, err := p.putBack()
	if err != nil || len(back.Kept) > 0 || len(back.Back) != 4 {
		t.Errorf("went back: %+v, %v", back, err)
	}
	p.holds(".gitignore", "out\n")
	p.holds("out/big", "two\n")
	if _, err := os.Stat(p.at("venv")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}

func TestWhatIsTooLargeToKeepIsNamedAndNeitherChangedNorRemoved(t *testing.T) {
	t.Parallel()
	p, w := newPlace(t), NewWatcher("")
	large := strings.Repeat("x", core.MaxKeptContent+1)
	p.file("was", large)
	told := p.line(w, "call", func() { p.file("was", "short\n"); p.file("made", large) })
	if !strings.Contains(told, "can't be put back") || !strings.Contains(told, ": was.") {
		t.Errorf("told: %q", told)
	}
	back, err := p.putBack()
	if err != nil || len(back.Back) != 0 || len(back.Kept) != 2 || back.Kept[0].Why != whyUnkept || back.Kept[1].Why != whyTooLarge {
		t.Errorf("went back: %+v, %v", back, err)
	}
	p.holds("was", "short\n")
	p.holds("made", large) // nothing could bring it again
}

// closing closes names to a line.
type closing string

func (c closing) Of(string) core.FolderRules { return c }
func (closing) Self() core.PathAccess        { return core.PathAccess{} }
func (c closing) Entry(name string) (a core.PathAccess) {
	if name == string(c) {
		a.Read = core.PathClosed
	}
	return a
}
func (c closing) Folder(string) core.FolderRules { return c }

func TestWhatIsClosedToALineIsNeitherKeptNorMissed(t *testing.T) {
	t.Parallel()
	p, w := newPlace(t), NewWatcher("")
	p.file("sub/secret", "of a person\n")
	p.file("a", "one\n")
	open := p.begin(w, "open")
	p.env.Workspace.Paths = closing("secret")
	p.line(w, "closed", func() { p.file("a", "two\n") })
	p.env.Workspace.Paths = nil
	open()
	p.line(w, "open again", func() {})
	if len(p.changes) != 1 || p.changes[0].Path != "a" {
		t.Errorf("noted are %+v", p.changes)
	}
	q := newPlace(t)
	q.env.Workspace.Paths = closing("secret")
	q.file("secret", "of a person\n")
	q.line(NewWatcher(""), "closed", func() {})
	if _, err := q.Content(t.Context(), core.ContentHash([]byte("of a person\n"))); err == nil {
		t.Error("what no line may read is kept")
	}
}

func TestAFolderThatIsTooMuchIsSaidSoAndNotWalkedEachTime(t *testing.T) {
	t.Parallel()
	p, w := newPlace(t), NewWatcher("")
	dir := p.dir
	for range maxWatchDepth + 2 {
		dir = filepath.Join(dir, "d")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if told := p.line(w, "call", func() {}); !strings.Contains(told, "can't be put back: the folder holds more than") {
		t.Errorf("told: %q", told)
	}
	if err := os.RemoveAll(p.at("d")); err != nil {
		t.Fatal(err)
	}
	if told := p.line(w, "call", func() {}); !strings.Contains(told, "can't be put back") {
		t.Errorf("looked again: %q", told)
	}
	w.seen[0].until = time.Now()
	if told := p.line(w, "call", func() {}); told != "" {
		t.Errorf("told: %q", told)
	}
}

func TestALookThatIsCancelledWaitsForNobody(t *testing.T) {
	t.Parallel()
	p, w := newPlace(t), NewWatcher("")
	w.ground(p.dir).turn <- struct{}{} // somebody looks
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("a person pressed escape"))
	if told := w.Watch(ctx, p.env, nil, nowhere)(ctx); !strings.Contains(told, "a person pressed escape") {
		t.Errorf("told: %q", told)
	}
}
