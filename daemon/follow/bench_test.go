package follow

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
)

const benchFiles = 10_000

// fill writes files of about a kilobyte into a hundred directories.
func (h *house) fill() {
	h.Helper()
	words := strings.Fields("harbour lighthouse keeper ferry parcel letter river stone window garden engine winter market bridge")
	random := rand.New(rand.NewPCG(1, 1))
	for i := range benchFiles {
		var text strings.Builder
		for range 150 {
			text.WriteString(words[random.IntN(len(words))] + " ")
		}
		h.write(fmt.Sprintf("d%d/f%d.txt", i%100, i), text.String()+fmt.Sprintf("\nnumber %d\n", i))
	}
}

// read waits until so many files are read. It asks seldom, so that asking costs nothing.
func (h *house) read(files int) {
	h.Helper()
	coretest.UntilWithin(h, "the files are read", 100*time.Millisecond, 5*time.Minute, func() bool { return h.state().Done >= files })
}

// BenchmarkFollow takes in 10,000 files, until all are read and embedded.
func BenchmarkFollow(b *testing.B) {
	for b.Loop() {
		h := newHouse(b, false)
		h.fill()
		began := time.Now()
		h.follow()
		h.read(benchFiles)
		b.ReportMetric(benchFiles/time.Since(began).Seconds(), "files/s")
	}
}

// BenchmarkChange changes, renames and deletes one of 10,000 files, and measures until that can be read.
func BenchmarkChange(b *testing.B) {
	for name, poll := range map[string]bool{"told": false, "polled": true} {
		b.Run(name, func(b *testing.B) {
			h := newHouse(b, poll)
			h.fill()
			h.follow()
			h.read(benchFiles)
			id := h.files()["d1/f1.txt"].ID
			var worst time.Duration
			took := func(what string, holds func(f core.File, err error) bool) {
				b.Helper()
				d := h.until(what, func() bool {
					f, err := h.store.Files().Get(h.ctx, id)
					return holds(f, err)
				})
				worst = max(worst, d)
				b.ReportMetric(float64(d.Milliseconds()), what+"-ms")
			}
			n := 0
			for b.Loop() {
				n++
				text := fmt.Sprintf("changed %d", n)
				h.write("d1/f1.txt", text)
				took("change", func(core.File, error) bool {
					doc, err := h.store.Files().Document(h.ctx, id)
					return err == nil && doc.Text == text
				})
				h.rename("d1/f1.txt", "d2/g.txt")
				took("rename", func(f core.File, _ error) bool { return f.Name == "d2/g.txt" })
				h.remove("d2/g.txt")
				took("delete", func(_ core.File, err error) bool { return core.KindOf(err) == core.NotFound && err != nil })
				h.write("d1/f1.txt", "again")
				h.until("it is back", func() bool {
					f, ok := h.files()["d1/f1.txt"]
					id = f.ID
					return ok && f.Status == core.FileCompleted
				})
			}
			b.ReportMetric(float64(worst.Milliseconds()), "worst-ms")
		})
	}
}

// BenchmarkLook compares 10,000 files with what is known of them: what polling does each time.
func BenchmarkLook(b *testing.B) {
	h := newHouse(b, true)
	h.fill()
	d := &directory{root: h.dir, known: map[string]storedFile{}}
	first, err := scan(h.ctx, h.dir, nil)
	h.ok(err)
	for name, e := range first.files {
		d.known[name] = storedFile{entry: e}
	}
	for b.Loop() {
		seen, err := scan(h.ctx, h.dir, nil)
		h.ok(err)
		if p := d.newPass(seen, nil); len(p.todo)+len(p.gone) > 0 {
			b.Fatal("nothing has changed")
		}
	}
}
