package mirror

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
)

// during does something once, when a pass comes to an action.
func (h *house) during(action string, do func()) {
	h.t.Helper()
	done := false
	h.restart(func(point string) {
		if !done && point == action {
			done = true
			do()
		}
	})
	h.t.Cleanup(func() {
		if !done {
			h.t.Errorf("no pass came to %q", action)
		}
	})
}

// dies ends a pass when it comes to an action, as a kill would.
func (h *house) dies(action string) {
	h.t.Helper()
	h.during(action, func() { panic(errKilled) })
	defer func() {
		if e := recover(); e != errKilled { //nolint:errorlint // exactly that one
			h.t.Fatalf("the pass ended with %v", e)
		}
		h.restart(nil)
	}()
	_, _ = h.mirrors.Sync(h.ctx, h.agent)
}

func TestHowAMirrorIsCanBeAskedDuringASync(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.block("human", "Ada")
	h.on()
	var asking sync.WaitGroup
	h.during("commit what is there", func() {
		asked := make(chan []core.MirrorState, 1)
		asking.Go(func() {
			one, err := h.mirrors.State(h.ctx, h.agent)
			if err != nil {
				t.Error(err)
			}
			asked <- append(h.mirrors.States(), one)
		})
		select {
		case states := <-asked:
			for _, s := range states {
				same(t, "the folder", h.dir, s.Mirror.Path)
			}
		case <-time.After(time.Minute):
			t.Error("the answer waits for the sync")
		}
	})
	h.sync()
	asking.Wait()
}

func TestABlockThatIsEditedDuringASyncIsNotOverwritten(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	human := h.block("human", "Ada")
	h.on()
	h.save("system/human.md", "from the file\n")
	h.during("take into the block system/human.md", func() { h.set(human.ID, "from the block") })
	h.clashed(h.sync(), human.ID, "from the block", "from the file\n")
}

func TestAFileThatIsEditedDuringASyncIsNotOverwritten(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"replace system/human.md", "take system/human.md", "taken system/human.md", "put system/human.md"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			human := h.block("human", "Ada")
			h.on()
			h.set(human.ID, "from the block")
			h.during(moment, func() { h.save("system/human.md", "from the file\n") })
			h.clashed(h.sync(), human.ID, "from the block", "from the file\n")
		})
	}
}

func TestAKilledSyncIsNoConflict(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{
		"commit what is there", "write the file system/human.md", "replace system/human.md", "take system/human.md",
		"taken system/human.md", "put system/human.md", "replaced system/human.md",
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			human := h.block("human", "Ada")
			h.on()
			h.set(human.ID, "Ada Lovelace")
			h.dies(moment)
			h.set(human.ID, "Ada King")
			same(t, "notes", []string{}, noted(h.sync()))
			if !strings.HasSuffix(h.file("system/human.md"), "\nAda King\n") {
				t.Errorf("the file is %q", h.file("system/human.md"))
			}
		})
	}
}

// TestAnEditAfterAKilledSyncIsNoReasonToOverwriteTheOther: the block's edit never reached the file that the person edited.
func TestAnEditAfterAKilledSyncIsNoReasonToOverwriteTheOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	human := h.block("human", "Ada")
	h.on()
	h.set(human.ID, "from the block")
	h.dies("replace system/human.md")
	h.save("system/human.md", "from the file\n")
	h.clashed(h.sync(), human.ID, "from the block", "from the file\n")
}

func TestARenameThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{
		"rename the file system/a.md", "put system/b.md", "moved system/a.md", "take system/a.md", "taken system/a.md",
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			a := h.block("a", "text")
			h.on()
			b := h.get(a.ID)
			b.Label = "b"
			h.ok(h.store.Blocks().Update(h.ctx, &b, core.Author{Kind: core.AuthorUser}))
			h.dies(moment)
			s := h.sync()
			same(t, "notes", []string{}, noted(s))
			same(t, "blocks", 1, s.Blocks)
			same(t, "files", "system/b.md", h.git("ls-files"))
		})
	}
}

func TestWhatAnEditorWritesIntoAReplacedFileIsKept(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.block("human", "Ada")
	h.on()
	f, err := openFolder(h.dir)
	h.ok(err)
	defer f.close()
	editor, err := os.OpenFile(h.path("system/human.md"), os.O_WRONLY, 0)
	h.ok(err)
	defer func() { _ = editor.Close() }()
	h.ok(f.replace("system/human.md", f.read("system/human.md").Hash, []byte("by the agent")))
	waiting, err := f.sweep()
	h.ok(err)
	same(t, "waiting", 1, waiting)
	_, err = editor.WriteAt([]byte("a moment too late"), 0)
	h.ok(err)
	f.now = func() time.Time { return time.Now().Add(keepAside) }
	waiting, err = f.sweep()
	h.ok(err)
	same(t, "waiting", 0, waiting)
	same(t, "the file", "by the agent", h.file("system/human.md"))
	if got := h.file("system/human.conflict-1.md"); !strings.HasPrefix(got, "a moment too late") {
		t.Errorf("the conflict is %q", got)
	}
	left, err := os.ReadDir(h.path(asideDir))
	h.ok(err)
	same(t, "files aside", 0, len(left))
}

func TestAFileIsReadOnceItIsNotBeingWrittenAnyMore(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	human := h.block("human", "Ada")
	h.on()
	h.ticks(4) // until it rests
	h.save("system/human.md", "half a sen")
	h.ticks(1)
	same(t, "the block", "Ada", h.get(human.ID).Value)
	h.save("system/human.md", "half a sentence and the rest\n")
	h.ticks(1)
	same(t, "the block", "Ada", h.get(human.ID).Value)
	h.ticks(1)
	same(t, "the block", "half a sentence and the rest", h.get(human.ID).Value)
}

// TestABlockThatWentBackAfterAKilledSyncIsNotOverwritten: the file was edited from a text that the block has taken back.
func TestABlockThatWentBackAfterAKilledSyncIsNotOverwritten(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	human := h.block("human", "Ada")
	h.on()
	h.set(human.ID, "wrong")
	h.dies("replaced system/human.md")
	h.set(human.ID, "Ada")
	h.save("system/human.md", "wrong, and more\n")
	h.clashed(h.sync(), human.ID, "Ada", "wrong, and more\n")
}
