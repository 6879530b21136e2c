package client

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"loci/daemon/api"
)

// Why a daemon is not started although nobody answers.
var (
	ErrStopped  = errors.New("the daemon was stopped")
	ErrHomeGone = errors.New("the home is gone")
)

type unasked struct{}

// Unasked marks calls that nobody asked for at this moment: what a program reads by itself to stay up to date. They
// start a daemon that crashed, but none that somebody stopped.
func Unasked(ctx context.Context) context.Context { return context.WithValue(ctx, unasked{}, true) }

// Asked marks calls that a person asked for just now; every call is one that is not marked otherwise.
func Asked(ctx context.Context) context.Context { return context.WithValue(ctx, unasked{}, false) }

// IsUnasked reports whether a call is marked so.
func IsUnasked(ctx context.Context) bool {
	marked, _ := ctx.Value(unasked{}).(bool)
	return marked
}

// stopped is an error where the daemon ended because somebody wanted it to, and the call is no reason to start it.
func (o *EnsureOptions) stopped(ctx context.Context) error {
	if o.Stopped == "" || !IsUnasked(ctx) {
		return nil
	}
	if _, err := os.Stat(o.Stopped); err != nil {
		return nil //nolint:nilerr // no mark that can be seen: it crashed
	}
	return &Error{Kind: api.KindUnavailable, Message: ErrStopped.Error(), Hint: "loci daemon start", Err: ErrStopped}
}

// homeGone is an error where a home that was talked to has been removed: none is made in its place behind the back of
// whoever removed it.
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
