// Package golden compares what a test made with a file beside it.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Equal fails a test unless a text is that of testdata/NAME.golden, which ends with one more line break; -update rewrites
// the file, so review its diff.
func Equal(tb testing.TB, name, got string) {
	tb.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got+"\n"), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	want := string(data)
	if got += "\n"; got == want {
		return
	}
	n := 0 // lines in common
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	for n < min(len(w), len(g))-1 && w[n] == g[n] {
		n++
	}
	tb.Errorf("%s differs from line %d on: want %q, got %q; all of it is\n%s", name, n+1, w[n], g[n], got)
}
