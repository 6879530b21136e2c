package providers

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"loci/core"
	"loci/providers/internal/wire"
)

// model answers each attempt with what comes next; nil is an answer.
type model struct {
	fails []error
	text  string // handed out before an error
	asked atomic.Int64
	hold  time.Duration
	now   atomic.Int64
	most  atomic.Int64
}

func (m *model) Stream(ctx context.Context, _ core.ChatRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		n := int(m.asked.Add(1)) - 1
		if now := m.now.Add(1); now > m.most.Load() {
			m.most.Store(now)
		}
		defer m.now.Add(-1)
		pause(ctx, m.hold)
		if m.text != "" && !yield(core.Delta{Text: m.text}, nil) {
			return
		}
		if n < len(m.fails) && m.fails[n] != nil {
			yield(core.Delta{}, m.fails[n])
			return
		}
		yield(core.Delta{End: true, Finish: core.FinishStop}, nil)
	}
}

func behind(m *model, most int, notice func(context.Context, Notice)) *asked {
	p := &Providers{cfg: Config{Notice: notice}}
	s := &server{who: wire.Who{Provider: "vendor"}, gate: newGate(most), log: slog.New(slog.DiscardHandler), chat: m}
	return &asked{providers: p, server: s, info: core.ModelInfo{Provider: "vendor", Name: "m", Tools: true}}
}

func run(ctx context.Context, a *asked) error {
	for _, err := range a.Stream(ctx, core.ChatRequest{}) {
		if err != nil {
			return err
		}
	}
	return nil
}

func fail(kind core.Kind) *core.Error {
	return &core.Error{Kind: kind, Msg: string(kind), Provider: true}
}

func times(n int, err error) []error {
	out := make([]error, n)
	for i := range out {
		out[i] = err
	}
	return out
}

func TestWhatPassesByItselfIsAskedAgain(t *testing.T) {
	t.Parallel()
	refused := core.E(core.Unavailable, "nobody: %w", syscall.ECONNREFUSED)
	for name, c := range map[string]struct {
		fails []error
		asked int64
		want  core.Kind
	}{
		"one overload":            {times(1, fail(core.Unavailable)), 2, ""},
		"three limits":            {times(3, fail(core.RateLimited)), 4, ""},
		"an overload without end": {times(9, fail(core.Unavailable)), 4, core.Unavailable},
		"one timeout":             {times(1, fail(core.Timeout)), 2, ""},
		"two timeouts":            {times(2, fail(core.Timeout)), 2, core.Timeout},
		"a refused connection":    {times(9, refused), 2, core.Unavailable},
		"a bad request":           {times(1, fail(core.Invalid)), 1, core.Invalid},
		"a wrong key":             {times(1, fail(core.Unauthenticated)), 1, core.Unauthenticated},
		"an empty account":        {times(1, fail(core.NoCredit)), 1, core.NoCredit},
		"too long":                {times(1, fail(core.TooLong)), 1, core.TooLong},
		"a cancellation":          {times(1, fail(core.Cancelled)), 1, core.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &model{fails: c.fails}
				notices := int64(0)
				err := run(t.Context(), behind(m, 1, func(_ context.Context, n Notice) {
					notices++
					if n.Attempt != int(notices) || n.Wait <= 0 || n.Err == nil {
						t.Errorf("notice %+v", n)
					}
				}))
				if core.KindOf(err) != c.want || m.asked.Load() != c.asked || notices != c.asked-1 {
					t.Errorf("asked %d times, %d notices, got %v", m.asked.Load(), notices, err)
				}
			})
		})
	}
}

func TestNothingIsAskedAgainOnceSomethingWasShown(t *testing.T) {
	t.Parallel()
	m := &model{fails: times(1, fail(core.Unavailable)), text: "half"}
	if err := run(t.Context(), behind(m, 1, nil)); core.KindOf(err) != core.Unavailable || m.asked.Load() != 1 {
		t.Errorf("asked %d times: %v", m.asked.Load(), err)
	}
}

func TestARequestedPauseIsKeptWhateverFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := fail(core.Unavailable)
		down.RetryAfter = 20 * time.Second
		start := time.Now()
		if err := run(t.Context(), behind(&model{fails: []error{down}}, 1, nil)); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < 20*time.Second || d > 21*time.Second {
			t.Errorf("waited %v", d)
		}
	})
}

func TestARequestedPauseIsKeptByEverybodyWithTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limited := fail(core.RateLimited)
		limited.RetryAfter = 20 * time.Second
		m := &model{fails: []error{limited}}
		a, start := behind(m, 8, nil), time.Now()
		if err := run(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < 20*time.Second || d > 21*time.Second {
			t.Errorf("waited %v", d)
		}
		m.fails, start = append(times(1, nil), nil, limited), time.Now()
		done := make(chan time.Duration, 2)
		go func() { _ = run(t.Context(), a); done <- time.Since(start) }()
		synctest.Wait()
		go func() { _ = run(t.Context(), a); done <- time.Since(start) }()
		for range 2 {
			if d := <-done; d < 20*time.Second {
				t.Errorf("somebody waited %v", d)
			}
		}
	})
}

func TestAPauseOverAMinuteIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	limited := fail(core.RateLimited)
	limited.RetryAfter = 5 * time.Minute
	m := &model{fails: times(1, limited)}
	err := run(t.Context(), behind(m, 1, nil))
	if core.KindOf(err) != core.RateLimited || m.asked.Load() != 1 || !strings.Contains(core.HintOf(err), "5m0s") {
		t.Errorf("asked %d times: %v, hint %q", m.asked.Load(), err, core.HintOf(err))
	}
}

func TestCancellingEndsAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		m, start := &model{fails: times(9, fail(core.Unavailable))}, time.Now()
		err := run(ctx, behind(m, 1, func(context.Context, Notice) { cancel(core.ErrCancelled) }))
		if core.KindOf(err) != core.Cancelled || !errors.Is(err, core.ErrCancelled) || time.Since(start) != 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestRequestsAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &model{hold: time.Second}
		a, errs := behind(m, 3, nil), make(chan error)
		for range 10 {
			go func() { errs <- run(t.Context(), a) }()
		}
		for range 10 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if m.most.Load() != 3 {
			t.Errorf("%d at once", m.most.Load())
		}
		ctx, cancel := context.WithCancel(t.Context())
		full := behind(m, 1, nil)
		full.server.gate.slots <- struct{}{}
		time.AfterFunc(time.Second, cancel)
		if err := run(ctx, full); core.KindOf(err) != core.Cancelled {
			t.Errorf("waiting for a place: %v", err)
		}
	})
}

func TestLeavingTheSequenceFreesThePlace(t *testing.T) {
	t.Parallel()
	a := behind(&model{text: "half"}, 1, nil)
	for range 3 {
		for range a.Stream(t.Context(), core.ChatRequest{}) {
			break
		}
	}
	if n := len(a.server.gate.slots); n != 0 {
		t.Errorf("%d places taken", n)
	}
}
