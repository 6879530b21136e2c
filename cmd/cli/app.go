package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"loci/daemon/api"
	"loci/daemon/config"
)

// app is one run of the program: its streams, its global flags and what it has looked up so far.
type app struct {
	in          io.Reader
	out, errOut io.Writer

	json    bool
	noStart bool

	patience patience

	loaded *config.Settings // on first use
	places *config.Paths    // on first use
}

// patience is how long to wait for a daemon.
type patience struct {
	answer, stop, term time.Duration
	silence            time.Duration // for any other call; 0: the client's default
}

// daemonPatience is enough for any daemon that isn't hung.
func daemonPatience() patience {
	return patience{answer: answerWithin, stop: stopWithin, term: termWithin}
}

// report says what was done: in words on standard error or, with --json, as a value on standard output.
func (a *app) report(value any, format string, args ...any) error {
	if a.json {
		return writeJSON(a.out, value)
	}
	a.note(fmt.Sprintf(format, args...))
	return nil
}

// list writes a table, or says on standard error that there is nothing to list.
func (a *app) list(t table, none string) error {
	if len(t.rows) == 0 {
		a.note(none)
	}
	return t.write(a.out)
}

// orDefault is a limit, or its default if none was given.
func orDefault(n, initial int) int {
	if n <= 0 {
		return initial
	}
	return n
}

// nonNil makes an empty list print as [].
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// first is the first of a list, or nothing.
func first[T any](list []T) T {
	var none T
	if len(list) == 0 {
		return none
	}
	return list[0]
}

// text is the string behind a pointer, or a dash.
func text(p *string) string {
	if v := api.Val(p); v != "" {
		return v
	}
	return "-"
}

// moment is a time from the API, or a dash.
func moment(t *api.Time) string {
	if t == nil {
		return "-"
	}
	return local(t.Time)
}

// quoteArg quotes a word for a shell if necessary.
func quoteArg(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
