package workspace

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// command runs git in the workspace.
func (p *place) command(args ...string) {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), "git", append([]string{"-C", p.dir, "-c", "user.name=a", "-c", "user.email=a@b.c"}, args...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("git %v: %v, %s", args, err, text)
	}
}

func (p *place) index() []byte {
	p.Helper()
	index, err := os.ReadFile(p.at(gitIndex))
	if err != nil {
		p.Fatal(err)
	}
	return index
}

func TestAnIndexThatGitRenewedStagesTheSame(t *testing.T) {
	t.Parallel()
	for version := 2; version <= 4; version++ {
		p := newPlace(t)
		p.command("init", "-q")
		for i := range 300 {
			p.file(fmt.Sprintf("folder %d/file%d", i%7, i), "one\n")
		}
		p.file("new", "not yet\n")
		p.command("add", ".")
		p.command("reset", "-q", "new")
		p.command("add", "--intent-to-add", "new") // an extended flag
		p.command("update-index", "--index-version", fmt.Sprint(version))
		before := p.index()
		if got := before[7]; int(got) != max(version, 3) && version != 2 {
			t.Errorf("the index is of version %d", got)
		}
		for i := range 300 {
			later := time.Now().Add(time.Duration(i+10) * time.Second)
			if err := os.Chtimes(p.at(fmt.Sprintf("folder %d/file%d", i%7, i)), later, later); err != nil {
				t.Fatal(err)
			}
		}
		p.command("status", "--short")
		if after := p.index(); bytes.Equal(before, after) || !sameIndex(before, after) {
			t.Errorf("version %d: renewed: %t, the same: %t", version, !bytes.Equal(before, after), sameIndex(before, after))
		}
		p.file("folder 1/file1", "two\n")
		p.command("add", ".")
		if sameIndex(before, p.index()) {
			t.Errorf("version %d: another content is the same", version)
		}
	}
}

func TestGitsOwnLookAtTheFolderKeepsNoLineFromBeingTakenBack(t *testing.T) {
	t.Parallel()
	p, w := newPlace(t), NewWatcher("")
	p.command("init", "-q")
	p.file("a", "one\n")
	p.command("add", ".")
	p.command("commit", "-qm", "first")
	before := p.index()
	p.line(w, "call", func() {
		p.file("a", "two\n")
		p.file("b", "new\n")
		p.command("add", ".")
		p.command("commit", "-qm", "second")
	})
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(p.at("a"), later, later); err != nil {
		t.Fatal(err)
	}
	p.command("status") // as a prompt does
	back, err := p.putBack()
	if err != nil || len(back.Kept) > 0 {
		t.Errorf("went back: %+v, %v", back, err)
	}
	if !bytes.Equal(p.index(), before) {
		t.Error("something else is staged")
	}
}

func FuzzStaged(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01"), []byte("DIRC\x00\x00\x00\x04\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if out, known := staged(a); !known && out != nil || len(out) > maxStaged+len(a) {
			t.Errorf("%d bytes of %d", len(out), len(a))
		}
		if sameIndex(a, b) != sameIndex(b, a) {
			t.Error("it depends on the order")
		}
	})
}
