//go:build unix

package index

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"loci/core/search"
)

var scale = flag.Int("scale", 0, "index so many made-up passages and time searches among them")

// made generates documents: conversations between two of many speakers, with word frequencies as in speech.
type made struct {
	n      int
	owners int
}

func (m made) Bounds(context.Context) (first, last int64, err error) { return 0, 0, nil }

func (m made) Changes(context.Context, int64, int) ([]Change, error) { return nil, nil }

func (m made) Docs(context.Context, search.Kind, []string) ([]Doc, error) { return nil, nil }

func (m made) All(_ context.Context, kind search.Kind, after int64, limit int) (docs []Doc, next int64, done bool, err error) {
	if kind != search.Passage {
		return nil, 0, true, nil
	}
	for i := int(after); i < min(int(after)+limit, m.n); i++ {
		docs = append(docs, m.doc(i))
	}
	return docs, after + int64(len(docs)), int(after)+len(docs) >= m.n, nil
}

func (m made) doc(i int) Doc {
	draw := rand.New(rand.NewPCG(uint64(i), 7))
	zipf := rand.NewZipf(draw, 1.15, 8, 60_000)
	words := make([]string, 14+draw.IntN(10))
	for j := range words {
		words[j] = spell(int(zipf.Uint64()))
	}
	session := i / 20
	at := time.Date(2019, 1, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(session) * 150 * time.Minute)
	name := fmt.Sprintf("Name%c%c", 'a'+session%20, 'a'+i%2)
	text := "(" + at.Format("3:04 pm on 2 January, 2006") + ") " + name + ": " + strings.Join(words, " ")
	return Doc{
		Seq:   int64(i + 1),
		ID:    fmt.Sprintf("passage-%036d", i),
		Owner: fmt.Sprint("archive-", i%max(m.owners, 1)),
		At:    at.UnixMicro(),
		Text:  text,
	}
}

// talk returns some words of one passage, as a question has, and half of the time who said it.
func (m made) talk(draw *rand.Rand) string {
	words := strings.Fields(m.doc(draw.IntN(m.n)).Text)
	name := strings.TrimSuffix(words[6], ":")
	words = words[7:]
	var q []string
	for _, i := range draw.Perm(len(words))[:5] {
		q = append(q, words[i])
	}
	if draw.IntN(2) == 0 {
		q = append(q, name)
	}
	return strings.Join(q, " ")
}

// spell makes a word from a number: pronounceable, and not a stop word.
func spell(n int) string {
	var b strings.Builder
	for n += 30; n > 0; n /= 60 {
		b.WriteByte("bdfgklmnprtz"[n%12])
		b.WriteByte("aeiou"[n/12%5])
	}
	return b.String() + "k"
}

// cpu is the time that processors worked for this program: unlike the clock it does not count what others do.

func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestSearchesStayFastAmongManyPassages(t *testing.T) {
	if *scale == 0 {
		t.Skip("a measurement: run it with -scale N")
	}
	source := made{n: *scale}
	began := time.Now()
	x, err := Open(t.Context(), Config{
		Path: filepath.Join(t.TempDir(), "index.db"), Home: "h", Open: open, Source: source, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if !x.Wait(t.Context(), 0, time.Hour) {
		t.Fatal("not built")
	}
	t.Logf("%d passages: built in %v, %v each", source.n, time.Since(began).Round(time.Second), time.Since(began)/time.Duration(source.n))
	draw := rand.New(rand.NewPCG(1, 1))
	talk := func() string { return source.talk(draw) }
	common := func() string { return spell(draw.IntN(3)) }
	for name, query := range map[string]func() string{
		"talk":          talk,
		"one common":    common,
		"three common":  func() string { return spell(0) + " " + spell(1) + " " + spell(2) },
		"name only":     func() string { return "Nameaa" },
		"name, common":  func() string { return "Nameaa " + common() },
		"a day":         func() string { return "what happened on 5 March 2019" },
		"common, a day": func() string { return common() + " on 5 March 2019" },
		"long":          func() string { return strings.Repeat(talk()+" ", 20) },
	} {
		for _, owned := range []bool{false, true} {
			var f Filter
			if owned {
				f.Owners = []string{"archive-0"}
			}
			var times []time.Duration
			found, used := 0, cpu()
			for range 60 {
				q := search.Analyse(query(), 18_000)
				began := time.Now()
				hits, _, err := match(t.Context(), x, q, f, 10)
				if err != nil {
					t.Fatal(err)
				}
				times, found = append(times, time.Since(began)), found+len(hits)
			}
			slices.Sort(times)
			t.Logf(
				"%-14s owned %-5v p50 %8v p95 %8v max %8v, %8v of processors, %d hits",
				name,
				owned,
				times[30].Round(time.Millisecond/10),
				times[56].Round(time.Millisecond/10),
				times[59].Round(time.Millisecond/10),
				((cpu() - used) / 60).Round(time.Millisecond/10),
				found/60,
			)
		}
	}
}
