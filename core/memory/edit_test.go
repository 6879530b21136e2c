package memory

import (
	"strings"
	"testing"

	"loci/core"
)

func TestEditsOfAValue(t *testing.T) {
	t.Parallel()
	replace := func(old, with string) func(string) (string, error) {
		return func(v string) (string, error) { return Replace(v, old, with) }
	}
	unique := func(old, with string) func(string) (string, error) {
		return func(v string) (string, error) { return ReplaceUnique(v, old, with) }
	}
	insert := func(text string, line int) func(string) (string, error) {
		return func(v string) (string, error) { return Insert(v, text, line) }
	}
	tests := []struct {
		name    string
		edit    func(string) (string, error)
		value   string
		want    string
		wantErr string // part of the error
	}{
		{"append to nothing", func(v string) (string, error) { return Append(v, "x"), nil }, "", "x", ""},
		{"append a line", func(v string) (string, error) { return Append(v, "x"), nil }, "a", "a\nx", ""},
		{"append after a newline", func(v string) (string, error) { return Append(v, "x"), nil }, "a\n", "a\nx", ""},
		{"replace all", replace("a", "b"), "a-a", "b-b", ""},
		{"replace nothing found", replace("z", "b"), "a", "", `"z" does not occur`},
		{"replace an empty text", replace("", "b"), "a", "", "empty"},
		{"replace one", unique("tea", "coffee"), "likes tea\nhas a cat", "likes coffee\nhas a cat", ""},
		{"replace over lines", unique("a\nb", "c"), "x\na\nb\ny", "x\nc\ny", ""},
		{"replace by nothing", unique("\nb", ""), "a\nb", "a", ""},
		{"replace none", unique("milk", "x"), "tea", "", `"milk" does not occur`},
		{"replace ambiguous", unique("tea", "x"), "tea\n\nmore tea\ntea", "", "occurs 3 times, in lines 1, 3, 4"},
		{"replace twice in a line", unique("a", "x"), "a a", "", "in lines 1, 1"},
		{"tabs are spaces to a model", unique("a       b", "c"), "a\tb", "c", ""},
		{"a tab in the middle of a line", unique("b\tc", "b\td"), "aa b\tc", "aa b    d", ""},
		{"a line number in the old text", unique("1→ tea", "x"), "tea", "", "old_string has a line number"},
		{"a line number in the new text", unique("tea", "a\n 2→ x"), "tea", "", "new_string has a line number"},
		{"an arrow alone is text", unique("a→b", "b→a"), "a→b", "b→a", ""},
		{"insert at the end", insert("x", -1), "a\nb", "a\nb\nx", ""},
		{"insert at the top", insert("x", 0), "a\nb", "x\na\nb", ""},
		{"insert after a line", insert("x\ny", 1), "a\nb", "a\nx\ny\nb", ""},
		{"insert after the last line", insert("x", 2), "a\nb", "a\nb\nx", ""},
		{"insert beyond", insert("x", 3), "a\nb", "", "insert_line 3 is out of range: give 0 (the top) to 2"},
		{"insert before the beginning", insert("x", -2), "a", "", "out of range: give 0 (the top) to 1"},
		{"insert into nothing", insert("x", 0), "", "x", ""},
		{"insert after a line of nothing", insert("x", 1), "", "", "give 0 (the top) to 0"},
		{"insert a line number", insert("3→ x", 0), "a", "", "new_string has a line number"},
		{"insert the warning", insert("note: "+lineWarning, 0), "a", "", "the note about line numbers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.edit(tt.value)
			switch {
			case tt.wantErr == "" && err != nil:
				t.Errorf("error %v", err)
			case tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr) || core.KindOf(err) != core.Invalid):
				t.Errorf("error %v (%s), want %q", err, core.KindOf(err), tt.wantErr)
			case got != tt.want:
				t.Errorf("value %q, want %q", got, tt.want)
			}
		})
	}
}

func TestErrorsOfEditsStayShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("öd\n", 50_000)
	_, once := ReplaceUnique("x", long, "y")
	_, often := ReplaceUnique(strings.Repeat("a\n", 5000), "a", "y")
	for _, err := range []error{once, often} {
		if err == nil || len(err.Error()) > 900 {
			t.Errorf("error of %d bytes: %v", len(err.Error()), err)
		}
	}
}

func TestALimitRefusesGrowthOnly(t *testing.T) {
	t.Parallel()
	tests := []struct {
		before, after string
		limit         int
		refused       bool
	}{
		{"", "12345", 5, false},
		{"", "123456", 5, true},
		{"", "ääääa", 5, false},
		{"12345678", "1234567", 5, false},
		{"12345678", "12345679", 5, true},
		{"12345678", "123456789", 5, true},
	}
	for _, tt := range tests {
		if err := CheckLimit(tt.before, tt.after, tt.limit); (err != nil) != tt.refused {
			t.Errorf("CheckLimit(%q, %q, %d) = %v", tt.before, tt.after, tt.limit, err)
		}
	}
	err := CheckLimit("", "1234567", 5)
	if err == nil || !strings.Contains(err.Error(), "7 characters, 2 more than its limit of 5") {
		t.Errorf("the error does not say by how much: %v", err)
	}
}

func FuzzEditsOfLinesKeepEverythingElse(f *testing.F) {
	f.Add("a\nb", "x", 1)
	f.Add("", "x", 0)
	f.Fuzz(func(t *testing.T, value, text string, line int) {
		got, err := Insert(value, text, line)
		if err != nil {
			return
		}
		if len(got) < len(value)+len(text) || len(got) > len(value)+len(text)+1 {
			t.Errorf("Insert(%q, %q, %d) = %q", value, text, line, got)
		}
	})
}
