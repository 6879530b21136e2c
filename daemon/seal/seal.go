// Package seal keeps secrets so that whoever reads the store, or a copy of it, can't read them.
//
// A text is sealed by AES-256-GCM with a random nonce, bound to what it is called. The key is made once for a home and lies where
// the store does not: in the keyring of the desktop, or else in a file that only its owner can read. Which of the two was chosen is
// noted in that file, so that a keyring that can't be reached for a while is said so and no second key is made.
//
// Layer 4: it imports core and daemon/ownfile.
package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"loci/core"
	"loci/daemon/ownfile"
)

// The parts of a sealed text: a version, which key sealed it, the nonce, and what GCM makes of the text.
const (
	version   = 1
	keyBytes  = 32
	markBytes = 8
	headBytes = 1 + markBytes
)

// mostFile is the size of the largest file that can hold a key.
const mostFile = 4 << 10

// patience is how long the keyring may take: it may ask a person who is not there.
const patience = 10 * time.Second

// inKeyring stands in the file where the key itself lies in the keyring.
const inKeyring = "keyring"

// Config is what a Sealer needs.
type Config struct {
	Path    string  // the file with the key, or the note that says where it is
	Home    string  // identifies the home in the keyring
	Keyring Keyring // nil: there is none here
}

// Keyring is the keyring of a desktop. Get returns ErrNoKey for what it doesn't have.
type Keyring interface {
	Get(ctx context.Context, home string) (string, error)
	Set(ctx context.Context, home, key string) error
}

// ErrNoKey says that a keyring does not have the key.
var ErrNoKey = errors.New("the keyring has no key of this home")

// Sealer seals and opens texts. The key is looked for when it is first needed. Safe for concurrent use.
type Sealer struct {
	cfg Config

	mu  sync.Mutex // guards key, which is never changed once it is set
	key []byte
}

var _ core.Sealer = (*Sealer)(nil)

// New returns a Sealer. It touches nothing.
func New(cfg Config) *Sealer { return &Sealer{cfg: cfg} }

// Seal implements core.Sealer.
func (s *Sealer) Seal(ctx context.Context, text core.Secret, name string) ([]byte, error) {
	key, err := s.find(ctx, true)
	if err != nil {
		return nil, err
	}
	gcm, err := ciphers(key)
	if err != nil {
		return nil, err
	}
	head := append([]byte{version}, mark(key)...)
	return gcm.Seal(head, nil, []byte(text.Reveal()), bind(head, name)), nil //nolint:gosec // G407: it makes its nonce itself
}

// Open implements core.Sealer.
func (s *Sealer) Open(ctx context.Context, sealed []byte, name string) (core.Secret, error) {
	if len(sealed) <= headBytes || sealed[0] != version {
		return "", core.E(core.Unavailable, "%s was sealed in a way that this program doesn't know", name).WithHint("%s", again)
	}
	key, err := s.find(ctx, false)
	if err != nil {
		return "", err
	}
	head, body := sealed[:headBytes], sealed[headBytes:]
	if string(head[1:]) != string(mark(key)) {
		return "", core.E(core.Unavailable, "%s was sealed with another key than this home has", name).WithHint("%s", again)
	}
	gcm, err := ciphers(key)
	if err != nil {
		return "", err
	}
	text, err := gcm.Open(nil, nil, body, bind(head, name))
	if err != nil {
		return "", core.E(core.Unavailable, "what was sealed as %s was changed since", name).WithHint("%s", again)
	}
	return core.Secret(text), nil
}

const again = "set it again; a backup that was restored brings secrets along without their key"

// ciphers are random-nonce GCM, whose nonce stands before what it sealed.
func ciphers(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func bind(head []byte, name string) []byte { return append(append([]byte("loci "), head...), name...) }

// mark names a key without saying anything about it.
func mark(key []byte) []byte {
	sum := sha256.Sum256(append([]byte("loci key "), key...))
	return sum[:markBytes]
}

// find returns the key. Where there is none yet, it makes one if it may.
func (s *Sealer) find(ctx context.Context, creating bool) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != nil {
		return s.key, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	key, err := s.read(ctx)
	if err == nil && key == nil && creating {
		key, err = s.create(ctx)
	}
	if err != nil {
		return nil, err
	}
	if key == nil {
		return nil, core.E(core.Unavailable, "the key that sealed the secrets of this home is not here").WithHint("%s", again)
	}
	s.key = key
	return key, nil
}

// read returns the key that there is; nil: none.
func (s *Sealer) read(ctx context.Context) ([]byte, error) {
	text, err := ownfile.Read(s.cfg.Path, mostFile)
	if err != nil {
		return nil, core.E(core.Unavailable, "the key of secrets can't be read: %w", err).WithHint("look at %s", s.cfg.Path)
	}
	if text == nil {
		return nil, nil
	}
	if err := s.alone(); err != nil {
		return nil, err
	}
	word := strings.TrimSpace(string(text))
	if word == inKeyring {
		if word, err = s.fromKeyring(ctx); err != nil {
			return nil, err
		}
	}
	key, err := hex.DecodeString(word)
	if err != nil || len(key) != keyBytes {
		return nil, core.E(core.Unavailable, "what should be the key of secrets is none").WithHint("look at %s", s.cfg.Path)
	}
	return key, nil
}

// alone refuses a key that others on the machine can read.
func (s *Sealer) alone() error {
	info, err := os.Stat(s.cfg.Path)
	if err == nil && info.Mode().Perm()&0o077 != 0 && !anyMode {
		return core.E(core.Forbidden, "others can read %s, the key of secrets", s.cfg.Path).WithHint("run: chmod 600 '%s'", s.cfg.Path)
	}
	return err
}

func (s *Sealer) fromKeyring(ctx context.Context) (string, error) {
	err := errors.New("there is no keyring here")
	if s.cfg.Keyring != nil {
		var word string
		if word, err = s.cfg.Keyring.Get(ctx, s.cfg.Home); err == nil {
			return word, nil
		}
	}
	return "", core.E(core.Unavailable, "the key of secrets lies in the keyring of your desktop, which does not give it: %w", err).
		WithHint("unlock the keyring, or start the daemon from a session of the desktop: loci daemon restart")
}

// create makes the key of this home and stores it where it can be found again, before anything is sealed with it.
func (s *Sealer) create(ctx context.Context) ([]byte, error) {
	key := make([]byte, keyBytes)
	rand.Read(key) // it never fails: the program ends if it would
	word := hex.EncodeToString(key)
	note := word
	if s.cfg.Keyring != nil && s.cfg.Keyring.Set(ctx, s.cfg.Home, word) == nil {
		if got, err := s.cfg.Keyring.Get(ctx, s.cfg.Home); err == nil && got == word {
			note = inKeyring
		}
	}
	if err := ownfile.Replace(s.cfg.Path, []byte(note+"\n")); err != nil {
		return nil, core.E(core.Internal, "store the key of secrets: %w", err).WithHint("check that %s can be written", s.cfg.Path)
	}
	return key, nil
}

// Place is where the key of a home lies.
type Place int

// The places.
const (
	Nowhere Place = iota // nothing was sealed yet, or the key is gone
	InFile
	InKeyring
)

// Where says where the key lies, without asking a keyring for it.
func (s *Sealer) Where() (Place, error) {
	text, err := ownfile.Read(s.cfg.Path, mostFile)
	switch {
	case err != nil:
		return Nowhere, core.E(core.Unavailable, "the key of secrets can't be read: %w", err).WithHint("look at %s", s.cfg.Path)
	case text == nil:
		return Nowhere, nil
	case strings.TrimSpace(string(text)) == inKeyring:
		return InKeyring, nil
	}
	return InFile, s.alone()
}
