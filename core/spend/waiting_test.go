package spend

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
)

// patient is a house whose calls wait for each other.
func patient(t *testing.T, tokens int) *house {
	t.Helper()
	h := newHouse(t)
	h.Ledger = New(Config{Store: h.store.Expenses(), Zone: time.UTC, Clock: func() time.Time { return h.now }, Patience: time.Minute})
	h.budget(core.Budget{Tokens: tokens})
	return h
}

func TestCallsSideBySideWaitForEachOtherWhereABudgetEnds(t *testing.T) {
	t.Parallel()
	const many = 12
	h := patient(t, 40_000) // each may come to 11,000 and more, and comes to 2,000
	var failed []string
	var mu sync.Mutex
	var calls sync.WaitGroup
	for range many {
		calls.Go(func() {
			if _, err := h.ask(core.Charge{}, 1_000); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err.Error())
			}
		})
	}
	calls.Wait()
	if len(failed) > 0 {
		t.Errorf("%d of %d starve: %s", len(failed), many, strings.Join(failed, "; "))
	}
	if got := h.spent(core.ExpenseQuery{}); got.Calls != many {
		t.Errorf("%+v", got)
	}
}

func TestWhoWaitsForABudgetStopsWhenItIsCancelled(t *testing.T) {
	t.Parallel()
	h := patient(t, 12_000)
	one := call{model: "vendor/m", price: h.info.Price, prompt: 1_000, answer: 10_000}
	first, err := h.reserve(t.Context(), one)
	h.ok(err)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := h.reserve(ctx, one)
		ended <- err
	}()
	cancel(core.ErrCancelled)
	if err := <-ended; core.KindOf(err) != core.Cancelled {
		t.Errorf("%v", err)
	}
	h.settle(t.Context(), &first, h.info.Price, nil, false)
	if _, err := h.reserve(t.Context(), one); err != nil {
		t.Errorf("after the call it waited for has ended: %v", err)
	}
}
