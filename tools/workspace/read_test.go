package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
)

func TestReadNumbersLinesAndSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file("a.txt", "one\ntwo\r\nthree")
	if got, want := p.read("a.txt"), "1\tone\n2\ttwo\n3\tthree"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.file("b.txt", strings.Repeat("line\n", 3000))
	if got := p.read("b.txt"); !strings.HasSuffix(got, "2000\tline\n(There is more: go on with offset 2001.)") {
		t.Errorf("ends %q", got[len(got)-80:])
	}
	if got, want := p.lines("b.txt", 2999, 9), "2999\tline\n3000\tline\n(Line 3000 is the last.)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.says(p.lines("b.txt", 4000, 1), "error: ", "has 3000 lines")
	p.file("long.txt", strings.Repeat("x", 100_000)+"\nend\n")
	p.says(p.read("long.txt"), "… (cut: the line has 100000 bytes)", "2\tend")
	p.file("wide.txt", strings.Repeat(strings.Repeat("y", 1000)+"\n", 100))
	if got := p.read("wide.txt"); len(got) > maxShown+200 || !strings.Contains(got, "go on with offset 40") {
		t.Errorf("%d characters, ends %q", len(got), got[len(got)-80:])
	}
	p.file("empty", "")
	p.says(p.read("empty"), "empty")
}

func TestReadSaysWhatIsNoTextAndWhatIsMissing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file("src/config.go", "x")
	p.file("a.png", "\x89PNG\r\n\x1a\n\x00\x00")
	p.file("a.bin", "abc\x00def")
	p.file("a.pdf", "%PDF-1.4\n")
	p.file("latin", "caf\xe9\n")
	p.file("BMW.md", "BMW is a car")
	p.says(p.read("a.png"), "error: ", "is an image, and this model takes no images")
	p.says(p.read("a.bin"), "error: ", "binary", "7 bytes")
	p.says(p.read("a.pdf"), "error: ", "PDF")
	p.says(p.read("latin"), "1\tcaf\ufffd", "cannot be changed")
	p.says(p.read("BMW.md"), "1\tBMW is a car")
	p.says(p.read("src"), "error: ", "folder", "list")
	p.says(p.read("src/confg.go"), "error: ", "there is no file")
	p.says(p.read("src/config.ts"), "error: ", "Near it: src/config.go")
	p.says(p.read("lib/config.go"), "error: ", "no folder lib")
	p.says(p.read("src/config.go/x"), "error: ", "cannot be opened")
}

func TestALargeFileIsReadInPartsAndAHugeEmptyOneIsNot(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var b strings.Builder
	for i := range 1_300_000 {
		fmt.Fprintf(&b, "row %06d\n", i+1)
	}
	p.file("large.log", b.String())
	p.says(p.lines("large.log", 1_200_000, 2), "1200000\trow 1200000\n1200001\trow 1200001\n(There is more")
	p.says(p.edit("large.log", Edit{Old: "row 000001", New: "x"}), "error: ", "more than 10 MB")
	sparse, err := os.Create(filepath.Join(p.dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer sparse.Close()
	if err := sparse.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	p.says(p.read("sparse"), "error: ", "binary")
	if _, err := sparse.WriteString(strings.Repeat("text\n", 4000)); err != nil {
		t.Fatal(err)
	}
	p.says(p.lines("sparse", 5000, 1), "error: ", "first 64 MB")
	p.says(p.grep(GrepArgs{Pattern: "text"}), "2 files larger than 10 MB")
}

func TestTextIsWrittenBackInItsEncoding(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"plain\n", "\ufefffoo\r\nbar", "\xff\xfea\x00b\x00", "\xfe\xff\x00a\xd8\x3d\xde\x00", "",
	} {
		got, enc, err := decode([]byte(text))
		if err != nil || string(enc.encode(got)) != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"caf\xe9", "\xff\xfea\x00b", "\xff\xfe\x00\xd8", "\xff\xfe\x00\x00a", "\xef\xbb\xbf\xff", strings.Repeat("a", 9000) + "\x00",
	} {
		if got, _, err := decode([]byte(text)); core.KindOf(err) != core.Invalid {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func FuzzLineEndsStayAsTheyWere(f *testing.F) {
	f.Add("a\r\nb\nc\r\n", 2, 3, "x\ny")
	f.Fuzz(func(t *testing.T, raw string, from, to int, with string) {
		l := linesOf(raw)
		if l.raw() != raw {
			t.Fatalf("%q became %q", raw, l.raw())
		}
		if from < 0 || to < from || to > len(l.text) {
			return
		}
		head, tail := l.text[:from], l.text[to:]
		l.replace(from, to, with)
		if got := linesOf(l.raw()); !strings.Contains(with+head+tail, "\r") && (got.text != l.text || !strings.HasSuffix(l.text, tail)) {
			t.Fatalf("%q [%d:%d] = %q: %q, %q", raw, from, to, with, l.text, got.text)
		}
	})
}

// album reads every image as the same one.
type album struct{}

func (album) Read(_ context.Context, data []byte) (core.Picture, error) {
	if len(data) < 20 {
		return core.Picture{}, core.E(core.Invalid, "the image is damaged")
	}
	return core.Picture{Image: core.Image{Type: "image/png", Width: 4, Height: 3, Bytes: 2048}, Data: data}, nil
}

func TestReadShowsAnImageToAModelThatTakesImages(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env.Pictures = album{}
	p.file("a.png", "\x89PNG\r\n\x1a\n\x00\x00 as good as whole")
	p.file("b.png", "\x89PNG\r\n\x1a\n\x00\x00")
	got, err := Read(t.Context(), ReadArgs{Path: "a.png"}, p.env)
	if err != nil || len(got.Images) != 1 || got.Text != "image 4x3 PNG, 2 KB" {
		t.Errorf("%+v, %v", got, err)
	}
	p.says(p.read("b.png"), "error: ", "b.png", "cannot be shown: the image is damaged")
	p.env.Sees = core.ImagesRefused
	p.says(p.read("a.png"), "error: ", "this model takes no images")
}
