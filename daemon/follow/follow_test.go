package follow

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/service"
)

// both runs a test with a system that tells of changes and with one that does not.
func both(t *testing.T, f func(t *testing.T, h *house)) {
	t.Helper()
	for name, poll := range map[string]bool{"told": false, "polled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, newHouse(t, poll))
		})
	}
}

// soon is a generous bound for what takes a fraction of a second on a quiet machine.
const soon = 20 * time.Second

func TestWhatIsMadeChangedRenamedAndDeletedIsSoInTheFolder(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h *house) {
		t.Helper()
		h.followed(map[string]string{"a.txt": "one", "sub/b.md": "# Two\n\ntwo"})
		first := h.files()

		h.write("a.txt", "another")
		took := h.until("a change is read", func() bool { return h.texts()["a.txt"] == "another" })
		if took > soon {
			t.Errorf("a change was read after %v", took)
		}
		if h.files()["a.txt"].ID != first["a.txt"].ID {
			t.Error("a changed file has another id")
		}

		h.rename("sub", "moved/deep")
		h.alike(map[string]string{"a.txt": "another", "moved/deep/b.md": "# Two\n\ntwo"})
		if h.files()["moved/deep/b.md"].ID != first["sub/b.md"].ID {
			t.Error("a renamed file has another id")
		}
		h.rename("a.txt", "a.csv") // it may be of another kind now
		h.alike(map[string]string{"a.csv": "another", "moved/deep/b.md": "# Two\n\ntwo"})

		h.write("moved/deep/new/er/c.txt", "three")
		h.alike(map[string]string{"a.csv": "another", "moved/deep/b.md": "# Two\n\ntwo", "moved/deep/new/er/c.txt": "three"})
		h.remove("moved")
		h.alike(map[string]string{"a.csv": "another"})
	})
}

func TestOnlyWhatCountsIsTakenAndThePlanSaysSoBefore(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	outside := t.TempDir()
	h.ok(os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("secret"), 0o600))
	h.write(".gitignore", "*.log\n/build/\n!keep.log\n")
	h.write("sub/.gitignore", "draft*\n!draft-kept.txt\n")
	for name, text := range map[string]string{
		"a.txt": "a", "x.log": "x", "keep.log": "kept", "build/out.txt": "x", "sub/build/in.txt": "in", "sub/draft.txt": "x",
		"sub/draft-kept.txt": "kept",
		".hidden":            "x", ".dir/x.txt": "x", "empty.txt": "", "blob.bin": "a\x00b",
		"late.bin": strings.Repeat("text ", 3000) + "\x00",
	} {
		h.write(name, text)
	}
	h.ok(os.Symlink(filepath.Join(outside, "secret.txt"), h.path("link.txt")))
	h.ok(os.Symlink(outside, h.path("out")))
	h.ok(os.Symlink(h.dir, h.path("sub/loop")))

	plan, err := h.follower.Plan(h.ctx, h.dir)
	h.ok(err)
	if plan.Files != 5 { // late.bin is told by its head alone
		t.Errorf("the plan has %d files: %+v", plan.Files, plan)
	}
	for reason, n := range map[core.SkipReason]int{
		core.SkipIgnored: 3, core.SkipHidden: 4, core.SkipEmpty: 1, core.SkipBinary: 1, core.SkipLink: 3,
	} {
		if plan.Skipped[reason] != n {
			t.Errorf("%d skipped as %s, want %d", plan.Skipped[reason], reason, n)
		}
	}
	h.follow()
	want := map[string]string{"a.txt": "a", "keep.log": "kept", "sub/build/in.txt": "in", "sub/draft-kept.txt": "kept"}
	h.write("last.txt", "last")
	want["last.txt"] = "last"
	h.alike(want)
	if s := h.state(); s.Plan.Files != len(want) || s.Plan.Skipped[core.SkipBinary] != 2 {
		t.Errorf("the state says %+v", s.Plan)
	}

	// Other rules hold for what is there already, too.
	h.write(".gitignore", "/build/\nkeep.log\n")
	delete(want, "keep.log")
	want["x.log"] = "x"
	h.alike(want)
}

func TestADirectoryThatIsGoneOrEmptyDeletesNothing(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h *house) {
		t.Helper()
		h.write("in/a.txt", "one")
		h.write("in/b.txt", "two")
		h.dir = h.path("in")
		h.follow()
		both := map[string]string{"a.txt": "one", "b.txt": "two"}
		h.alike(both)
		h.ok(os.Rename(h.dir, h.dir+"-away"))
		h.until("it is kept", func() bool {
			folder, err := h.services.Folders.Get(h.ctx, h.folder)
			h.ok(err)
			return strings.Contains(folder.Mirror.Error, "unmirror")
		})
		h.alike(both)

		h.ok(os.Mkdir(h.dir, 0o700)) // as a place where nothing is mounted
		h.until("it is said", func() bool { return strings.Contains(h.state().Mirror.Error, "nothing in it") })
		h.restart()
		h.until("it is said after a start", func() bool { return strings.Contains(h.state().Mirror.Error, "nothing in it") })
		h.alike(both)

		h.ok(os.Remove(h.dir))
		h.ok(os.Rename(h.dir+"-away", h.dir))
		h.write("a.txt", "three")
		h.alike(map[string]string{"a.txt": "three", "b.txt": "two"})
		h.until("it goes on", func() bool { return h.state().Mirror.Error == "" })
	})
}

func TestADirectoryThatCannotBeReadKeepsWhatIsKnownOfIt(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("nothing is closed to this account")
	}
	h := newHouse(t, true)
	h.followed(map[string]string{"shut/a.txt": "one", "b.txt": "two"})
	h.ok(os.Chmod(h.path("shut"), 0))
	t.Cleanup(func() { _ = os.Chmod(h.path("shut"), 0o700) })
	h.write("b.txt", "three")
	h.alike(map[string]string{"shut/a.txt": "one", "b.txt": "three"})
	h.until("it is told", func() bool { return h.state().Plan.Skipped[core.SkipUnreadable] == 1 })
}

func TestAStopAtAnyMomentIsGoneOnWithAndStoresNothingTwice(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	want := map[string]string{}
	for i := range 250 {
		name, text := fmt.Sprintf("d%d/f%d.txt", i%7, i), fmt.Sprintf("text number %d", i)
		h.write(name, text)
		want[name] = text
	}
	h.follow()
	for n := range 4 {
		h.until("some are there", func() bool { return len(h.files()) > min(240, n*60) })
		h.restart()
		name := fmt.Sprintf("d%d/f%d.txt", n, n)
		h.write(name, "changed while nobody looked")
		want[name] = "changed while nobody looked"
		gone := fmt.Sprintf("d%d/f%d.txt", (100+n)%7, 100+n)
		h.remove(gone)
		delete(want, gone)
		h.restart()
	}
	h.alike(want)
}

func TestAFileThatIsWrittenAllTheTimeEndsAsItIs(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	h.write("log.txt", "begin\n")
	h.follow()
	f, err := os.OpenFile(h.path("log.txt"), os.O_APPEND|os.O_WRONLY, 0)
	h.ok(err)
	text, end := "begin\n", time.Now().Add(time.Second)
	for i := 0; time.Now().Before(end); i++ {
		line := fmt.Sprintf("line %d\n", i)
		text += line
		_, err := f.WriteString(line)
		h.ok(err)
		runtime.Gosched()
		if len(text) > 1<<20 {
			break
		}
	}
	h.ok(f.Close())
	h.alike(map[string]string{"log.txt": text})
}

// TestAChangeThatKeepsSizeAndTimeIsSeen: the time of a file that is young says nothing. This one stays so, however long the
// test takes.
func TestAChangeThatKeepsSizeAndTimeIsSeen(t *testing.T) {
	t.Parallel()
	h := newHouse(t, true)
	young := time.Now().Add(time.Hour)
	h.write("a.txt", "one")
	h.ok(os.Chtimes(h.path("a.txt"), young, young))
	h.follow()
	h.alike(map[string]string{"a.txt": "one"})
	h.write("a.txt", "two")
	h.ok(os.Chtimes(h.path("a.txt"), young, young))
	h.alike(map[string]string{"a.txt": "two"})
}

func TestWhatTurnsIntoNoTextGoesAndABrokenFileLosesItsText(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	h.write("a.txt", "one")
	h.write("b.html", "<p>words</p>")
	h.follow()
	h.alike(map[string]string{"a.txt": "one", "b.html": "words\n"})
	h.write("a.txt", "\x00\x01")
	h.write("b.html", "%PDF-1.4 nothing")
	h.until("both are seen", func() bool {
		texts := h.texts()
		return len(texts) == 1 && strings.HasPrefix(texts["b.html"], "error: ")
	})
	h.chunksOnce()
	if f := h.files()["b.html"]; f.Chunks != 0 {
		t.Errorf("a broken file has %d chunks", f.Chunks)
	}
}

func TestAnAddedFileIsLeftAloneAndOneTakenOutComesBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	h.followed(map[string]string{"a.txt": "one"})
	if _, err := h.services.Files.Upload(h.ctx, h.folder, service.Upload{Name: "added.txt", Data: []byte("added")}); err != nil {
		t.Fatal(err)
	}
	h.write("added.txt", "of the directory")
	h.write("b.txt", "two")
	h.alike(map[string]string{"a.txt": "one", "added.txt": "added", "b.txt": "two"})
	h.ok(h.services.Files.Delete(h.ctx, h.folder, h.files()["a.txt"].ID))
	h.write("c.txt", "three")
	h.alike(map[string]string{"a.txt": "one", "added.txt": "added", "b.txt": "two", "c.txt": "three"})
}

func TestWhatFollowsNoMoreKeepsItsFilesAndADeletedFolderEndsIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	h.followed(map[string]string{"a.txt": "one"})
	s, err := h.follower.Off(h.ctx, h.folder)
	h.ok(err)
	if s.Mirror != nil || s.Done != 1 {
		t.Errorf("after the end: %+v", s)
	}
	h.write("b.txt", "two")
	first := h.folder
	if _, err := h.follower.On(h.ctx, first, h.dir); core.KindOf(err) != core.Conflict {
		t.Errorf("a folder with files: %v", err)
	}
	second, err := h.services.Folders.Create(h.ctx, service.NewFolder{Name: "second"}, nil)
	h.ok(err)
	h.folder = second.ID
	_, err = h.follower.On(h.ctx, second.ID, h.dir)
	h.ok(err)
	h.alike(map[string]string{"a.txt": "one", "b.txt": "two"})
	h.ok(h.services.Folders.Delete(h.ctx, second.ID))
	h.write("c.txt", "three")
	h.until("it has ended", func() bool { return h.follower.find(second.ID) == nil })
	h.folder = first
	h.alike(map[string]string{"a.txt": "one"})
}

func TestAPathThatIsNoDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	h.write("a.txt", "one")
	h.write("own/data.txt", "x")
	h.follower.cfg.Except = []string{h.path("own")}
	for path, kind := range map[string]core.Kind{
		"relative": core.Invalid, h.path("nowhere"): core.NotFound, h.path("a.txt"): core.Invalid, h.path("own"): core.Invalid,
	} {
		if _, err := h.follower.Plan(h.ctx, path); core.KindOf(err) != kind {
			t.Errorf("%s: %v, want %s", path, err, kind)
		}
	}
	plan, err := h.follower.Plan(h.ctx, h.dir)
	h.ok(err)
	if plan.Files != 1 {
		t.Errorf("our own directory is in the plan: %+v", plan)
	}
}

func TestNothingOutsideIsReadWhateverBecomesOfAName(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	outside := t.TempDir()
	h.ok(os.WriteFile(filepath.Join(outside, "a.txt"), []byte("secret"), 0o600))
	h.write("d/a.txt", "one")
	top, err := os.OpenRoot(h.dir)
	h.ok(err)
	t.Cleanup(func() { _ = top.Close() })
	h.remove("d")
	h.ok(os.Symlink(outside, h.path("d"))) // after it was listed
	if c, err := read(top, "d/a.txt"); err == nil {
		t.Errorf("%q was read through a link", c.data)
	}
	h.ok(os.Symlink(filepath.Join(outside, "a.txt"), h.path("b.txt")))
	if c, err := read(top, "b.txt"); err == nil {
		t.Errorf("%q was read through a link", c.data)
	}
}

func TestWhatTheDirectoryCouldNotGiveIsReadWhenItCan(t *testing.T) {
	t.Parallel()
	h := newHouse(t, true)
	h.write("in/a.txt", "one")
	h.dir = h.path("in")
	h.close() // so that the file is accepted and not read yet
	f, err := h.services.Folders.Create(h.ctx, service.NewFolder{Name: "followed"}, nil)
	h.ok(err)
	h.folder = f.ID
	root, err := filepath.EvalSymlinks(h.dir)
	h.ok(err)
	_, err = h.services.Folders.Mirror(h.ctx, f.ID, root)
	h.ok(err)
	top, err := os.OpenRoot(root)
	h.ok(err)
	c, err := read(top, "a.txt")
	h.ok(errors.Join(err, top.Close()))
	_, err = h.services.Files.Follow(
		h.ctx,
		f.ID,
		root,
		[]service.DiskFile{{Name: "a.txt", Kind: c.kind, Size: c.size, Hash: c.hash, ModifiedAt: c.modified}},
		nil,
	)
	h.ok(err)
	h.ok(os.Rename(h.dir, h.dir+"-away"))
	h.start()
	h.until("it cannot be read", func() bool { return strings.Contains(h.texts()["a.txt"], "bring it back") })
	h.ok(os.Rename(h.dir+"-away", h.dir))
	h.alike(map[string]string{"a.txt": "one"})
}
