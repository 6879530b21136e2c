package forget

import (
	"encoding/binary"
	"log/slog"
	"path/filepath"
	"testing"
	"time"
	"unicode/utf16"

	"loci/core"
	"loci/storage/contents"
)

func TestWhatFilesHeldIsForgotten(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	quiet := slog.New(slog.DiscardHandler)
	kept := contents.New(contents.Config{Dir: filepath.Join(d.dir, contents.Folder), Clock: time.Now, Logger: quiet})
	d.s.contents = kept
	wide := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune("said " + secret)) {
		wide = binary.LittleEndian.AppendUint16(wide, unit)
	}
	gone, stays := [][]byte{[]byte("line one\n" + secret + "\n"), wide}, []byte("nothing of it")
	for _, content := range append(gone, stays) {
		d.check(kept.Keep(t.Context(), content, true))
	}
	const place = "contents kept of files"
	count := func(found core.Forgetting) int {
		for _, p := range found.Places {
			if p.Name == place {
				return p.Count
			}
		}
		return 0
	}
	traced, err := d.s.Trace(t.Context(), core.ForgetQuery{Text: secret})
	d.check(err)
	if n := count(traced); n != len(gone) {
		t.Errorf("%d contents are found, want %d: %+v", n, len(gone), traced.Places)
	}
	if _, err := kept.Content(t.Context(), core.ContentHash(gone[0])); err != nil {
		t.Errorf("looking for a text removed one: %v", err)
	}
	forgotten, err := d.s.Forget(t.Context(), core.ForgetQuery{Text: secret})
	d.check(err)
	if n := count(forgotten); n != len(gone) {
		t.Errorf("%d contents were removed, want %d", n, len(gone))
	}
	for _, content := range gone {
		if _, err := kept.Content(t.Context(), core.ContentHash(content)); core.KindOf(err) != core.NotFound {
			t.Errorf("%q is still kept: %v", content, err)
		}
	}
	if _, err := kept.Content(t.Context(), core.ContentHash(stays)); err != nil {
		t.Errorf("another content went along: %v", err)
	}
}

// TestAnImageIsForgottenByItsHash: what it shows no search can read.
func TestAnImageIsForgottenByItsHash(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	data := []byte("a face")
	p := core.Picture{Image: core.Image{Hash: core.ContentHash(data), Type: "image/png"}, Data: data}
	d.check(d.s.Images().Put(t.Context(), p))
	id := d.keep(core.Message{
		Role: core.RoleUser, Content: []core.Content{core.Text("look"), {Type: core.ContentImage, Image: &p.Image}},
	})
	_, err := d.s.Forget(t.Context(), core.ForgetQuery{Text: p.Hash})
	d.check(err)
	if _, err := d.s.Images().Get(t.Context(), p.Hash); !core.Absent(err) {
		t.Errorf("it is still there: %v", err)
	}
	if left := remains(t, d.s, d.dir, "a face"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	m, err := d.s.Messages().Get(t.Context(), id) // it still names what is gone
	d.check(err)
	if len(m.Images()) != 1 || m.PlainText() != "look" {
		t.Errorf("the message is %+v", m)
	}
}
