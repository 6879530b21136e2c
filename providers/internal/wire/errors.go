package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
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

// Who describes the server: what an error may say about it, and what it must not.
type Who struct {
	Provider string
	Endpoint string        // base URL without credentials
	Secrets  []core.Secret // removed from every text
	KeyVar   string        // the variable that holds the key, for hints
}

// ErrPlain says that an address begins with https, and its server knows no TLS.
var ErrPlain = errors.New("speaks plain http, and its address begins with https")

// overflow lists, in lower case, how servers say that a request doesn't fit the window.
var overflow = []string{
	"context_length_exceeded", "model_context_window_exceeded", "exceed_context_size", "context window",
	"maximum context length", "prompt is too long", "input is too long", "exceed context limit", "input token count",
	"maximum number of tokens allowed", "maximum prompt length", "reduce the length", "maximum allowed input length",
	"longer than the model's context length", "longer than the context length", "requested token count exceeds",
	"available context size", "greater than the context length", "the input length exceeds", "too large for model with",
	"inputs` tokens + `max_new_tokens", "token limit exceeded", "request_too_large",
	"input tokens exceed the configured limit", "context length currently available",
	"when context the overflows", "with a larger context length", // LM Studio
}

var (
	rateWords = []string{
		"rate_limit", "resource_exhausted", "rate limit", "too many requests", "tokens per minute", "requests per minute",
	}
	creditWords = []string{
		"insufficient_quota",
		"exceeded your current quota",
		"insufficient credits",
		"insufficient balance",
		"billing_hard_limit",
		"credit balance",
		"api usage limits",
		"enforced_spend_limit_reached",
	}
	keyWords = []string{
		"invalid_api_key", "incorrect api key", "invalid api key", "authentication_error", "invalid_authentication",
		"api key not valid", "api_key_invalid", "pass a valid api key", "api key expired",
	}
	againWords = []string{
		"server_error",
		"overloaded",
		"service_unavailable",
		"internal_error",
		"api_error",
		"tool_use_failed",
		"server busy",
		"try again",
	}
	missingWords = []string{"model_not_found", "deploymentnotfound", "model_not_available"}
	badWords     = []string{"invalid_request", "invalid_prompt", "string_above_max_length", "bad_request", "not_found", "unsupported"}
	filterWords  = []string{"moderation", "flagged", "content_filter", "content_policy", "content management policy"}
	busyWords    = []string{
		"loading model",
		"model is loading",
		"currently loading",
		"still loading",
		"server busy",
		"server is busy",
		"warming up",
		"starting up",
		"maximum pending requests",
		"no available server",
		"overloaded",
		"high demand",
	}
)

// Busy reports whether a server said that it will answer later: it is loading a model or serving others first.
func Busy(err error) bool {
	return core.KindOf(err) == core.Unavailable && Says(strings.ToLower(err.Error()), busyWords...)
}

// Says reports whether one of some words stands in a text.
func Says(text string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// Status makes the error for a response with a failure status.
func (w Who) Status(status int, header http.Header, body []byte) *core.Error {
	said := parseSaid(body)
	said.moderated = said.moderated || status == http.StatusForbidden && Says(strings.ToLower(said.typ+" "+said.text), filterWords...)
	kind := w.kind(status, said)
	return w.make(kind, status, said, said.pause(kind, header))
}

// InBand makes the error for one that arrived inside a successful response. The status is the one in the error itself,
// if any.
func (w Who) InBand(body []byte) *core.Error {
	said := parseSaid(body)
	status, _ := strconv.Atoi(said.code)
	if status < 400 || status > 599 {
		status = 0
	}
	kind := w.kind(status, said)
	return w.make(kind, status, said, said.pause(kind, nil))
}

// Empty returns the error for a reply with nothing in it.
func (w Who) Empty() *core.Error {
	return w.E(core.Unavailable, "%s gave an empty reply", w.Provider)
}

// Cut returns the error for a stream that ended before the answer did.
func (w Who) Cut() *core.Error {
	return w.E(core.Unavailable, "the answer of %s broke off before its end", w.Provider)
}

// Silent returns the error for a server that kept a stream alive and said nothing. It ends the run: it took so long that
// the run would be over before a second time were.
func (w Who) Silent() *core.Error {
	e := w.E(core.Unavailable, "%s: %w", w.Provider, ErrComments)
	e.Detail = core.StopLLMAPIError
	return e.WithHint("ask again, or choose another model; comments_timeout in the configuration is how long it may")
}

// E makes an error that is the provider's fault.
func (w Who) E(kind core.Kind, format string, args ...any) *core.Error {
	e := core.E(kind, format, args...)
	e.Msg, e.Provider = w.clean(e.Msg), true
	if kind == core.RateLimited {
		e.Hint = "ask again in a minute, or choose another model"
	}
	if kind == core.TooLong {
		e.Hint = "send less at once, or choose a model with a larger context window"
	}
	if kind == core.Unavailable {
		e.Hint = "ask again in a moment, or choose another model"
	}
	return e
}

func (w Who) kind(status int, s errorBody) core.Kind {
	text := strings.ToLower(s.code + " " + s.typ + " " + s.text)
	rate := status == http.StatusTooManyRequests || Says(text, rateWords...)
	switch {
	case status == http.StatusPaymentRequired, s.spent, Says(text, creditWords...) && s.again == 0 && pauseIn(s.text) == 0:
		return core.NoCredit
	case rate:
		return core.RateLimited
	case strings.Contains(text, "string_above_max_length"):
		return core.Invalid
	case status != http.StatusUnauthorized && Says(text, overflow...):
		return core.TooLong
	case s.moderated, refusal(text) != "":
		return core.Invalid
	case status == http.StatusUnauthorized, status == http.StatusForbidden, Says(text, keyWords...):
		return core.Unauthenticated
	case strings.Contains(text, "tool_use_failed"): // the model wrote a call that the server couldn't parse: retry
		return core.Unavailable
	case status == http.StatusRequestEntityTooLarge:
		return core.TooLong
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return core.Timeout
	case status == http.StatusNotFound && strings.Contains(text, "model"), Says(text, missingWords...):
		return core.NotFound
	case status >= 500:
		return core.Unavailable
	case status >= 300:
		return core.Invalid
	case Says(text, againWords...):
		return core.Unavailable
	case Says(text, badWords...):
		return core.Invalid
	default:
		return core.Unavailable
	}
}

func (w Who) make(kind core.Kind, status int, s errorBody, after time.Duration) *core.Error {
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
	case s.spent:
		e.Hint = "its quota is used up: wait until it renews, raise the plan at " + w.Provider + ", or choose another model"
	case kind == core.NoCredit:
		e.Hint = "add credit to the account of " + w.Provider + ", or choose another model"
	case s.moderated:
		e.Hint = "the provider's filter refuses it: word it differently, or choose another model"
	case status == http.StatusNotFound:
		e.Hint = "see `loci models` for the models that work here"
	case status >= 300 && status < 400:
		e.Msg = w.clean(w.Provider + " at " + w.Endpoint + " answers with a redirect, which is not followed")
		e.Hint = "set its base URL to where the server really is"
	}
	return e
}

// Network makes the error for a request that got no response or an incomplete one. ctx is the caller's own context: it
// tells a deliberate stop from a server failure.
func (w Who) Network(ctx context.Context, watch *Watch, err error) *core.Error {
	if ctx.Err() != nil {
		kind := core.Cancelled
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			kind = core.Timeout
		}
		return w.E(kind, "the request to %s was stopped: %w", w.Provider, context.Cause(ctx))
	}
	if watch != nil && errors.Is(context.Cause(watch.ctx), errIdle) {
		return w.E(core.Timeout, "%s sent nothing for %s", w.Provider, core.InWords(watch.idle))
	}
	var known *core.Error
	if errors.As(err, &known) {
		return known
	}
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err // the URL may contain credentials
	}
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, ErrComments):
		return w.Silent()
	case errors.Is(err, ErrLineTooLong), errors.Is(err, ErrTooMuch), errors.Is(err, ErrEncoding):
		return w.E(core.Unavailable, "%s: %w", w.Provider, err)
	case plainly(err):
		e := w.E(core.Invalid, "the server of %s at %s %w", w.Provider, w.Endpoint, ErrPlain)
		e.Hint = "write the address of " + w.Provider + " with http://, if the way to it is safe; loci providers check says more"
		return e
	case errors.Is(err, syscall.ECONNREFUSED):
		e := w.E(core.Unavailable, "nothing answers at %s: %w", w.Endpoint, syscall.ECONNREFUSED)
		e.Hint = "start the server of " + w.Provider + ", or choose another model"
		return e
	case errors.As(err, &dns):
		return w.E(core.Unavailable, "%s cannot be found: the name of %s does not resolve", w.Provider, w.Endpoint)
	case errors.As(err, &timeout) && timeout.Timeout():
		return w.E(core.Timeout, "%s at %s does not answer in time", w.Provider, w.Endpoint)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return w.E(core.Unavailable, "%s ended the connection before its answer was whole", w.Provider)
	default:
		return w.E(core.Unavailable, "the connection to %s broke: %w", w.Provider, err)
	}
}

// plainly reports whether a server answered in plain http to who wanted TLS.
func plainly(err error) bool {
	var record tls.RecordHeaderError
	return errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/" ||
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// clean removes keys and control characters from a text and limits its length.
func (w Who) clean(text string) string {
	for _, s := range w.Secrets {
		if len(s) >= 4 {
			text = strings.ReplaceAll(text, s.Reveal(), s.String())
		}
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
