package contents

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"loci/core"
)

func newStore(t *testing.T, most int64) *Store {
	t.Helper()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	return New(Config{Dir: t.TempDir(), Max: most, Logger: slog.New(slog.DiscardHandler), Clock: func() time.Time {
		now = now.Add(time.Second)
		return now
	}})
}

func TestAContentIsFoundByItsHashAndADamagedOneIsNot(t *testing.T) {
	t.Parallel()
	s := newStore(t, 0)
	content := []byte("package main\n")
	hash := core.ContentHash(content)
	if _, err := s.Content(t.Context(), hash); core.KindOf(err) != core.NotFound {
		t.Errorf("before: %v", err)
	}
	for _, lasting := range []bool{false, true} {
		if err := s.Keep(t.Context(), content, lasting); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Content(t.Context(), hash); err != nil || !bytes.Equal(got, content) {
		t.Errorf("kept: %q, %v", got, err)
	}
	if err := os.WriteFile(s.path(hash), []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Content(t.Context(), hash); core.KindOf(err) != core.NotFound {
		t.Errorf("damaged: %v", err)
	}
	if _, err := s.Content(t.Context(), "../../../../etc/passwd"); core.KindOf(err) != core.NotFound {
		t.Errorf("no hash: %v", err)
	}
	if err := s.Keep(t.Context(), content, true); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Content(t.Context(), hash); err != nil {
		t.Errorf("kept again over a damaged one: %v", err)
	}
}

// TestAllThatWasKeptIsBroughtToDisk syncs few, many and what went meanwhile.
func TestAllThatWasKeptIsBroughtToDisk(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, mostLoose, 3 * mostLoose} {
		s := newStore(t, 0)
		for i := range n {
			if err := s.Keep(t.Context(), fmt.Append(nil, i), false); err != nil {
				t.Fatal(err)
			}
		}
		if n > 0 {
			_ = os.Remove(s.path(core.ContentHash([]byte("0")))) // it made room
		}
		if err := s.Sync(t.Context()); err != nil || len(s.loose) > 0 {
			t.Errorf("%d: %v, %d are left", n, err, len(s.loose))
		}
		if n == 0 {
			continue
		}
		if err := s.Keep(t.Context(), []byte("more"), false); err != nil {
			t.Fatal(err)
		}
		more := s.path(core.ContentHash([]byte("more")))
		if err := os.Remove(more); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(more, more); err != nil { // which can't be opened
			t.Fatal(err)
		}
		if err := s.Sync(t.Context()); err == nil || len(s.loose) != 1 {
			t.Errorf("%d: what can't be opened is on disk: %v, %d are left", n, err, len(s.loose))
		}
	}
}

func TestTheContentsUsedLongestAgoGoFirst(t *testing.T) {
	t.Parallel()
	s := newStore(t, 100)
	texts := []string{strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)}
	for _, i := range []int{0, 1, 0, 2} { // the first is used again before the third comes
		if err := s.Keep(t.Context(), []byte(texts[i]), true); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []core.Kind{"", core.NotFound, ""} {
		_, err := s.Content(t.Context(), core.ContentHash([]byte(texts[i])))
		if err != nil && core.KindOf(err) != want || err == nil && want != "" {
			t.Errorf("content %d: %v", i, err)
		}
	}
	if err := s.Keep(t.Context(), make([]byte, core.MaxKeptContent+1), true); core.KindOf(err) != core.TooLarge {
		t.Errorf("too large: %v", err)
	}
}

func TestAContentThatHoldsAForgottenTextIsRemoved(t *testing.T) {
	t.Parallel()
	s := newStore(t, 0)
	secret, other := []byte("the word is swordfish"), []byte("nothing")
	for _, c := range [][]byte{secret, other} {
		if err := s.Keep(t.Context(), c, true); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(c []byte) bool { return bytes.Contains(c, []byte("swordfish")) }
	for _, apply := range []bool{false, true} {
		if n, err := s.Forget(t.Context(), holds, apply); n != 1 || err != nil {
			t.Errorf("found %d, %v", n, err)
		}
	}
	if _, err := s.Content(t.Context(), core.ContentHash(secret)); core.KindOf(err) != core.NotFound {
		t.Errorf("forgotten: %v", err)
	}
	if _, err := s.Content(t.Context(), core.ContentHash(other)); err != nil {
		t.Error(err)
	}
}
