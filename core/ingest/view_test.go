package ingest_test

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/ingest"
)

func lines(kind core.FileKind, text string) []ingest.Line {
	return ingest.Lines(core.Document{Kind: kind, Text: text})
}

func texts(ls []ingest.Line) []string {
	var out []string
	for _, l := range ls {
		out = append(out, l.Text)
	}
	return out
}

func TestProseIsCountedBySentencesAndCodeByLines(t *testing.T) {
	t.Parallel()
	text := "# Title\n\nMr. Gray paid 3.50 for it. \"Too much!\" he said. Was it?\nIt was\nnot. e.g. this stays.\n\n1. first item\n" +
		"   goes on\n2. second\n\n日本語です。次の文。\n"
	want := []string{
		"# Title",
		"Mr. Gray paid 3.50 for it.",
		"\"Too much!\" he said.",
		"Was it?",
		"It was not. e.g. this stays.",
		"1. first item goes on",
		"2. second",
		"日本語です。",
		"次の文。",
	}
	if diff := cmp.Diff(want, texts(lines(core.FileMarkdown, text))); diff != "" {
		t.Errorf("prose (-want +got):\n%s", diff)
	}
	code := "a\n\n  b. C\n"
	if diff := cmp.Diff([]string{"a", "", "  b. C"}, texts(lines(core.FileCode, code))); diff != "" {
		t.Errorf("code (-want +got):\n%s", diff)
	}
	for _, kind := range []core.FileKind{core.FileText, core.FileCSV, core.FileJSON} {
		if diff := cmp.Diff(texts(lines(core.FileCode, code)), texts(lines(kind, code))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestTextAndDataAreNumberedByTheirOwnLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("One of many. ", 200) + "The end."
	text := "First. Second.\n\n" + long + "\nlast: harbour\n"
	for _, kind := range []core.FileKind{core.FileText, core.FileCode, core.FileCSV, core.FileJSON} {
		ls := lines(kind, text)
		if n := ingest.CountLines(ls); n != 4 || len(ls) < 6 {
			t.Errorf("%s: %d lines in %d rows", kind, n, len(ls))
		}
		for i, want := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			r := grep(
				t,
				ingest.GrepQuery{Pattern: "^" + regexp.QuoteMeta(want[:min(len(want), 900)])},
				ingest.GrepFile{Name: "f", Lines: ls},
			)
			if want != "" && (r.Total != 1 || r.Matches[0].Line != i+1) {
				t.Errorf("%s: %.20q is found as %+v, want it on line %d", kind, want, r, i+1)
			}
			if at := strings.Index(text, want); want != "" && ingest.LineAt(ls, at) != i+1 {
				t.Errorf("%s: byte %d is on line %d, want %d", kind, at, ingest.LineAt(ls, at), i+1)
			}
		}
		v, err := ingest.Show(ls, ingest.Range{Offset: core.Some(3), Length: core.Some(1)}, 0)
		if want := "[Viewing lines 4 to 4 (out of 4 lines)]\n4: last: harbour"; err != nil || v.Text != want {
			t.Errorf("%s: %q (%v)", kind, v.Text, err)
		}
		if v, err = ingest.Show(
			ls,
			ingest.Range{Offset: core.Some(2), Length: core.Some(1)},
			0,
		); err != nil || v.End != 3 ||
			strings.Count(v.Text, "\n3: ") != len(ls)-3 {
			t.Errorf("%s: the long line is shown as %q (%v)", kind, v.Text, err)
		}
	}
	if got := texts(lines(core.FilePDF, "First. Second.\n\nThird.")); !slices.Equal(got, []string{"First.", "Second.", "Third."}) {
		t.Errorf("prose: %q", got)
	}
}

func TestALongLineMatchesOnceAndAsAWhole(t *testing.T) {
	t.Parallel()
	long := "begin " + strings.Repeat("x", 980) + "harbour" + strings.Repeat(" word", 2000) + " tail harbour end"
	f := ingest.GrepFile{Name: "f.txt", Lines: lines(core.FileText, "before\n"+long+"\nafter\n")}
	for pattern, want := range map[string][]string{
		"harbour":      {"1: before", "2: … xxxxx", "3: after"}, // a row's end goes through the word
		"tail.*end$":   {"1: before", "2: … word word", "3: after"},
		"^begin.*end$": {"1: before", "2: begin x", "3: after"},
		"^word":        nil,
	} {
		r := grep(t, ingest.GrepQuery{Pattern: pattern}, f)
		if want == nil {
			if r.Total != 0 {
				t.Errorf("%s: found %+v", pattern, r)
			}
			continue
		}
		if r.Total != 1 || len(r.Matches[0].Rows) != 3 || r.Matches[0].Line != 2 {
			t.Errorf("%s: %+v", pattern, r)
			continue
		}
		for i, row := range r.Matches[0].Rows {
			if got := fmt.Sprintf(
				"%d: %s",
				r.Matches[0].First+i,
				row,
			); !strings.HasPrefix(got, want[i]) ||
				utf8.RuneCountInString(row) > 1010 {
				t.Errorf("%s: row %d is %q", pattern, i, got)
			}
		}
	}
	r := grep(t, ingest.GrepQuery{Pattern: "tail"}, f)
	if row := r.Matches[0].Rows[1]; !strings.HasSuffix(row, "tail harbour end") {
		t.Errorf("the row does not show what was found: %q", row)
	}
	if row := grep(t, ingest.GrepQuery{Pattern: "after"}, f).Matches[0].Rows[0]; !strings.HasPrefix(row, "begin") ||
		!strings.HasSuffix(row, " …") {
		t.Errorf("the line before is %q", row)
	}
}

func TestViewsGoOnWithinALongLine(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("Größe, ", 1500)
	for _, kind := range []core.FileKind{core.FileText, core.FileMarkdown} {
		ls := lines(kind, "short\n\n"+want+"\n\nshort\n")
		for _, limit := range []int{100, 1200, 3000} {
			var got strings.Builder
			at, views := ingest.Range{}, 0
			for more := true; more; views++ {
				v, err := ingest.Show(ls, at, limit)
				if err != nil || views > 500 || utf8.RuneCountInString(v.Text) > limit {
					t.Fatalf("%s, view %d at %+v: %d characters, %v", kind, views, at, utf8.RuneCountInString(v.Text), err)
				}
				for _, row := range strings.Split(v.Text, "\n")[1:] {
					_, text, _ := strings.Cut(row, ": ")
					got.WriteString(text)
				}
				var offset, skip int
				offset, skip, more = v.Next()
				at = ingest.Range{Offset: core.Some(offset), Skip: skip}
			}
			if plain := strings.NewReplacer(" ", "", "\n", ""); plain.Replace(got.String()) != plain.Replace("short"+want+"short") {
				t.Errorf("%s, limit %d: the views do not join to the text", kind, limit)
			}
		}
	}
	for _, skip := range []int{-1, 3, 99} {
		if _, err := ingest.Show(lines(core.FileText, "abc\nd\n"), ingest.Range{Skip: skip}, 0); core.KindOf(err) != core.Invalid {
			t.Errorf("skip %d: %v", skip, err)
		}
	}
	if v, err := ingest.Show(
		lines(core.FileText, "abc\nd\n"),
		ingest.Range{Skip: 2},
		0,
	); err != nil ||
		v.Text != "[Viewing lines 1 to 2 (out of 2 lines)]\n1: c\n2: d" {
		t.Errorf("%q, %v", v.Text, err)
	}
}

func TestOldNumbersLeadToTheLinesThatSaidTheSame(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("z", 2500)
	for _, c := range []struct {
		kind     core.FileKind
		text     string
		old, now [2]int
	}{
		{core.FileText, "One. Two.\nThree.\n\nFour. Five\ngoes on.\n", [2]int{2, 4}, [2]int{1, 4}},
		{core.FileText, "One. Two.\nThree.\n\nFour. Five\ngoes on.\n", [2]int{5, 5}, [2]int{4, 5}},
		{core.FileText, "One. Two.\n", [2]int{1, 9}, [2]int{1, 1}},
		{core.FileText, "One. Two.\n", [2]int{3, 9}, [2]int{0, 0}},
		{core.FileText, "One. Two.\n", [2]int{0, 0}, [2]int{0, 0}},
		{core.FileCSV, "a,b\n\n\n1,2\n3,4\n", [2]int{2, 3}, [2]int{4, 5}},
		{core.FileJSON, "{\n\n}\n", [2]int{2, 2}, [2]int{3, 3}},
		{core.FileCode, "a\n" + long + "\nb\n", [2]int{5, 5}, [2]int{3, 3}},
		{core.FileCode, "a\n" + long + "\nb\n", [2]int{3, 3}, [2]int{2, 2}},
	} {
		r, changed := ingest.NewRenumbering(core.Document{Kind: c.kind, Text: c.text})
		if start, end := r.Range(c.old[0], c.old[1]); !changed || start != c.now[0] || end != c.now[1] {
			t.Errorf("%s %.20q: %v are now %d to %d (changed %t), want %v", c.kind, c.text, c.old, start, end, changed, c.now)
		}
	}
	for _, doc := range []core.Document{
		{Kind: core.FileCode, Text: "a\n\nb\n"},
		{Kind: core.FileText, Text: "One by one.\nTwo by two.\n"},
		{Kind: core.FileMarkdown, Text: "One. Two.\n\nThree."},
		{Kind: core.FileText},
	} {
		if _, changed := ingest.NewRenumbering(doc); changed {
			t.Errorf("%s %q is numbered anew", doc.Kind, doc.Text)
		}
	}
}

func TestViewsNumberLinesUnderABanner(t *testing.T) {
	t.Parallel()
	ls := lines(core.FileCode, "one\ntwo\nthree\nfour\n")
	for _, c := range []struct {
		at   ingest.Range
		want string
	}{
		{ingest.Range{}, "[Viewing file start (out of 4 lines)]\n1: one\n2: two\n3: three\n4: four"},
		{ingest.Range{Offset: core.Some(1), Length: core.Some(2)}, "[Viewing lines 2 to 3 (out of 4 lines)]\n2: two\n3: three"},
		{ingest.Range{Offset: core.Some(3)}, "[Viewing lines 4 to 4 (out of 4 lines)]\n4: four"},
		{ingest.Range{Length: core.Some(99)}, "[Viewing lines 1 to 4 (out of 4 lines)]\n1: one\n2: two\n3: three\n4: four"},
	} {
		v, err := ingest.Show(ls, c.at, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, v.Text); diff != "" || v.Cut {
			t.Errorf("Show(%+v) cut %t (-want +got):\n%s", c.at, v.Cut, diff)
		}
	}
	for _, at := range []ingest.Range{{Offset: core.Some(4)}, {Offset: core.Some(-1)}, {Length: core.Some(0)}} {
		if _, err := ingest.Show(ls, at, 0); core.KindOf(err) != core.Invalid {
			t.Errorf("Show(%+v): %v, want it invalid", at, err)
		}
	}
	if v, err := ingest.Show(nil, ingest.Range{}, 0); err != nil || v.Start != 0 || v.End != 0 {
		t.Errorf("an empty file: %+v, %v", v, err)
	}
}

func TestViewsKeepToTheirLimitAndNumberWhatTheyShow(t *testing.T) {
	t.Parallel()
	ls := lines(core.FileCode, strings.Repeat("grüße aus köln\n", 50)+strings.Repeat("x", 500)+"\n")
	for limit := 1; limit < 1500; limit++ {
		v, err := ingest.Show(ls, ingest.Range{Offset: core.Some(10)}, limit)
		if err != nil {
			t.Fatal(err)
		}
		if n := utf8.RuneCountInString(v.Text); n > limit {
			t.Fatalf("limit %d: %d characters", limit, n)
		}
		if shown := strings.Count(v.Text, "\n"); limit > 60 && shown != v.End-v.Start+1 {
			t.Fatalf("limit %d: %d lines shown, %d to %d said", limit, shown, v.Start, v.End)
		}
		if whole := strings.HasSuffix(v.Text, strings.Repeat("x", 500)); limit > 60 && v.Cut == whole {
			t.Fatalf("limit %d: cut %t, whole %t", limit, v.Cut, whole)
		}
	}
}

// folder gives files one by one, as a store does.
func folder(files ...ingest.GrepFile) iter.Seq2[ingest.GrepFile, error] {
	return func(yield func(ingest.GrepFile, error) bool) {
		for _, f := range files {
			if !yield(f, nil) {
				return
			}
		}
	}
}

func grep(tb testing.TB, q ingest.GrepQuery, files ...ingest.GrepFile) ingest.GrepResult {
	tb.Helper()
	r, err := ingest.Grep(context.Background(), folder(files...), q)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestGrepShowsMatchesWithTheirSurroundings(t *testing.T) {
	t.Parallel()
	a := ingest.GrepFile{Name: "docs/a.md", Lines: lines(core.FileMarkdown, "Intro.\n\nThe Harbour froze. Ships waited.\n")}
	b := ingest.GrepFile{Name: "docs/b.go", Lines: lines(core.FileCode, "package b\n\nvar harbour = 1\n")}
	want := `Found 2 total matches across 2 files (showing matches 1-2 of 2)

Files with matches:
- docs/a.md (1 matches)
- docs/b.go (1 matches)

=== docs/a.md:2 ===
  1: Intro.
> 2: The Harbour froze.
  3: Ships waited.

=== docs/b.go:3 ===
  2: ` + `
> 3: var harbour = 1`
	if diff := cmp.Diff(want, grep(t, ingest.GrepQuery{Pattern: `harb\w+`}, a, b).String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := grep(t, ingest.GrepQuery{Pattern: "whale"}, a).String(); got != "No matches found for pattern: 'whale'" {
		t.Errorf("nothing found: %q", got)
	}
	if r := grep(
		t,
		ingest.GrepQuery{Pattern: "harbour", Include: "*.go", Context: core.Some(0)},
		a,
		b,
	); r.Total != 1 || r.Matches[0].File != "docs/b.go" ||
		len(r.Matches[0].Rows) != 1 {
		t.Errorf("with an include: %+v", r)
	}
}

func TestGrepPagesThroughAllMatchesOnce(t *testing.T) {
	t.Parallel()
	f := ingest.GrepFile{Name: "f.txt", Lines: lines(core.FileCode, strings.Repeat("hit\nmiss\n", 45))}
	var seen []int
	offset, more := 0, true
	for more {
		r := grep(t, ingest.GrepQuery{Pattern: "^hit$", Offset: offset}, f)
		for _, m := range r.Matches {
			seen = append(seen, m.Line)
		}
		if len(r.Matches) > ingest.GrepPage || r.Total != 45 {
			t.Fatalf("%d matches of %d", len(r.Matches), r.Total)
		}
		if offset, more = r.Next(); more && !strings.Contains(r.String(), fmt.Sprintf("offset=%d", offset)) {
			t.Errorf("no hint at the next page: %s", r)
		}
	}
	for i, line := range seen {
		if line != 2*i+1 {
			t.Fatalf("match %d is line %d", i, line)
		}
	}
	if len(seen) != 45 {
		t.Errorf("%d matches seen", len(seen))
	}
}

func TestIncludesAreGlobsPartsOfNamesOrExpressions(t *testing.T) {
	t.Parallel()
	names := []string{"src/main.go", "src/deep/util.go", "docs/guide.md", "docs/Guide.MD", "a[1].txt"}
	for pattern, want := range map[string]string{
		"*.go": "src/main.go src/deep/util.go", "src/*.go": "src/main.go", "src/**/*.go": "src/main.go src/deep/util.go",
		"*.{md,txt}": "docs/guide.md docs/Guide.MD a[1].txt",
		"guide":      "docs/guide.md docs/Guide.MD", `.*\.go$`: "src/main.go src/deep/util.go", "m??n.go": "src/main.go",
		"[!d]*.md": "docs/guide.md docs/Guide.MD", "": strings.Join(names, " "),
	} {
		var files []ingest.GrepFile
		for _, n := range names {
			files = append(files, ingest.GrepFile{Name: n, Lines: []ingest.Line{{Text: "x", Number: 1}}})
		}
		var got []string
		for _, f := range grep(t, ingest.GrepQuery{Pattern: "x", Include: pattern}, files...).Files {
			got = append(got, f.Name)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("include %q (-want +got):\n%s", pattern, diff)
		}
	}
}

func TestACatastrophicExpressionEndsInTimeOrIsRefused(t *testing.T) {
	t.Parallel()
	f := ingest.GrepFile{Name: "f", Lines: []ingest.Line{{Text: strings.Repeat("a", 1<<20) + "!", Number: 1}}}
	for _, pattern := range []string{
		"(a+)+$", "(a|a)*b", "((a?){30}){30}(a{30})", strings.Repeat("(a*)*", 100) + "b", "(a{1000}){1000}", strings.Repeat("x", 2000), "(",
		"(?<=a)b", "", "(.*a){20}b",
	} {
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), ingest.GrepTime/10)
		if pattern == "(.*a){20}b" { // this one runs into the search's own bound
			ctx = context.Background()
		}
		_, err := ingest.Grep(ctx, folder(f), ingest.GrepQuery{Pattern: pattern})
		cancel()
		if kind := core.KindOf(err); err != nil && kind != core.Invalid && kind != core.Timeout {
			t.Errorf("%.20q: %v", pattern, err)
		}
		if took := time.Since(start); took > 5*ingest.GrepTime {
			t.Errorf("%.20q took %s", pattern, took)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ingest.Grep(ctx, folder(f), ingest.GrepQuery{Pattern: "a"}); core.KindOf(err) != core.Cancelled {
		t.Errorf("a cancelled search: %v", err)
	}
}

func FuzzGrep(f *testing.F) {
	f.Add("a+", "*.go", "aaa b")
	f.Add("(?i)(x|y)*{2}", "[a-", "\xff")
	f.Fuzz(func(t *testing.T, pattern, include, text string) {
		file := ingest.GrepFile{Name: "dir/f.go", Lines: lines(core.FileCode, text)}
		r, err := ingest.Grep(context.Background(), folder(file), ingest.GrepQuery{Pattern: pattern, Include: include})
		if err != nil && core.KindOf(err) != core.Invalid {
			t.Errorf("%v", err)
		}
		for _, m := range r.Matches {
			if m.Line < 1 || m.Line > ingest.CountLines(file.Lines) || m.First > m.Line || m.First+len(m.Rows) <= m.Line {
				t.Errorf("match %+v of %d lines", m, len(file.Lines))
			}
		}
	})
}

func TestFilesAreToldByContentFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, data string
		want       core.FileKind
	}{
		{"x.txt", "%PDF-1.4\n...", core.FilePDF},
		{"x.pdf", "junk\n%PDF-1.4\n...", core.FilePDF},
		{"x", "<!DOCTYPE HTML><p>", core.FileHTML},
		{"x", `{"a": 1}`, core.FileJSON},
		{"x", "{not json}", core.FileText},
		{"Makefile", "all:\n", core.FileCode},
		{"run", "#!/bin/sh\n", core.FileCode},
		{"a/b.GO", "package b", core.FileCode},
		{"x.unknown", "words", core.FileText},
		{"T.MD", "# x", core.FileMarkdown},
		{"t.tsv", "a\tb", core.FileCSV},
	} {
		if got, err := ingest.Detect(c.name, []byte(c.data)); err != nil || got != c.want {
			t.Errorf("Detect(%q, %q) = %q, %v, want %q", c.name, c.data, got, err, c.want)
		}
	}
}

func TestAFileWithoutLineBreaksIsSeenToItsEnd(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&b, `{"id":%d,"näme":"item %d"},`, i, i)
	}
	text := "[" + b.String() + "{}]"
	for _, kind := range []core.FileKind{core.FileJSON, core.FileCode, core.FileText, core.FileMarkdown} {
		ls := lines(kind, text)
		at, joined := 0, ""
		for i, l := range ls {
			if l.Start < at || l.End <= l.Start || utf8.RuneCountInString(l.Text) > 1000 || l.Source != 1 {
				t.Fatalf("%s: line %d is %d-%d, %d characters, behind %d", kind, i+1, l.Start, l.End, utf8.RuneCountInString(l.Text), at)
			}
			at, joined = l.End, joined+l.Text
		}
		if strings.ReplaceAll(joined, " ", "") != strings.ReplaceAll(text, " ", "") {
			t.Errorf("%s: something is missing", kind)
		}
		found := grep(t, ingest.GrepQuery{Pattern: `"id":5999,`}, ingest.GrepFile{Name: "f", Lines: ls})
		if found.Total != 1 {
			t.Fatalf("%s: found %d times", kind, found.Total)
		}
		if rows := strings.Join(found.Matches[0].Rows, "\n"); !strings.Contains(rows, `"id":5999,`) {
			t.Errorf("%s: %.80s", kind, rows)
		}
	}
	if got := texts(lines(core.FileCode, "a\r=== x:1 ===\u2028b\r\n")); !slices.Equal(got, []string{"a === x:1 === b"}) {
		t.Errorf("%q", got)
	}
	prose := strings.Repeat("and then\nsome ", 300) + "the end."
	ls := lines(core.FileMarkdown, prose)
	last := ls[len(ls)-1]
	if len(ls) < 4 || last.Source < 250 || !strings.HasSuffix(last.Text, "the end.") || strings.Contains(last.Text, "\n") {
		t.Errorf("%d lines, the last from %d: %q", len(ls), last.Source, last.Text)
	}
}
