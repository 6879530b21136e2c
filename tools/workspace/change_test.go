package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestEditReplacesOneTextOrSeveralOrNone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file("a.go", "a := 1\nb := 2\nb := 2\n")
	p.says(p.edit("a.go", Edit{Old: "a := 1", New: "a := 7"}), "changed in 1 place: line 1")
	p.says(p.edit("a.go", Edit{Old: "b := 2", New: "c"}), "error: ", "2 times", "lines 2, 3", "replace_all")
	p.says(p.edit("a.go", Edit{Old: "a := 7", New: "x"}, Edit{Old: "zzz", New: "y"}), "error: ", "edit 2 of 2", "none was made")
	p.holds("a.go", "a := 7\nb := 2\nb := 2\n")
	p.says(p.edit("a.go", Edit{Old: "b := 2", New: "c", All: true}, Edit{Old: "a := 7\nc", New: "d"}), "changed in 3 places: lines 2, 3, 1")
	p.holds("a.go", "d\nc\n")
	p.says(p.edit("a.go", Edit{Old: "d", New: "d"}), "error: ", "the same")
	p.says(p.edit("a.go", Edit{Old: "", New: "d"}), "error: ", "old_string is empty")
	p.says(p.edit("a.go"), "error: ", "give old_string")
	p.says(p.edit("b.go", Edit{Old: "a", New: "b"}), "error: ", "there is no file", "write")
	p.says(p.answer(EditFile(t.Context(), EditArgs{Path: "a.go", Old: "c", New: "e"}, p.env)), "line 2")
	both := EditArgs{Path: "a.go", Old: "c", Edits: []Edit{{Old: "a", New: "b"}}}
	p.says(p.answer(EditFile(t.Context(), both, p.env)), "error: ", "not both")
}

func TestEditSaysWhereAnAbsentTextNearlyStands(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file("a.go", "func main() {\n\tprintln(1)\n\tprintln(2)\n}\n")
	p.says(p.edit("a.go", Edit{Old: "    println(1)\n    println(2)", New: "x"}), "lines 2 to 3", "white space")
	p.says(p.edit("a.go", Edit{Old: "func main() {\n\tprintln(3)", New: "x"}), "first line stands at line 1")
	p.says(p.edit("a.go", Edit{Old: "nothing like it", New: "x"}), "nor is its first line")
}

func TestEditKeepsLineEndsMarkEncodingAndMode(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	path := p.file("win.txt", "\ufeffone\r\ntwo\r\nthree\n")
	if err := os.Chmod(path, 0o750); err != nil {
		t.Fatal(err)
	}
	p.says(p.edit("win.txt", Edit{Old: "one\ntwo", New: "1\n1b\n2"}, Edit{Old: "three", New: "3\n4"}), "changed")
	p.holds("win.txt", "\ufeff1\r\n1b\r\n2\r\n3\r\n4\n")
	p.file("wide.txt", "\xff\xfea\x00\n\x00")
	p.says(p.edit("wide.txt", Edit{Old: "a", New: "ü"}), "changed")
	p.holds("wide.txt", "\xff\xfe\xfc\x00\n\x00")
	p.file("latin.txt", "caf\xe9")
	p.says(p.edit("latin.txt", Edit{Old: "caf", New: "x"}), "error: ", "UTF-8")
	p.read("win.txt")
	p.says(p.write("win.txt", "a\nb\n"), "replaced: 2 lines")
	p.holds("win.txt", "\ufeffa\r\nb\r\n")
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o750 {
		t.Errorf("the mode became %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, ".loci-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestWhatAPersonChangedSinceItWasReadIsNotOverwritten(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	path := p.file("a.go", "one\ntwo\n")
	p.says(p.write("a.go", "x"), "error: ", "have not read it")
	p.read("a.go")
	if err := os.WriteFile(path, []byte("one\n2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{p.edit("a.go", Edit{Old: "one", New: "1"}), p.write("a.go", "x")} {
		p.says(got, "error: ", "changed since you read it", "-two", "+2", "Read it again")
	}
	p.holds("a.go", "one\n2\n")
	p.read("a.go")
	p.says(p.edit("a.go", Edit{Old: "one", New: "1"}), "changed in 1 place")
	p.says(p.edit("a.go", Edit{Old: "1", New: "uno"}), "changed in 1 place") // its own change is known
	p.says(p.write("a.go", "all\n"), "replaced")
}

func TestWriteMakesFoldersAndRefusesWhatIsNoFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.says(p.write("a/b/c.txt", "text\n"), "made: 1 line")
	p.holds("a/b/c.txt", "text\n")
	p.says(p.write("a/b", "text"), "error: ", "folder")
	p.says(p.write(".", "text"), "error: ", "folder")
	p.says(p.write("a/b/c.txt/d", "text"), "error: ")
	p.says(p.write("x", "a\x00b"), "error: ", "no text")
	p.says(p.write("big", strings.Repeat("x", 11<<20)), "error: ", "more than 10 MB")
	path := p.file("fixed", "x")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	p.says(p.edit("fixed", Edit{Old: "x", New: "y"}), "error: ", "read-only")
	if _, err := os.Stat(filepath.Join(p.dir, "big")); err == nil {
		t.Error("a refused file is there")
	}
}
