package seal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
)

// ring is a keyring in memory. A locked one waits for a person.
type ring struct {
	keys   map[string]string
	locked bool
}

func (r *ring) Get(_ context.Context, home string) (string, error) {
	if r.locked {
		return "", errors.New("it is locked")
	}
	if key, ok := r.keys[home]; ok {
		return key, nil
	}
	return "", ErrNoKey
}

func (r *ring) Set(_ context.Context, home, key string) error {
	if r.locked {
		return errors.New("it is locked")
	}
	r.keys[home] = key
	return nil
}

func sealed(t *testing.T, s *Sealer, text, name string) []byte {
	t.Helper()
	out, err := s.Seal(t.Context(), core.Secret(text), name)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantOpen(t *testing.T, s *Sealer, text []byte, name, want string) {
	t.Helper()
	got, err := s.Open(t.Context(), text, name)
	if err != nil || got.Reveal() != want {
		t.Fatalf("opened %q, %v; want %q", got.Reveal(), err, want)
	}
}

func wantShut(t *testing.T, s *Sealer, text []byte, name string) {
	t.Helper()
	if got, err := s.Open(t.Context(), text, name); core.KindOf(err) != core.Unavailable || core.HintOf(err) == "" {
		t.Fatalf("opened %q, %v", got.Reveal(), err)
	}
}

func TestWhatIsSealedIsOpenedByTheSameHomeAndNameOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	s := New(Config{Path: path})
	one := sealed(t, s, "hunter2", "TOKEN")
	if bytes.Contains(one, []byte("hunter2")) || bytes.Equal(one, sealed(t, s, "hunter2", "TOKEN")) {
		t.Fatalf("it isn't sealed: %q", one)
	}
	wantOpen(t, s, one, "TOKEN", "hunter2")
	wantOpen(t, New(Config{Path: path}), one, "TOKEN", "hunter2")
	wantShut(t, s, one, "OTHER")
	for i := range one {
		changed := bytes.Clone(one)
		changed[i] ^= 1
		wantShut(t, s, changed, "TOKEN")
		wantShut(t, s, one[:i], "TOKEN")
	}
	wantOpen(t, s, sealed(t, s, "", "EMPTY"), "EMPTY", "")

	elsewhere := New(Config{Path: filepath.Join(t.TempDir(), "secret.key")})
	wantShut(t, elsewhere, one, "TOKEN") // and opening makes no key
	sealed(t, elsewhere, "x", "X")
	wantShut(t, elsewhere, one, "TOKEN")
}

func TestAKeyThatOthersCanReadIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	one := sealed(t, New(Config{Path: path}), "hunter2", "TOKEN")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the key has the mode %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	_, err := New(Config{Path: path}).Open(t.Context(), one, "TOKEN")
	if core.KindOf(err) != core.Forbidden || !strings.Contains(core.HintOf(err), "chmod 600") {
		t.Fatal(err)
	}
}

func TestTheKeyLiesInTheKeyringWhereThereIsOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	keys := &ring{keys: map[string]string{}}
	one := sealed(t, New(Config{Path: path, Home: "/h", Keyring: keys}), "hunter2", "TOKEN")
	note, err := os.ReadFile(path)
	if err != nil || string(note) != "keyring\n" || len(keys.keys["/h"]) != 64 {
		t.Fatalf("%q %v %v", note, keys.keys, err)
	}
	wantOpen(t, New(Config{Path: path, Home: "/h", Keyring: keys}), one, "TOKEN", "hunter2")

	// Out of reach for a while: that is said, and no second key is made.
	keys.locked = true
	away := New(Config{Path: path, Home: "/h", Keyring: keys})
	wantShut(t, away, one, "TOKEN")
	if _, err := away.Seal(t.Context(), "x", "X"); core.KindOf(err) != core.Unavailable {
		t.Fatal(err)
	}
	wantShut(t, New(Config{Path: path, Home: "/h"}), one, "TOKEN")
	keys.locked = false
	wantOpen(t, away, one, "TOKEN", "hunter2")
}

func TestAKeyringThatTakesNothingLeavesTheKeyInItsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	keys := &ring{locked: true}
	one := sealed(t, New(Config{Path: path, Keyring: keys}), "hunter2", "TOKEN")
	wantOpen(t, New(Config{Path: path}), one, "TOKEN", "hunter2")
}

func TestWhereTheKeyLiesIsSaidWithoutAskingForIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		keyring Keyring
		want    Place
	}{{nil, InFile}, {&ring{keys: map[string]string{}}, InKeyring}} {
		s := New(Config{Path: filepath.Join(t.TempDir(), "key"), Home: "home", Keyring: tt.keyring})
		if got, err := s.Where(); got != Nowhere || err != nil {
			t.Errorf("before anything was sealed: %v, %v", got, err)
		}
		sealed(t, s, "x", "A")
		if got, err := s.Where(); got != tt.want || err != nil {
			t.Errorf("%v, %v, want %v", got, err, tt.want)
		}
	}
}
