package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"loci/daemon"
	"loci/daemon/api"
	"loci/daemon/client"
)

// The exit codes. Scripts may rely on them: `loci help exit-codes` prints this table.
const (
	exitOK          = 0
	exitInternal    = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitForbidden   = 5
	exitUnavailable = 6
	exitTimeout     = 7
	exitLimited     = 8
	exitMismatch    = 9
	exitInterrupted = 130
	exitBrokenPipe  = 141
)

// exitCodes says which kind of error exits with which code, and what it means.
func exitCodes() []exitCode {
	return []exitCode{
		{exitOK, nil, "it worked"},
		{
			exitInternal,
			[]string{api.KindInternal, kindMaxSteps, kindRunFailed},
			"it failed: the run ended with an error, or the program is at fault",
		},
		{
			exitUsage,
			[]string{api.KindInvalid, api.KindUnsupported, api.KindTooLarge, api.KindTooLong},
			"the command, a flag or the input is not valid, or the input is too large",
		},
		{exitNotFound, []string{api.KindNotFound, api.KindGone}, "what was named does not exist, or not any more"},
		{
			exitConflict,
			[]string{api.KindConflict, api.KindBusy, api.KindPrecondition},
			"the state does not allow it: changed meanwhile, busy, or waiting for an approval",
		},
		{
			exitForbidden,
			[]string{api.KindUnauthenticated, api.KindForbidden},
			"a key is refused, or does not allow it; or an agent was denied what only a person could have allowed",
		},
		{exitUnavailable, []string{api.KindUnavailable}, "the daemon or a model cannot be reached, for want of a key too"},
		{exitTimeout, []string{api.KindTimeout}, "it took too long: --timeout, or the provider's limit"},
		{exitLimited, []string{api.KindRateLimited, api.KindNoCredit}, "the provider refuses for now: too many requests, or no credit"},
		{
			exitMismatch,
			[]string{api.KindSchemaMismatch},
			"the answer does not fit the form that was asked for, nor did it when it was asked again",
		},
		{exitInterrupted, []string{api.KindCancelled}, "interrupted: Ctrl-C, or the run was cancelled"},
		{exitBrokenPipe, nil, "nobody read the output any more"},
	}
}

// Kinds of errors that only commands know: runs that ended, but not well.
const (
	kindMaxSteps  = "max_steps"
	kindRunFailed = "run_failed"
)

type exitCode struct {
	code  int
	kinds []string
	means string
}

// fault is an error of this program: its kind, what failed and why, and what to do next.
type fault struct {
	kind, msg, hint string
}

func (f *fault) Error() string { return f.msg }

// invalid is an error in how the command line was used.
func invalid(format string, args ...any) *fault {
	return &fault{kind: api.KindInvalid, msg: fmt.Sprintf(format, args...)}
}

// withHint returns the fault with a hint what to do next.
func (f *fault) withHint(format string, args ...any) *fault {
	c := *f
	c.hint = fmt.Sprintf(format, args...)
	return &c
}

// explain finds the kind of an error and what to do about it.
func explain(err error) (kind, hint string) {
	var f *fault
	var ce *client.Error
	switch {
	case errors.As(err, &f):
		return f.kind, f.hint
	case errors.As(err, &ce):
		return ce.Kind, ce.Hint
	case errors.Is(err, context.Canceled):
		return api.KindCancelled, ""
	case errors.Is(err, context.DeadlineExceeded):
		return api.KindTimeout, ""
	}
	return daemon.Explain(err)
}

// usualHint is what to do about an error, from the daemon or a provider behind it, that brings no hint of its own.
func usualHint(err error, kind string) string {
	var ce *client.Error
	fromDaemon := errors.As(err, &ce) && ce.Status > 0
	switch {
	case kind == api.KindRateLimited:
		return "wait a minute and ask again, or choose another model with --model"
	case kind == api.KindUnavailable && fromDaemon:
		return "try again in a moment; loci doctor says what works"
	case kind == api.KindInternal && fromDaemon:
		return "loci daemon logs says more; loci doctor says what works"
	}
	return ""
}

// codeOf is the exit code for a kind.
func codeOf(kind string) int {
	for _, c := range exitCodes() {
		for _, k := range c.kinds {
			if k == kind {
				return c.code
			}
		}
	}
	return exitInternal
}

// fail says what failed, why and what to do next, and returns the exit code.
func fail(w io.Writer, err error) int {
	if errors.Is(err, syscall.EPIPE) {
		return exitBrokenPipe
	}
	kind, hint := explain(err)
	if hint == "" {
		hint = usualHint(err, kind)
	}
	if kind == api.KindCancelled && errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	say(w, safe(err.Error()))
	if hint != "" {
		fmt.Fprintln(w, filled("  try: "+safe(hint), columnsOf(w), 7))
	}
	return codeOf(kind)
}
