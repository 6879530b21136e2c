package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"loci/daemon/api"
	"loci/daemon/ipc"
)

// Error is a failed call.
type Error struct {
	Status  int    // the HTTP status; 0: there was no response
	Kind    string // one of api.Kind…
	Message string // to show to a person
	Hint    string // what to do next; may be empty
	RunID   string // the run that caused a conflict; may be empty
	Body    []byte // the response body, for callers that know its shape
	Err     error  // the cause, if there was no response
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Pending returns the detail of a conflict with a tool call that is waiting for approval.
func (e *Error) Pending() (api.PendingApproval, bool) {
	var body struct {
		Detail api.PendingApproval `json:"detail"`
	}
	if e.Status != http.StatusConflict || json.Unmarshal(e.Body, &body) != nil {
		return api.PendingApproval{}, false
	}
	return body.Detail, body.Detail.Code == api.CodePendingApproval
}

// KindOf returns the kind of an error: "" for nil, and internal for an error without one.
func KindOf(err error) string {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.Canceled):
		return api.KindCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return api.KindTimeout
	default:
		return api.KindInternal
	}
}

// readError turns a response into an error and closes it.
func readError(resp *http.Response) error {
	data, readErr := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	e := &Error{
		Status: resp.StatusCode, Kind: resp.Header.Get(api.HeaderError), Body: data,
		Err: errors.Join(readErr, resp.Body.Close()),
	}
	if e.Kind == "" {
		e.Kind = kindOfStatus(resp.StatusCode)
	}
	if hint, err := url.PathUnescape(resp.Header.Get(api.HeaderHint)); err == nil {
		e.Hint = hint
	}
	var body api.ErrorBody
	if json.Unmarshal(data, &body) == nil {
		e.Message, e.RunID = body.Text(), body.RunID
	}
	if e.Message == "" {
		e.Message = strings.TrimSpace("the daemon answered " + resp.Status)
	}
	return e
}

// kindOfStatus maps a status to a kind, for responses that didn't come from the daemon's own handlers.
func kindOfStatus(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return api.KindUnauthenticated
	case http.StatusPaymentRequired:
		return api.KindNoCredit
	case http.StatusForbidden:
		return api.KindForbidden
	case http.StatusNotFound:
		return api.KindNotFound
	case http.StatusConflict:
		return api.KindConflict
	case http.StatusGone:
		return api.KindGone
	case http.StatusPreconditionFailed:
		return api.KindPrecondition
	case http.StatusRequestEntityTooLarge:
		return api.KindTooLarge
	case http.StatusTooManyRequests:
		return api.KindRateLimited
	case http.StatusNotImplemented, http.StatusMethodNotAllowed:
		return api.KindUnsupported
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return api.KindUnavailable
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return api.KindTimeout
	}
	if status >= 400 && status < 500 {
		return api.KindInvalid
	}
	return api.KindInternal
}

// transportError turns the failure of a call that got no response into an Error.
func transportError(ctx context.Context, err error) error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	e := &Error{Kind: api.KindUnavailable, Err: err}
	switch {
	case errors.Is(err, context.Canceled):
		e.Kind, e.Message = api.KindCancelled, "cancelled"
	case errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
		e.Kind, e.Message = api.KindTimeout, "the daemon did not answer in time"
	case ipc.Refused(err):
		e.Message, e.Hint = "the daemon is not running", "start it with `loci daemon start`"
	default:
		e.Message = "the connection to the daemon broke"
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			e.Message += ": " + err.Error()
		}
	}
	return e
}
