package seal

import (
	"context"
	"errors"
	"runtime"

	"github.com/zalando/go-keyring"
)

// service is what keys of ours are called in a keyring.
const service = "loci"

// anyMode says that modes of files mean nothing here.
const anyMode = runtime.GOOS == "windows"

// desktop is the keyring of the desktop in whose session the daemon was started.
type desktop struct{}

// Desktop returns the keyring of the session that a bus belongs to, where the system needs one; nil: there is none, as where nobody
// is logged in at a desktop.
func Desktop(bus string) Keyring {
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" && bus == "" {
		return nil // asking would start a session bus of its own
	}
	return desktop{}
}

func (desktop) Get(ctx context.Context, home string) (string, error) {
	text, err := bounded(ctx, func() (string, error) { return keyring.Get(service, home) })
	if errors.Is(err, keyring.ErrNotFound) {
		err = ErrNoKey
	}
	return text, err
}

func (desktop) Set(ctx context.Context, home, key string) error {
	_, err := bounded(ctx, func() (string, error) { return "", keyring.Set(service, home, key) })
	return err
}

// bounded gives up on a keyring that waits for a person. The library takes no context, so what it began ends with the answer or
// with the daemon.
func bounded(ctx context.Context, ask func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	given := make(chan answer, 1)
	go func() {
		text, err := ask()
		given <- answer{text, err}
	}()
	select {
	case a := <-given:
		return a.text, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
