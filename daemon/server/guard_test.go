package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// panicking serves through the guard what panics after it has written something.
func panicking(t *testing.T, before string) (rec *httptest.ResponseRecorder, thrown any) {
	t.Helper()
	f := newFixture(t, always("ok"))
	handler := f.srv.guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if before != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(before))
			_ = http.NewResponseController(w).Flush()
		}
		panic("a bug")
	}))
	rec = httptest.NewRecorder()
	defer func() { thrown = recover() }()
	handler.ServeHTTP(rec, f.request("GET", "/v1/agents", nil).WithContext(WithPeer(t.Context(), PeerSocket)))
	return rec, thrown
}

func TestAPanicIsAnsweredOnlyWhereNothingWasAnsweredYet(t *testing.T) {
	t.Parallel()
	rec, thrown := panicking(t, "")
	if rec.Code != http.StatusInternalServerError || !strings.Contains(rec.Body.String(), "unknown error") || thrown != nil {
		t.Errorf("answered %d %s, thrown %v", rec.Code, rec.Body, thrown)
	}
	const event = "data: {}\n\n"
	rec, thrown = panicking(t, event)
	if got := rec.Body.String(); got != event {
		t.Errorf("the stream holds %q", got)
	}
	if err, ok := thrown.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
		t.Errorf("the connection is not ended: %v", thrown)
	}
}

// statuses counts what is sent as the status of a response.
type statuses struct {
	http.ResponseWriter
	sent []int
}

func (s *statuses) WriteHeader(status int) { s.sent = append(s.sent, status) }

func TestAResponseHasOneStatus(t *testing.T) {
	t.Parallel()
	s := &statuses{ResponseWriter: httptest.NewRecorder()}
	r := &responseTracker{ResponseWriter: s}
	for _, status := range []int{http.StatusContinue, http.StatusOK, 499} {
		r.WriteHeader(status)
	}
	if !slices.Equal(s.sent, []int{http.StatusContinue, http.StatusOK}) {
		t.Errorf("sent %v", s.sent)
	}
}

func TestAPanicOfWhatFeedsAStreamIsItsError(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	rec := httptest.NewRecorder()
	f.srv.writeSSE(context.Background(), rec, sseStream{
		items: func(yield func(sseItem, error) bool) {
			yield(sseItem{value: map[string]int{"n": 1}}, nil)
			panic("a bug")
		},
		fail: func(int64, error) []any { return []any{"failed"} },
		done: true,
	})
	if got := rec.Body.String(); got != "data: {\"n\":1}\n\ndata: \"failed\"\n\ndata: [DONE]\n\n" {
		t.Errorf("the stream holds %q", got)
	}
}
