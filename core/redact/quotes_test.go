package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// rambling returns a long text on one line, so that excerpts of it are cut short.
func rambling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "In year %d the <harbour> of Zanzibarowitz had %d boats & \"ferries\"; ", 1700+i, i*i)
	}
	return b.String()
}

func TestQuotesAreFoundWhereverTheyBeginAndEnd(t *testing.T) {
	t.Parallel()
	text := rambling(40)
	r := New([]string{text}, false)
	r.quotes = newQuotes([]string{text})
	for _, c := range []struct{ from, to int }{{0, 64}, {1, 70}, {317, 600}, {len(text) - 64, len(text)}, {3, len(text) - 1}} {
		in := "say: …" + text[c.from:c.to] + "… thus"
		if got := r.Text(in); got != "say: …[forgotten]… thus" {
			t.Errorf("%d to %d: %q", c.from, c.to, got)
		}
	}
	within, err := json.Marshal(map[string]string{"a": text[:100] + "\n", "b": text[:100] + "\""}) // identical up to the escape
	if err != nil {
		t.Fatal(err)
	}
	r.quotes = newQuotes(variants(text[:100] + "\t" + text[100:]))
	if got := r.Text(string(within)); got != `{"a":"[forgotten]\n","b":"[forgotten]\""}` {
		t.Errorf("half an escape went along: %s", got)
	}
	r.quotes = newQuotes([]string{text})
	for _, in := range []string{text[:40], "", "x", text[100:150] + " " + text[10:60], strings.Repeat("ab", 5000)} {
		if got := r.Text(in); got != in {
			t.Errorf("%q became %q", in, got)
		}
	}
	twice := text[50:150] + "|" + text[200:300]
	if got := r.Text(twice); got != "[forgotten]|[forgotten]" {
		t.Errorf("%q", got)
	}
}

func BenchmarkLookForQuotes(b *testing.B) {
	text := rambling(100)
	r := New([]string{text}, false)
	r.quotes = newQuotes([]string{text})
	in := strings.Repeat("Nothing of it stands in here, however long one looks. ", 2000)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if r.Finds(in) {
			b.Fatal("found")
		}
	}
}
