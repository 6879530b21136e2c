package core

import (
	"context"
	"net/http"
	"time"
)

// TraceID names a trace: "provider_trace-" and a UUIDv4.
type TraceID string

// NewTraceID returns a fresh id.
func NewTraceID() TraceID { return NewID[TraceID]("provider_trace") }

// Trace is one request to a model's server, whole: what was sent, what came back, and when. It holds no key.
type Trace struct {
	ID TraceID
	Charge
	Model    Handle
	Attempt  int // of the same call, from 1: retries, and what a wire asks again
	At       time.Time
	First    time.Duration // until the answer began
	Took     time.Duration
	Method   string
	URL      string
	Request  TracedPart
	Status   int // 0: there was no answer
	Response TracedPart
	Error    string // of the network
}

// TracedPart is one side of a request.
type TracedPart struct {
	Header http.Header // what says how to read the body, and what helps to understand it
	Body   string
	Cut    int // bytes that are left out at the end of the body
}

// TraceSink keeps traces.
type TraceSink interface {
	// Record keeps a trace. That it can't is nobody's failure.
	Record(ctx context.Context, t *Trace)
}

// TraceQuery selects traces. Without a step, a run's.
type TraceQuery struct {
	Step StepID
	Run  RunID
}

// TraceStore keeps traces for a while. It is disposable.
type TraceStore interface {
	Put(ctx context.Context, t *Trace) error
	// List returns traces in the order in which they were begun.
	List(ctx context.Context, q TraceQuery) ([]Trace, error)
	// Expire deletes traces that were begun before t, and the oldest until the others take no more than some bytes.
	Expire(ctx context.Context, t time.Time, most int64) error
}
