// Package command signs requests with the token that a command of the person's prints, like that of a cloud's own program.
//
// The command comes from the person's configuration alone. It runs without a shell, one at a time; its token is kept in memory
// until it is about to expire, by what the token itself says, or for a few minutes.
package command

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"loci/core"
	"loci/providers/internal/wire"
)

// Limits of a command and its token.
const (
	within    = 30 * time.Second
	mostToken = 32 << 10
	kept      = 5 * time.Minute // of a token that doesn't say when it expires
	early     = 2 * time.Minute // before its end a token is renewed
)

// Signer signs requests with a token. It is safe for concurrent use.
type Signer struct {
	who  wire.Who
	args []string
	now  func() time.Time

	slot  chan struct{} // its holder may use what follows
	token string
	until time.Time
}

// Words splits a command into its words; those with blanks stand between quotes.
func Words(line string) ([]string, error) {
	var out []string
	var b strings.Builder
	var quote rune
	open := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if open {
				out = append(out, b.String())
				b.Reset()
			}
			open = false
		default:
			b.WriteRune(r)
			open = true
		}
	}
	if open {
		out = append(out, b.String())
	}
	if quote != 0 || len(out) == 0 || out[0] == "" {
		return nil, core.E(core.Invalid, "token_command cannot be %q", line).
			WithHint("write a program and its arguments, like: az account get-access-token --resource … --query accessToken -o tsv")
	}
	return out, nil
}

// New returns a signer for a command.
func New(provider string, args []string) *Signer {
	return &Signer{who: wire.Who{Provider: provider}, args: args, now: time.Now, slot: make(chan struct{}, 1)}
}

// Sign implements protocol.Signer.
func (s *Signer) Sign(req *http.Request) error {
	ctx := req.Context()
	select {
	case s.slot <- struct{}{}:
		defer func() { <-s.slot }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if !s.now().Before(s.until) {
		if err := s.renew(ctx); err != nil {
			return err
		}
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	return nil
}

// renew runs the command.
func (s *Signer) renew(asked context.Context) error {
	ctx, cancel := context.WithTimeout(asked, within)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.args[0], s.args[1:]...)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &bounded{to: &out}, &bounded{to: &wrong}
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	token := strings.TrimSpace(out.String())
	switch {
	case asked.Err() != nil: // whoever asked has left
		return asked.Err()
	case errors.Is(err, exec.ErrNotFound):
		return s.failed("there is no program " + s.args[0])
	case ctx.Err() != nil:
		return s.failed("it took longer than " + core.InWords(within))
	case err != nil:
		return s.failed(strings.TrimSpace(err.Error() + ": " + firstLine(wrong.String())))
	case token == "" || strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0:
		return s.failed("it printed no token")
	}
	s.token, s.until = token, s.now().Add(kept)
	if end, ok := expiry(token); ok && end.Add(-early).After(s.now()) {
		s.until = end.Add(-early)
	}
	return nil
}

func (s *Signer) failed(why string) error {
	return s.who.E(core.Unauthenticated, "%s: token_command gives no token: %s", s.who.Provider, why).
		WithHint("run it yourself: %s", strings.Join(s.args, " "))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line[:min(len(line), 200)]
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ to *bytes.Buffer }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if room := mostToken - b.to.Len(); room > 0 {
		b.to.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

// expiry is when a token that says so expires.
func expiry(token string) (time.Time, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Expires int64 `json:"exp"`
	}
	if json.Unmarshal(raw, &claims) != nil || claims.Expires <= 0 {
		return time.Time{}, false
	}
	return time.Unix(claims.Expires, 0), true
}
