package engine

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// tellAll feeds a text cut into pieces and joins what is told of each key.
func tellAll(text string, cuts ...int) map[string]string {
	got := map[string]string{}
	s := &argScanner{}
	tell := func(key, piece string) { got[key] += piece }
	last := 0
	for _, c := range cuts {
		if c > last && c < len(text) {
			s.feed(text[last:c], tell)
			last = c
		}
	}
	s.feed(text[last:], tell)
	return got
}

func TestArgumentsAreToldWhileTheyComeWhereverTheyAreCut(t *testing.T) {
	t.Parallel()
	text := `{"thinking": "I \"note\" it: é😀\n", "n": 3, "deep": {"message": "no"}, "list": ["no", {"message":"no"}], "message" : ` +
		`"Hé\u00e9 \ud83d\ude00 \ud800 end"}`
	var want map[string]any
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	for i := range len(text) {
		for _, j := range []int{i + 1, i + 2, i + 7} {
			got := tellAll(text, i, j)
			for _, key := range []string{"thinking", "message"} {
				if got[key] != want[key] {
					t.Fatalf("cut at %d and %d: %s is %q, want %q", i, j, key, got[key], want[key])
				}
			}
			if len(got) != 2 {
				t.Fatalf("cut at %d and %d: told %v", i, j, got)
			}
		}
	}
}

func FuzzArgScannerAgreesWithJSON(f *testing.F) {
	f.Add(`{"message":"a\nb"}`, 3)
	f.Add(`{"a":{"message":"x"},"message":"\ud83d\ude00"}`, 9)
	f.Add(`[{"message":"x"}]`, 2)
	f.Add(`{"message":`, 1)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		got := tellAll(text, cut)
		again := tellAll(text)
		if got["message"] != again["message"] {
			t.Fatalf("cut %d changes the result: %q and %q", cut, got["message"], again["message"])
		}
		var want map[string]json.RawMessage
		if !utf8.ValidString(text) || json.Unmarshal([]byte(text), &want) != nil || len(want) != 1 {
			return // doubled or foreign keys: JSON keeps the last one, a stream cannot
		}
		var message string
		if json.Unmarshal(want["message"], &message) == nil && want["message"] != nil && string(want["message"]) != "null" &&
			got["message"] != message {
			t.Fatalf("told %q, JSON says %q", got["message"], message)
		}
	})
}
