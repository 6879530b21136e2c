package memory

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifferencesShowChangesWithTheLinesAroundThem(t *testing.T) {
	t.Parallel()
	long := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12"
	for name, tt := range map[string]struct{ before, after, want string }{
		"nothing":                {"a\nb", "a\nb", ""},
		"a last newline":         {"a\nb", "a\nb\n", ""},
		"from nothing":           {"", "a\nb", "@@ -1,0 +1,2 @@\n+a\n+b\n"},
		"to nothing":             {"a", "", "@@ -1,1 +1,0 @@\n-a\n"},
		"a line in the middle":   {"a\nb\nc", "a\nx\nc", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		"a line more at the end": {long, long + "\n13", "@@ -10,3 +10,4 @@\n 10\n 11\n 12\n+13\n"},
		"two places far apart": {
			long, "x\n" + long[2:len(long)-2] + "y", "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -9,4 +9,4 @@\n 9\n 10\n 11\n-12\n+y\n",
		},
		"two places close by":     {"1\n2\n3\n4", "x\n2\n3\ny", "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n-4\n+y\n"},
		"a repeated line is kept": {"a\na\nb", "a\nb", "@@ -1,3 +1,2 @@\n a\n-a\n b\n"},
	} {
		if diff := cmp.Diff(tt.want, Diff(tt.before, tt.after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestALargeDifferenceIsNotComparedLineByLine(t *testing.T) {
	t.Parallel()
	a, b := make([]string, 5000), make([]string, 5000)
	for i := range a {
		a[i], b[i] = "old", "new"
	}
	old, now := position(align(a, b))
	if old != len(a) || now != len(b) {
		t.Errorf("%d and %d lines of %d", old, now, len(a))
	}
}

func TestADifferenceHoldsBothTexts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	some := func() []string {
		lines := make([]string, r.IntN(12))
		for i := range lines {
			lines[i] = string(rune('a' + r.IntN(4)))
		}
		return lines
	}
	for range 5000 {
		a, b := some(), some()
		var old, now []string
		for _, l := range align(a, b) {
			if l.mark != '+' {
				old = append(old, l.text)
			}
			if l.mark != '-' {
				now = append(now, l.text)
			}
		}
		if strings.Join(old, "\n") != strings.Join(a, "\n") || strings.Join(now, "\n") != strings.Join(b, "\n") {
			t.Fatalf("%v and %v became %v and %v", a, b, old, now)
		}
	}
}
