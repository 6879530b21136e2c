package client

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"loci/daemon/api"
)

// Reasons not to start a daemon although nobody answers.
var (
	ErrStopped  = errors.New("the daemon was stopped")
	ErrHomeGone = errors.New("the home is gone")
)

type unaskedKey struct{}

// Unasked marks calls that nobody has just asked for: reads that a program makes by itself to stay up to date. They
// restart a daemon that crashed, but not one that somebody stopped.
func Unasked(ctx context.Context) context.Context { return context.WithValue(ctx, unaskedKey{}, true) }

// Asked marks calls that a person has just asked for. That is the default.
func Asked(ctx context.Context) context.Context { return context.WithValue(ctx, unaskedKey{}, false) }

// IsUnasked reports whether a call is marked as unasked.
func IsUnasked(ctx context.Context) bool {
	marked, _ := ctx.Value(unaskedKey{}).(bool)
	return marked
}

// stopped returns an error if the daemon was stopped on purpose and the call is no reason to start it.
func (o *EnsureOptions) stopped(ctx context.Context) error {
	if o.Stopped == "" || !IsUnasked(ctx) {
		return nil
	}
	if _, err := os.Stat(o.Stopped); err != nil {
		return nil //nolint:nilerr // no mark: it crashed
	}
	return &Error{Kind: api.KindUnavailable, Message: ErrStopped.Error(), Hint: "loci daemon start", Err: ErrStopped}
}

// homeGone returns an error if a home that was in use has been removed: recreating it behind the back of whoever
// removed it would be wrong.
func (c *Client) homeGone() error {
	c.mu.Lock()
	known := c.registered != nil
	c.mu.Unlock()
	lock := c.opts.Ensure.Lock
	if _, err := os.Stat(lock); !known || lock == "" || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &Error{
		Kind: api.KindUnavailable, Message: ErrHomeGone.Error() + ": it was uninstalled, or its folder removed",
		Hint: "leave; loci makes a new one", Err: ErrHomeGone,
	}
}
