package providertest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
)

// failure is a way to fail and the kind of error it must become.
type failure struct {
	name string
	fail Fail
	text string // sent before it
	want core.Kind
}

func failures() []failure {
	return []failure{
		{"too often", Fail{Status: 429, Code: "rate_limit_exceeded"}, "", core.RateLimited},
		{"no credit", Fail{Status: 429, Code: "insufficient_quota", Message: "You exceeded your current quota"}, "", core.NoCredit},
		{"payment required", Fail{Status: 402}, "", core.NoCredit},
		{"server error", Fail{Status: 500, Message: "boom"}, "", core.Unavailable},
		{"overloaded", Fail{Status: 503}, "", core.Unavailable},
		{"gateway timeout", Fail{Status: 504}, "", core.Timeout},
		{"wrong key", Fail{Status: 401}, "", core.Unauthenticated},
		{"bad request", Fail{Status: 400, Message: "no such parameter"}, "", core.Invalid},
		{"no such model", Fail{Status: 404, Message: "model not found"}, "", core.NotFound},
		{
			"too long",
			Fail{Status: 400, Code: "context_length_exceeded", Message: "This model's maximum context length is 8192 tokens."},
			"",
			core.TooLong,
		},
		{"too long for Ollama", Fail{Status: 400, Message: "the input length exceeds the context length"}, "", core.TooLong},
		{"redirect", Fail{Status: 307}, "", core.Invalid},
		{"cut connection", Fail{Broken: Disconnect}, "half of", core.Unavailable},
		{"clean end too early", Fail{Broken: Truncate}, "half of", core.Unavailable},
		{"nothing at all", Fail{Broken: Truncate}, "", core.Unavailable},
		{"error in the stream", Fail{Broken: MidStream}, "half of", core.Unavailable},
		{
			"too long in the stream",
			Fail{Broken: MidStream, Message: "Your input exceeds the context window of this model."},
			"",
			core.TooLong,
		},
	}
}

func suiteFailures(t *testing.T, s Subject) {
	t.Helper()
	for _, k := range failures() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			_, model := s.start(t, Turn{Text: k.text, Fail: &k.fail})
			a, err := Collect(t.Context(), t, model, Ask(s.Model, "hello"))
			if core.KindOf(err) != k.want {
				t.Errorf("kind %q, want %q: %v", core.KindOf(err), k.want, err)
			}
			if !strings.HasPrefix(k.text, a.Text) {
				t.Errorf("text %q", a.Text)
			}
			if (k.want == core.Unavailable || k.want == core.RateLimited) && core.HintOf(err) == "" {
				t.Errorf("nothing says what to do about: %v", err)
			}
		})
	}
	suiteErrors(t, s)
}

func suiteErrors(t *testing.T, s Subject) {
	t.Helper()
	t.Run("an empty reply is an error", func(t *testing.T) {
		t.Parallel()
		_, model := s.start(t, Turn{})
		if _, err := Collect(t.Context(), t, model, Ask(s.Model, "hello")); core.KindOf(err) != core.Unavailable {
			t.Errorf("got %v", err)
		}
	})
	t.Run("retry-after is kept", func(t *testing.T) {
		t.Parallel()
		_, model := s.start(t, Turn{Fail: &Fail{Status: 429, RetryAfter: "7"}})
		_, err := Collect(t.Context(), t, model, Ask(s.Model, "hello"))
		var e *core.Error
		if !errors.As(err, &e) || e.RetryAfter != 7*time.Second {
			t.Errorf("got %#v", err)
		}
	})
	t.Run("the key is in no error", func(t *testing.T) {
		t.Parallel()
		server := NewServer(t)
		server.Key = "another"
		const key = "sk-secret-9876543210"
		model := s.New(t, server, key)
		_, err := Collect(t.Context(), t, model, Ask(s.Model, "hello"))
		var e *core.Error
		if !errors.As(err, &e) || e.Kind != core.Unauthenticated {
			t.Fatalf("got %v", err)
		}
		if whole := err.Error() + e.Hint; strings.Contains(whole, key) || !strings.Contains(whole, "••••") {
			t.Errorf("the error says %q", whole)
		}
	})
	t.Run("a server that is not there", func(t *testing.T) {
		t.Parallel()
		server := Start()
		model := s.New(t, server, "")
		server.Close()
		_, err := Collect(t.Context(), t, model, Ask(s.Model, "hello"))
		if core.KindOf(err) != core.Unavailable || core.HintOf(err) == "" {
			t.Errorf("got %v", err)
		}
	})
}

func suiteStops(t *testing.T, s Subject) {
	t.Helper()
	t.Run("cancelling in the middle stops at once and frees the server", func(t *testing.T) {
		t.Parallel()
		server, model := s.start(t, Turn{Text: strings.Repeat("word ", 6000), TokenDelay: 20 * time.Millisecond}) // two minutes
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var last error
		var asked time.Time
		for d, err := range model.Stream(ctx, Ask(s.Model, "hello")) {
			if d.Text != "" && asked.IsZero() {
				asked = time.Now()
				cancel(core.ErrCancelled)
			}
			last = err
		}
		if core.KindOf(last) != core.Cancelled || !errors.Is(last, core.ErrCancelled) {
			t.Errorf("got %v", last)
		}
		if d := time.Since(asked); d > 20*time.Second {
			t.Errorf("stopped after %v", d)
		}
		idle(t, server)
	})
	t.Run("cancelling before the first byte", func(t *testing.T) {
		t.Parallel()
		server, model := s.start(t, Turn{Text: "late", Delay: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() {
			for server.Active() == 0 && ctx.Err() == nil {
				tick(ctx)
			}
			cancel()
		})
		_, err := Collect(ctx, t, model, Ask(s.Model, "hello"))
		if core.KindOf(err) != core.Cancelled {
			t.Errorf("got %v", err)
		}
		idle(t, server)
	})
	suiteEnds(t, s)
}

func suiteEnds(t *testing.T, s Subject) {
	t.Helper()
	t.Run("a deadline is a timeout", func(t *testing.T) {
		t.Parallel()
		_, model := s.start(t, Turn{Text: "late", Delay: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, err := Collect(ctx, t, model, Ask(s.Model, "hello"))
		if core.KindOf(err) != core.Timeout {
			t.Errorf("got %v", err)
		}
	})
	t.Run("leaving the sequence frees the server", func(t *testing.T) {
		t.Parallel()
		server, model := s.start(t, Turn{Text: strings.Repeat("word ", 20_000), TokenDelay: 10 * time.Millisecond}) // three minutes
		for _, err := range model.Stream(t.Context(), Ask(s.Model, "hello")) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		idle(t, server)
	})
}

// idle waits until the server has stopped sending.
func idle(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for s.Active() > 0 {
		if ctx.Err() != nil {
			t.Fatal("the server is still sending")
		}
		tick(ctx)
	}
}

func tick(ctx context.Context) {
	timer := time.NewTimer(2 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
