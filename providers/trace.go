package providers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"loci/core"
	"loci/providers/internal/wire"
)

// mostTraced bounds what is kept in memory of one side of a request, in bytes.
const mostTraced = 16 << 20

// traced are the headers of a request and of a response that a trace has: what says how to read the body, and what helps to
// understand it. No other one is kept, since it might be a key.
var traced = []string{
	"Accept", "Anthropic-Beta", "Anthropic-Version", "Content-Type", "Openai-Processing-Ms", "Openai-Version", "Request-Id", "Retry-After",
	"Retry-After-Ms", "X-Request-Id",
}

type traceKey struct{}

// tracing is a call of a model whose requests are traced.
type tracing struct {
	model core.Handle
	mu    sync.Mutex
	n     int // requests so far
}

func (t *tracing) next() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
	return t.n
}

// traces returns a context in which the requests of a call are traced, if anybody keeps traces.
func (p *Providers) traces(ctx context.Context, model core.Handle) context.Context {
	if p.cfg.Traces == nil {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, &tracing{model: model})
}

// tracer tells of the requests of traced calls. It stands before whatever signs them, so that it never sees a key.
type tracer struct {
	base    http.RoundTripper
	sink    core.TraceSink
	now     func() time.Time
	secrets []core.Secret
}

// RoundTrip implements http.RoundTripper.
func (t *tracer) RoundTrip(req *http.Request) (*http.Response, error) {
	call, ok := req.Context().Value(traceKey{}).(*tracing)
	if !ok {
		return t.base.RoundTrip(req)
	}
	rec := &recording{tracer: t, ctx: req.Context(), begun: t.now(), trace: core.Trace{
		ID: core.NewTraceID(), Charge: core.ChargeOf(req.Context()), Model: call.model, Attempt: call.next(), Method: req.Method,
		URL: t.clean(req.URL.Redacted()), Request: core.TracedPart{Header: plainHeader(req.Header)},
	}}
	rec.trace.At = rec.begun
	if req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			raw, _ := io.ReadAll(io.LimitReader(body, mostTraced)) // what can be read is good enough
			rec.trace.Request.Body = t.clean(string(raw))
			rec.trace.Request.Cut = max(int(req.ContentLength)-len(raw), 0)
			_ = body.Close()
		}
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		rec.end(err)
		return nil, err
	}
	wire.Unpack(resp)
	resp.Header.Del("Content-Encoding") // it is unpacked
	rec.trace.First, rec.trace.Status = t.now().Sub(rec.begun), resp.StatusCode
	rec.trace.Response.Header = plainHeader(resp.Header)
	rec.body, resp.Body = resp.Body, rec
	return resp, nil
}

func plainHeader(h http.Header) http.Header {
	out := http.Header{}
	for name, values := range h {
		if slices.Contains(traced, name) || strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "Anthropic-Ratelimit-") {
			out[name] = values
		}
	}
	return out
}

// clean takes the keys of a server out of a text: it may have said one again.
func (t *tracer) clean(text string) string {
	for _, s := range t.secrets {
		if len(s) >= 4 {
			text = strings.ReplaceAll(text, s.Reveal(), s.String())
		}
	}
	return text
}

// recording is the body of a response, which keeps what is read of it.
type recording struct {
	tracer *tracer
	ctx    context.Context //nolint:containedctx // of the request
	begun  time.Time
	body   io.ReadCloser
	trace  core.Trace
	said   strings.Builder
	once   sync.Once
}

// Read implements io.Reader.
func (r *recording) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	kept := min(n, mostTraced-r.said.Len())
	r.said.Write(p[:kept])
	r.trace.Response.Cut += n - kept
	if err != nil {
		r.end(err)
	}
	return n, err
}

// Close implements io.Closer.
func (r *recording) Close() error {
	err := r.body.Close()
	r.end(nil)
	return err
}

// end keeps the trace, once.
func (r *recording) end(err error) {
	r.once.Do(func() {
		r.trace.Took = r.tracer.now().Sub(r.begun)
		r.trace.Response.Body = r.tracer.clean(r.said.String())
		if err != nil && !errors.Is(err, io.EOF) {
			r.trace.Error = r.tracer.clean(err.Error())
		}
		r.tracer.sink.Record(r.ctx, &r.trace)
	})
}
