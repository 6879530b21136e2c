// Package await waits a bounded time for what a provider says: a question whose answer comes too late for the request that
// it was asked for goes on, and its owner ends it.
package await

import (
	"context"
	"errors"
	"sync"
	"time"

	"loci/core"
)

// Most bounds what goes on asking after nobody waits for it.
const Most = 10 * time.Second

// ErrNotYet is why there is no answer: whoever is asked has not given it yet.
var ErrNotYet = errors.New("there is no answer yet")

// Questions are asked of providers and may outlive the request they were asked for: what is answered late is remembered by
// whoever answers, for the run that follows.
type Questions struct {
	wg   sync.WaitGroup
	mu   sync.Mutex // guards stop and over
	stop map[*context.CancelFunc]bool
	over bool
}

// start asks one question in a goroutine that Close waits for; false after Close.
func (q *Questions) start(ctx context.Context, ask func(context.Context)) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Most)
	if q.stop == nil {
		q.stop = map[*context.CancelFunc]bool{}
	}
	q.stop[&cancel] = true
	q.wg.Go(func() {
		defer q.done(&cancel)
		ask(ctx)
	})
	return true
}

func (q *Questions) done(cancel *context.CancelFunc) {
	(*cancel)()
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.stop, cancel)
}

// Close ends all questions and waits for them.
func (q *Questions) Close() {
	q.mu.Lock()
	q.over = true
	for cancel := range q.stop {
		(*cancel)()
	}
	q.mu.Unlock()
	q.wg.Wait()
}

// Within asks and returns the answer, or ErrNotYet where it is not there before patience, a context below ctx, is over; the
// question goes on then.
func Within[T any](ctx, patience context.Context, q *Questions, ask func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	answered := make(chan result, 1)
	started := q.start(ctx, func(asking context.Context) {
		value, err := ask(asking)
		answered <- result{value, err}
	})
	if !started {
		return none, core.ErrShutdown
	}
	select {
	case r := <-answered:
		return r.value, r.err
	case <-patience.Done():
		if err := ctx.Err(); err != nil {
			return none, err
		}
		return none, ErrNotYet
	}
}
