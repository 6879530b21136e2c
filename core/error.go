package core

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind classifies an error: it decides the HTTP status, the exit code, whether to retry, and how to log.
type Kind string

// The kinds of errors.
const (
	Invalid         Kind = "invalid"         // the request makes no sense
	NotFound        Kind = "not_found"       // what was named does not exist
	Conflict        Kind = "conflict"        // the state does not allow it, or a unique value is taken
	Busy            Kind = "busy"            // something else is using it
	Unauthenticated Kind = "unauthenticated" // credential missing or wrong
	Forbidden       Kind = "forbidden"       // the credential does not allow it
	RateLimited     Kind = "rate_limited"    // too often; may succeed later
	NoCredit        Kind = "no_credit"       // the account behind the key is empty
	Unavailable     Kind = "unavailable"     // not reachable or overloaded; may succeed later
	Timeout         Kind = "timeout"         // took too long
	Cancelled       Kind = "cancelled"       // somebody asked it to stop
	Unsupported     Kind = "unsupported"     // known, but not offered here
	TooLong         Kind = "too_long"        // does not fit the model's context window
	TooLarge        Kind = "too_large"       // the body is over the limit
	Gone            Kind = "gone"            // used to exist, no longer does
	Precondition    Kind = "precondition"    // something must be done first (a client must register)
	SchemaMismatch  Kind = "schema_mismatch" // a model's answer does not have the form that was asked for
	Internal        Kind = "internal"        // a bug of ours
)

// Error is an error of a kind. Msg is for a person: what failed and why. Hint says what to do next.
type Error struct {
	Kind Kind
	Op   string // what was tried, e.g. "open store"; optional
	Msg  string
	Hint string // optional
	Err  error  // optional cause

	Provider   bool          // it came from a model provider: the wire shows it as an llm_* failure
	RetryAfter time.Duration // if the provider asked for a pause
	Run        RunID         // the run in the way, for Busy
	Detail     any           // a structured detail for the wire, if the contract has one
}

// Error returns what failed and why, without the hint.
func (e *Error) Error() string {
	s := e.Msg
	if s == "" && e.Err != nil {
		s = e.Err.Error()
	} else if e.Err != nil {
		if cause := e.Err.Error(); cause != "" {
			s += ": " + cause
		}
	}
	if s == "" {
		s = string(e.Kind)
	}
	if e.Op != "" {
		return e.Op + ": " + s
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// E returns an error of a kind with a formatted message; %w keeps a cause.
func E(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Msg: err.Error(), Err: silent(errors.Unwrap(err))}
}

// WithHint adds to the error what to do next.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// silentError keeps a cause reachable for errors.Is and errors.As when the message already contains its text.
type silentError struct{ err error }

func (s silentError) Error() string { return "" }
func (s silentError) Unwrap() error { return s.err }

func silent(err error) error {
	if err == nil {
		return nil
	}
	return silentError{err}
}

// ErrDamaged is the cause of errors about something whose row in the database cannot be read.
var ErrDamaged = errors.New("its row is damaged")

// Absent reports whether something cannot be had by trying again: it is gone, or damaged. Whoever lists goes on without it.
func Absent(err error) bool { return KindOf(err) == NotFound || errors.Is(err, ErrDamaged) }

// IgnoreDamage returns nil for damage: what is to be deleted need not be readable.
func IgnoreDamage(err error) error {
	if errors.Is(err, ErrDamaged) {
		return nil
	}
	return err
}

// The causes a run's context may be cancelled with.
var (
	ErrCancelled = &Error{Kind: Cancelled, Msg: "the run was cancelled"}
	ErrShutdown  = &Error{Kind: Unavailable, Msg: "the daemon is shutting down", Hint: "send it again once the daemon is back"}
	ErrDeadline  = &Error{Kind: Timeout, Msg: "the run took longer than its deadline allows"}
)

// KindOf returns the kind of the first Error in the chain; context errors have their own kinds, anything else is
// Internal.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.Canceled):
		return Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	default:
		return Internal
	}
}

// HintOf returns the first hint in the chain.
func HintOf(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}
