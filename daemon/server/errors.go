package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/service"
	"loci/daemon/api"
)

// statusClientGone is what the log shows for a request whose client left before the response.
const statusClientGone = 499

// statusOf is the one table that maps an error's kind to a status.
func statusOf(kind core.Kind) int {
	switch kind {
	case core.Invalid, core.TooLong:
		return http.StatusBadRequest
	case core.Unauthenticated:
		return http.StatusUnauthorized
	case core.NoCredit:
		return http.StatusPaymentRequired
	case core.Forbidden:
		return http.StatusForbidden
	case core.NotFound:
		return http.StatusNotFound
	case core.Timeout:
		return http.StatusRequestTimeout
	case core.Conflict, core.Busy:
		return http.StatusConflict
	case core.Gone:
		return http.StatusGone
	case core.Precondition:
		return http.StatusPreconditionFailed
	case core.TooLarge:
		return http.StatusRequestEntityTooLarge
	case core.RateLimited:
		return http.StatusTooManyRequests
	case core.Cancelled:
		return statusClientGone
	case core.Unsupported:
		return http.StatusNotImplemented
	case core.Unavailable:
		return http.StatusServiceUnavailable
	case core.SchemaMismatch:
		return http.StatusBadGateway
	case core.Internal:
		return http.StatusInternalServerError
	}
	return http.StatusInternalServerError
}

// providerStatus does the same for provider failures.
func providerStatus(kind core.Kind) int {
	switch kind { //nolint:exhaustive // providers fail only with these kinds, the rest is llm_error
	case core.NoCredit:
		return http.StatusPaymentRequired
	case core.Unauthenticated, core.Forbidden:
		return http.StatusUnauthorized
	case core.RateLimited:
		return http.StatusTooManyRequests
	case core.NotFound:
		return http.StatusNotFound
	case core.Invalid, core.TooLong:
		return http.StatusBadRequest
	case core.Timeout:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}

// statusError is an error in the form it is sent.
type statusError struct {
	status     int
	kind       core.Kind
	hint       string
	etag       string
	retryAfter time.Duration
	body       api.ErrorBody
}

func (e *statusError) Error() string  { return e.body.Text() }
func (e *statusError) GetStatus() int { return e.status }

// MarshalJSON writes only the body.
func (e *statusError) MarshalJSON() ([]byte, error) { return json.Marshal(e.body) }

// GetHeaders returns what isn't in the body.
func (e *statusError) GetHeaders() http.Header {
	h := http.Header{}
	h.Set(api.HeaderError, string(e.kind))
	if e.hint != "" {
		h.Set(api.HeaderHint, url.PathEscape(e.hint))
	}
	if e.etag != "" {
		h.Set("ETag", e.etag)
	}
	// SDKs retry server errors, but retrying won't make this one supported, and an answer without its form was asked for twice
	if e.status == http.StatusNotImplemented || e.kind == core.SchemaMismatch {
		h.Set("X-Should-Retry", "false")
	}
	if e.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((e.retryAfter+time.Second-1)/time.Second)))
	}
	return h
}

// answerError turns an error into a response and logs those that are our fault. This is the only place that does.
func answerError(ctx context.Context, err error) *statusError {
	out := asStatus(err)
	if out.status == http.StatusUnprocessableEntity || out.status == http.StatusInternalServerError && out.body.Err == nil {
		out.body.TraceID = callOf(ctx).id
	}
	logFault(ctx, err)
	return out
}

// logFault logs an error that is our fault in full: the response doesn't reveal it.
func logFault(ctx context.Context, err error) {
	c, kind := callOf(ctx), core.KindOf(err)
	var ready *statusError
	if errors.As(err, &ready) {
		kind = ready.kind
	}
	if kind == core.Internal && c.logger != nil {
		c.logger.ErrorContext(ctx, "a request failed", slog.String("request", c.id), slog.Any("error", err))
	}
}

// asStatus turns an error into a response.
func asStatus(err error) *statusError {
	var ready *statusError
	if errors.As(err, &ready) {
		return ready
	}
	kind := core.KindOf(err)
	out := &statusError{status: statusOf(kind), kind: kind, hint: core.HintOf(err), body: api.ErrorBody{Detail: err.Error()}}
	var e *core.Error
	if errors.As(err, &e) {
		out.retryAfter = e.RetryAfter
		out.body.RunID = string(e.Run)
		detail(out, e)
		if e.Provider {
			out.status = providerStatus(kind)
			out.body = api.ErrorBody{Err: &api.ProviderError{Type: core.LLMErrorType(kind), Message: err.Error(), Detail: out.hint}}
		}
	}
	if errors.Is(err, core.ErrNoKey) { // unavailable to a person, but a program gains nothing by retrying
		out.status = http.StatusUnauthorized
	}
	if kind == core.Internal && (e == nil || !e.Provider) {
		out.body = api.ErrorBody{Detail: "An unknown error occurred"}
		if errors.Is(err, core.ErrDamaged) { // known, and not ours
			out.body.Detail = err.Error()
		}
	}
	return out
}

// detail puts structured details into the body.
func detail(out *statusError, e *core.Error) {
	switch d := e.Detail.(type) {
	case nil:
	case core.Pending:
		out.body.Detail = api.PendingApproval{Code: api.CodePendingApproval, Message: e.Msg, PendingRequestID: string(d.Request)}
	case *service.StaleBlockError:
		out.etag = etag(d.Newest)
		out.body.Detail = staleDetail{Message: e.Msg, Value: d.Newest.Value, Version: d.Newest.Version}
	default:
		out.body.Detail = d
	}
}

// staleDetail is the detail of a conflict with a newer text.
type staleDetail struct {
	Message string `json:"message"`
	Value   string `json:"value"`
	Version int    `json:"version"`
}

// runFailure is the response to a non-streaming request whose run failed.
func runFailure(run core.RunID, failure core.RunError) *statusError {
	if strings.HasPrefix(failure.Type, "llm_") {
		code := providerStatus(failure.Kind)
		if failure.Type == core.LLMErrorType(core.Unauthenticated) {
			code = http.StatusUnauthorized // whatever the kind: to a person, a missing key is unavailable
		}
		return &statusError{status: code, kind: failure.Kind, hint: failure.Hint, body: api.ErrorBody{
			RunID: string(run),
			Err:   &api.ProviderError{Type: failure.Type, Message: failure.Message, Detail: failure.Detail},
		}}
	}
	return &statusError{
		status: statusOf(failure.Kind), kind: failure.Kind, hint: failure.Hint,
		body: api.ErrorBody{RunID: string(run), Detail: failure.Message},
	}
}

// unprocessable reports a badly shaped body or parameter that the framework can't detect.
func unprocessable(location, format string, args ...any) error {
	return shapeError([]error{&huma.ErrorDetail{Location: location, Message: core.E(core.Invalid, format, args...).Msg}})
}

// fault is one entry in the list of what is wrong with a request.
type fault struct {
	Type  string   `json:"type"`
	Loc   []string `json:"loc"`
	Msg   string   `json:"msg"`
	Input any      `json:"input,omitempty"`
}

// shapeError lists what is wrong with a request as text, with a sample id if an id was wrong.
func shapeError(errs []error) *statusError {
	faults := make([]fault, 0, len(errs))
	out := &statusError{status: http.StatusUnprocessableEntity, kind: core.Invalid}
	for _, err := range errs {
		f := fault{Type: "value_error", Msg: err.Error()}
		var d *huma.ErrorDetail
		if errors.As(err, &d) {
			f.Msg, f.Input = d.Message, shortInput(d.Value)
			f.Loc = strings.FieldsFunc(d.Location, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
			if mayHoldSecret(f.Loc) {
				f.Input = nil
			}
		}
		if prefix, ok := idPrefix(f); ok {
			out.body.Examples = append(out.body.Examples, prefix+"-123e4567-e89b-42d3-8456-426614174000")
		}
		faults = append(faults, f)
	}
	text, err := json.Marshal(faults)
	if err != nil { // the input can't be encoded as JSON: use the messages alone
		text = []byte("the request is not valid")
	}
	out.body.Detail = string(text)
	return out
}

// mayHoldSecret reports whether what stands at a place could be a secret: a body that isn't JSON may be one with a key in it.
func mayHoldSecret(loc []string) bool {
	return len(loc) == 1 && loc[0] == "body" || slices.ContainsFunc(loc, func(part string) bool {
		return slices.Contains([]string{"api_key", "access_key", "key", "value", "secrets", "tool_exec_environment_variables", "env"}, part)
	})
}

// shortInput keeps large invalid values out of the response.
func shortInput(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > 200 {
			return v[:200]
		}
		return v
	case bool, float64, int, int64, nil:
		return v
	}
	return nil
}

// idPrefix returns the prefix of an id that didn't match its pattern.
func idPrefix(f fault) (string, bool) {
	if len(f.Loc) < 2 || f.Loc[0] != "path" {
		return "", false
	}
	_, rest, ok := strings.Cut(f.Msg, "^")
	if !ok {
		return "", false
	}
	prefix, _, ok := strings.Cut(rest, "-")
	return strings.TrimLeft(prefix, "("), ok
}

// speakDetail replaces the framework's errors with ours. The constructor is a package variable, so it is set once.
var speakDetail = sync.OnceFunc(func() {
	huma.NewError = func(code int, msg string, errs ...error) huma.StatusError {
		switch code {
		case http.StatusBadRequest, http.StatusUnprocessableEntity: // the contract answers both with 422
			if len(errs) == 0 {
				errs = []error{&huma.ErrorDetail{Location: "body", Message: msg}}
			}
			return shapeError(errs)
		case http.StatusRequestEntityTooLarge:
			return &statusError{status: code, kind: core.TooLarge, body: api.ErrorBody{Detail: msg}}
		case http.StatusRequestTimeout:
			return &statusError{status: code, kind: core.Timeout, body: api.ErrorBody{Detail: msg}}
		case http.StatusUnsupportedMediaType:
			return &statusError{status: code, kind: core.Unsupported, body: api.ErrorBody{Detail: msg}}
		}
		return &statusError{status: code, kind: core.Internal, body: api.ErrorBody{Detail: msg}}
	}
	huma.NewErrorWithContext = func(ctx huma.Context, code int, msg string, errs ...error) huma.StatusError {
		err := huma.NewError(code, msg, errs...)
		if e, ok := err.(*statusError); ok {
			if e.status == http.StatusUnprocessableEntity {
				e.body.TraceID = callOf(ctx.Context()).id
			}
			for name, values := range e.GetHeaders() {
				ctx.SetHeader(name, values[0])
			}
		}
		return err
	}
})

// writeError sends an error outside of an operation.
func writeError(ctx context.Context, w http.ResponseWriter, err error) {
	writeStatus(w, answerError(ctx, err))
}

func writeStatus(w http.ResponseWriter, e *statusError) {
	for name, values := range e.GetHeaders() {
		w.Header().Set(name, values[0])
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	_ = json.NewEncoder(w).Encode(e) // the client is gone if this fails
}
