package wire

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"loci/core"
)

// Who is asked: what an error may say of it, and what it must not.
type Who struct {
	Provider string
	Endpoint string      // base URL without credentials
	Key      core.Secret // removed from every text
	KeyVar   string      // the variable that holds it, for hints
}

// overflow lists how servers say that a request does not fit the window, in lower case.
var overflow = []string{
	"context_length_exceeded", "model_context_window_exceeded", "exceed_context_size", "context window",
	"maximum context length", "prompt is too long", "input is too long", "exceed context limit", "input token count",
	"maximum number of tokens allowed", "maximum prompt length", "reduce the length", "maximum allowed input length",
	"longer than the model's context length", "longer than the context length", "requested token count exceeds",
	"available context size", "greater than the context length", "the input length exceeds", "too large for model with",
	"inputs` tokens + `max_new_tokens", "token limit exceeded", "request_too_large",
	"input tokens exceed the configured limit", "context length currently available",
}

var (
	rateWords   = []string{"rate_limit", "rate limit", "too many requests", "tokens per minute", "requests per minute"}
	creditWords = []string{"insufficient_quota", "exceeded your current quota", "insufficient credits", "insufficient balance", "billing_hard_limit", "credit balance"}
	keyWords    = []string{"invalid_api_key", "incorrect api key", "invalid api key", "authentication_error", "invalid_authentication"}
	againWords  = []string{"server_error", "overloaded", "service_unavailable", "internal_error", "api_error", "tool_use_failed", "server busy", "try again"}
	badWords    = []string{"invalid_request", "invalid_prompt", "string_above_max_length", "bad_request", "not_found", "unsupported"}
)

func has(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// Status makes the error for a response that is not a success.
func (w Who) Status(status int, header http.Header, body []byte) *core.Error {
	said := parseSaid(body)
	return w.make(w.kind(status, said), status, said, retryAfter(header))
}

// InBand makes the error for one that arrived inside a successful response. The status is what the error itself
// carries, if anything.
func (w Who) InBand(body []byte) *core.Error {
	said := parseSaid(body)
	status, _ := strconv.Atoi(said.code)
	if status < 400 || status > 599 {
		status = 0
	}
	return w.make(w.kind(status, said), status, said, 0)
}

// Empty is the error for a reply with nothing in it.
func (w Who) Empty() *core.Error {
	return w.E(core.Unavailable, "%s gave an empty reply", w.Provider)
}

// Cut is the error for a stream that ended before the model had.
func (w Who) Cut() *core.Error {
	return w.E(core.Unavailable, "the answer of %s broke off before its end", w.Provider)
}

// E makes an error that the provider is to blame for.
func (w Who) E(kind core.Kind, format string, args ...any) *core.Error {
	e := core.E(kind, format, args...)
	e.Msg, e.Provider = w.clean(e.Msg), true
	return e
}

func (w Who) kind(status int, s said) core.Kind {
	text := strings.ToLower(s.code + " " + s.typ + " " + s.text)
	rate := status == http.StatusTooManyRequests || has(text, rateWords)
	switch {
	case status == http.StatusPaymentRequired, has(text, creditWords):
		return core.NoCredit
	case rate:
		return core.RateLimited
	case strings.Contains(text, "string_above_max_length"):
		return core.Invalid
	case status != http.StatusUnauthorized && has(text, overflow):
		return core.TooLong
	case status == http.StatusUnauthorized, status == http.StatusForbidden, has(text, keyWords):
		return core.Unauthenticated
	case strings.Contains(text, "tool_use_failed"): // the model wrote a call that the server could not read: ask again
		return core.Unavailable
	case status == http.StatusRequestEntityTooLarge:
		return core.TooLong
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return core.Timeout
	case status >= 500:
		return core.Unavailable
	case status >= 300:
		return core.Invalid
	case has(text, againWords):
		return core.Unavailable
	case has(text, badWords):
		return core.Invalid
	default:
		return core.Unavailable
	}
}

func (w Who) make(kind core.Kind, status int, s said, after time.Duration) *core.Error {
	text := s.text
	if text == "" {
		text = strings.ToLower(http.StatusText(status))
	}
	if text == "" {
		text = "unknown error"
	}
	e := w.E(kind, "%s: %s", w.Provider, text)
	e.RetryAfter = after
	switch {
	case kind == core.Unauthenticated:
		e.Hint = "check the key of " + w.Provider
		if w.KeyVar != "" {
			e.Hint = "check " + w.KeyVar
		}
	case kind == core.NoCredit:
		e.Hint = "add credit to the account of " + w.Provider + ", or choose another model"
	case status == http.StatusNotFound:
		e.Hint = "see `loci models` for the models that work here"
	case status >= 300 && status < 400:
		e.Msg = w.clean(w.Provider + " at " + w.Endpoint + " answers with a redirect, which is not followed")
		e.Hint = "set its base URL to where the server really is"
	}
	return e
}

// Network makes the error for a request that got no or no whole response. ctx is the caller's own context and decides
// between a stop that was asked for and a server that failed.
func (w Who) Network(ctx context.Context, watch *Watch, err error) *core.Error {
	if ctx.Err() != nil {
		kind := core.Cancelled
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			kind = core.Timeout
		}
		return w.E(kind, "the request to %s was stopped: %w", w.Provider, context.Cause(ctx))
	}
	if watch != nil && errors.Is(context.Cause(watch.ctx), errIdle) {
		return w.E(core.Timeout, "%s sent nothing for %s", w.Provider, watch.idle)
	}
	var known *core.Error
	if errors.As(err, &known) {
		return known
	}
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err // the URL may hold credentials
	}
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, ErrLineTooLong), errors.Is(err, ErrTooMuch):
		return w.E(core.Unavailable, "%s: %w", w.Provider, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		e := w.E(core.Unavailable, "nothing answers at %s: %w", w.Endpoint, syscall.ECONNREFUSED)
		e.Hint = "start the server of " + w.Provider + ", or choose another model"
		return e
	case errors.As(err, &dns):
		return w.E(core.Unavailable, "%s cannot be found: the name of %s does not resolve", w.Provider, w.Endpoint)
	case errors.As(err, &timeout) && timeout.Timeout():
		return w.E(core.Timeout, "%s at %s does not answer in time", w.Provider, w.Endpoint)
	default:
		return w.E(core.Unavailable, "the connection to %s broke: %w", w.Provider, err)
	}
}

// clean takes the key and control characters out of a text and bounds it.
func (w Who) clean(text string) string {
	if key := w.Key.Reveal(); len(key) >= 4 {
		text = strings.ReplaceAll(text, key, w.Key.String())
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < 0x20 || r == 0x7f || r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
	const most = 600
	if len(text) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}

// said is what an error body says, in whatever shape.
type said struct{ text, code, typ string }

// parseSaid reads the shapes in use: {"error":{…}}, {"error":"text"}, {"code":…,"error":"text"}, {"message":…},
// {"detail":…}, an array with one of these, or plain text.
func parseSaid(body []byte) said {
	trimmed := strings.TrimSpace(string(body))
	if strings.HasPrefix(trimmed, "[") {
		var list []json.RawMessage
		if json.Unmarshal([]byte(trimmed), &list) == nil && len(list) > 0 {
			trimmed = string(list[0])
		}
	}
	var outer map[string]json.RawMessage
	if json.Unmarshal([]byte(trimmed), &outer) != nil {
		if strings.HasPrefix(trimmed, "<") { // a proxy's page: nothing that helps
			return said{}
		}
		return said{text: trimmed}
	}
	s := readSaid(outer)
	var inner map[string]json.RawMessage
	if json.Unmarshal(outer["error"], &inner) == nil && inner != nil {
		in := readSaid(inner)
		if in.text == "" {
			in.text = s.text
		}
		return in
	}
	if s.text == "" {
		s.text = text(outer["error"])
	}
	return s
}

func readSaid(m map[string]json.RawMessage) said {
	s := said{text: text(m["message"]), code: text(m["code"]), typ: text(m["type"])}
	if s.text == "" {
		s.text = text(m["detail"])
	}
	return s
}

// text reads a string, a number, or anything else as its JSON.
func text(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" || raw[0] == '{' && string(raw) == "{}" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// retryAfter reads how long the server wants to be left alone.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bounded(ms / 1000)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return bounded(s)
	}
	if at, err := http.ParseTime(v); err == nil {
		if d := time.Until(at); d > 0 {
			return min(d, 24*time.Hour)
		}
	}
	return 0
}

func bounded(seconds float64) time.Duration {
	return time.Duration(min(seconds, 86400) * float64(time.Second))
}
