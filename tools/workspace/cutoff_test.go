package workspace

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/coretest"
)

// kill is what a kill of the daemon leaves of a journal: a watcher on a copy of it.
func (p *place) kill(dir string) *Watcher {
	p.Helper()
	left := filepath.Join(p.TempDir(), "left")
	if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
		p.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		p.Fatal(err)
	}
	for _, e := range entries { // when a line last said that it ran counts
		info, err := e.Info()
		if err != nil {
			p.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(left, e.Name()), info.ModTime(), info.ModTime()); err != nil {
			p.Fatal(err)
		}
	}
	return NewWatcher(left)
}

func (p *place) recover(w *Watcher) []Recovered {
	p.Helper()
	found, err := w.Recover(p.Context(), Recovery{
		Files: p, Contents: p, Rules: func(string) (core.PathRules, error) { return p.env.Workspace.Paths, nil },
	})
	if err != nil {
		p.Fatal(err)
	}
	return found
}

// TestWhatALineCouldChangeIsOnDiskBeforeItBegins lets the disk fail, as a machine that stops does.
func TestWhatALineCouldChangeIsOnDiskBeforeItBegins(t *testing.T) {
	t.Parallel()
	p, dir := newPlace(t), t.TempDir()
	p.write("a.txt", "one")
	p.unsynced = errors.New("the disk is full")
	told := NewWatcher(dir).Watch(t.Context(), p.env, nil, nowhere)(t.Context())
	left, err := os.ReadDir(dir)
	marked := slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), markFile) })
	if !strings.Contains(told, "the disk is full") || marked || err != nil {
		t.Errorf("a line begins although nothing is on disk: %q, %v, %v", told, left, err)
	}
	p.unsynced = nil
	after := NewWatcher(dir).Watch(t.Context(), p.env, nil, nowhere)
	if left, _ = os.ReadDir(dir); len(left) != 2 || p.synced == 0 {
		t.Errorf("%d contents are on disk, and in the journal %v", p.synced, left)
	}
	after(t.Context())
}

func TestWhatCutOffLinesDidAtRandomIsTakenBackToTheTreeAsItWas(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		p, dir := newPlace(t), t.TempDir()
		w := NewWatcher(dir)
		p.file(".gitignore", "ignored\n*.log\n")
		for _, name := range []string{"a", "b", "d/c", "d/e/f", "g/h", "ignored/z", ".git/HEAD", ".git/index", ".git/refs/heads/main"} {
			p.file(name, "first of "+name+"\n")
		}
		before := p.unignored()
		var ends []func() string
		for n := range 30 {
			switch rnd.IntN(5) {
			case 0:
				if len(ends) < 3 {
					ends = append(ends, p.begin(w, fmt.Sprint("call", n)))
				}
			case 1:
				if len(ends) > 1 { // at least one is cut off
					i := rnd.IntN(len(ends))
					ends[i]()
					ends = slices.Delete(ends, i, i+1)
				}
			default:
				if len(ends) > 0 {
					act(rnd, p.dir, n)
				}
			}
		}
		killed := p.kill(dir)
		for _, found := range p.recover(killed) {
			if found.Fault != nil || len(found.Doubtful) > 0 {
				t.Fatalf("seed %d: %+v", seed, found)
			}
		}
		if again := p.recover(killed); len(again) > 0 {
			t.Fatalf("seed %d: it is found twice: %+v", seed, again)
		}
		back, err := p.putBack()
		if err != nil || len(back.Kept) > 0 {
			t.Fatalf("seed %d: %v, kept %v", seed, err, back.Kept)
		}
		if diff := cmp.Diff(before, p.unignored()); diff != "" {
			t.Fatalf("seed %d: the tree is not as it was (-was +is):\n%s", seed, diff)
		}
		for _, end := range ends {
			end()
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*"+markFile)); len(left) > 0 {
			t.Fatalf("seed %d: lines that have ended are still noted: %q", seed, left)
		}
	}
}

func TestWhatSomebodyChangedAfterTheKillIsNotTheLines(t *testing.T) {
	t.Parallel()
	p, dir := newPlace(t), t.TempDir()
	p.file("by-line", "1")
	p.file("by-person", "1")
	p.file("sub/gone", "1")
	end := p.begin(NewWatcher(dir), "call")
	defer end()
	p.file("by-line", "2")
	p.file("made-by-line", "2")
	killed := p.kill(dir)
	marks, err := filepath.Glob(filepath.Join(killed.journal.dir, "*"+markFile))
	if err != nil || len(marks) != 1 {
		t.Fatal(marks, err)
	}
	// It is not known to the moment when it ended: what comes soon after counts as the line's.
	at := time.Now().Add(-beat - beat/2)
	if err := os.Chtimes(marks[0], at, at); err != nil {
		t.Fatal(err)
	}
	moment := time.Now()
	coretest.Until(t, "the clock goes on", func() bool { return time.Since(moment) > 100*time.Millisecond })
	p.file("by-person", "2")
	p.file("made-by-person", "2")
	if err := os.Remove(p.at("sub/gone")); err != nil {
		t.Fatal(err)
	}
	found := p.recover(killed)
	if len(found) != 1 || found[0].Workspace != p.dir || found[0].Changes != 2 || found[0].Fault != nil {
		t.Fatalf("%+v", found)
	}
	if got, want := strings.Join(found[0].Doubtful, " "), "by-person made-by-person sub/gone"; got != want {
		t.Errorf("left alone are %q, want %q", got, want)
	}
	for _, c := range p.changes {
		if c.Call != "call" || c.Conversation != "conv" {
			t.Errorf("it is not of the line: %+v", c)
		}
	}
	if _, err := p.putBack(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"by-line": "1", "by-person": "2", "made-by-person": "2"}
	for name, text := range want {
		if got, err := os.ReadFile(p.at(name)); err != nil || string(got) != text {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if _, err := os.Stat(p.at("made-by-line")); !os.IsNotExist(err) {
		t.Errorf("what the line made is still there: %v", err)
	}
}

func TestWhatIsIgnoredNoMoreIsNotTakenForMadeByTheLine(t *testing.T) {
	t.Parallel()
	p, dir := newPlace(t), t.TempDir()
	p.file(".gitignore", "secret\n")
	p.file("secret", "of the person's")
	end := p.begin(NewWatcher(dir), "call")
	defer end()
	p.file(".gitignore", "")
	found := p.recover(p.kill(dir))
	if len(found) != 1 || found[0].Changes != 1 || len(found[0].Doubtful) != 1 || found[0].Doubtful[0] != "secret" {
		t.Fatalf("%+v", found)
	}
	if _, err := p.putBack(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(p.at("secret")); err != nil || string(text) != "of the person's" {
		t.Errorf("the file is gone: %q, %v", text, err)
	}
}

func TestADamagedJournalIsLeftBehind(t *testing.T) {
	t.Parallel()
	p, dir := newPlace(t), t.TempDir()
	p.file("a", "1")
	end := p.begin(NewWatcher(dir), "call")
	defer end()
	killed := p.kill(dir)
	trees, err := filepath.Glob(filepath.Join(killed.journal.dir, "*"+treeFile))
	if err != nil || len(trees) != 1 {
		t.Fatal(trees, err)
	}
	if err := os.Truncate(trees[0], 10); err != nil {
		t.Fatal(err)
	}
	if found := p.recover(killed); len(found) != 0 {
		t.Fatalf("%+v", found)
	}
	if left, _ := os.ReadDir(killed.journal.dir); len(left) != 0 {
		t.Errorf("%d files are left", len(left))
	}
}
