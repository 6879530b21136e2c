package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Our own headers on requests and responses.
const (
	HeaderClient  = "Loci-Client"  // the session a request belongs to
	HeaderMode    = "Loci-Mode"    // the permission mode that a session has from this request on
	HeaderVersion = "Loci-Version" // the daemon's version, on every response
	HeaderError   = "Loci-Error"   // the kind of an error
	HeaderHint    = "Loci-Hint"    // what a person can do about it, percent-encoded
	HeaderPartial = "Loci-Partial" // why a search may be incomplete
)

// Partial says why a search may be incomplete; empty: it is complete.
type Partial string

// The reasons.
const (
	PartialBuilding Partial = "building" // the index is being built: only the newest texts, and few others, were searched
	PartialBehind   Partial = "behind"   // some texts are not indexed yet, by word or by meaning
)

// PartialStalled says that not everything was searched by meaning, because an embedding model has not answered since a time.
func PartialStalled(model string, since time.Time) Partial {
	return Partial(fmt.Sprintf("stalled; since=%s; model=%s", since.UTC().Format(time.RFC3339), url.PathEscape(model)))
}

// Stalled returns the embedding model that a search is partial because of, and since when it has not answered.
func (p Partial) Stalled() (model string, since Time, ok bool) {
	rest, ok := strings.CutPrefix(string(p), "stalled; since=")
	at, model, found := strings.Cut(rest, "; model=")
	t, bad := time.Parse(time.RFC3339, at)
	model, worse := url.PathUnescape(model)
	return model, At(t), ok && found && bad == nil && worse == nil
}

// The kinds of errors, as the header names them.
const (
	KindInvalid         = "invalid"
	KindNotFound        = "not_found"
	KindConflict        = "conflict"
	KindBusy            = "busy"
	KindUnauthenticated = "unauthenticated"
	KindForbidden       = "forbidden"
	KindRateLimited     = "rate_limited"
	KindNoCredit        = "no_credit"
	KindUnavailable     = "unavailable"
	KindTimeout         = "timeout"
	KindCancelled       = "cancelled"
	KindUnsupported     = "unsupported"
	KindTooLong         = "too_long"
	KindTooLarge        = "too_large"
	KindGone            = "gone"
	KindPrecondition    = "precondition"
	KindSchemaMismatch  = "schema_mismatch"
	KindInternal        = "internal"
)

// ErrorBody is the body of an error. Detail is a string, except for a pending approval, where it is an object, and
// for bodies that fail validation, where it lists what is wrong.
type ErrorBody struct {
	Detail   any            `json:"detail,omitempty"`
	RunID    string         `json:"run_id,omitempty"`
	TraceID  string         `json:"trace_id,omitempty"`
	Examples []string       `json:"examples,omitempty"`
	Err      *ProviderError `json:"error,omitempty"`
}

// ProviderError is the error object of a non-streaming request that failed at the provider.
type ProviderError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
}

// PendingApproval is the detail of a 409 while a tool call waits for approval.
type PendingApproval struct {
	Code             string `json:"code"`
	Message          string `json:"message"`
	PendingRequestID string `json:"pending_request_id"`
}

// CodePendingApproval is the code of PendingApproval.
const CodePendingApproval = "PENDING_APPROVAL"

// Text returns the error as text for a person, whatever its shape.
func (e ErrorBody) Text() string {
	if e.Err != nil && e.Err.Message != "" {
		return e.Err.Message
	}
	switch d := e.Detail.(type) {
	case nil:
		return ""
	case string:
		if text := plainFaults(d); text != "" {
			return text
		}
		return d
	case map[string]any:
		if m, ok := d["message"].(string); ok {
			return m
		}
	}
	text, err := json.Marshal(e.Detail)
	if err != nil {
		return ""
	}
	return string(text)
}

// plainFaults words the list of what is wrong with a request, which the contract has as JSON in a string; empty: it isn't one.
func plainFaults(detail string) string {
	var faults []struct {
		Loc   []string `json:"loc"`
		Msg   string   `json:"msg"`
		Input any      `json:"input"`
	}
	if !strings.HasPrefix(detail, "[{") || json.Unmarshal([]byte(detail), &faults) != nil {
		return ""
	}
	var out []string
	for _, f := range faults {
		text := f.Msg
		if f.Input != nil {
			text += fmt.Sprintf(", not %v", f.Input)
		}
		if len(f.Loc) > 1 { // the first says where in the request
			text = strings.Join(f.Loc[1:], ".") + ": " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}
