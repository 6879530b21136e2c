package tui

import (
	"context"
	"iter"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

// frame is the minimum time between two batches of a feed: a model that is
// faster than the screen must not cause more frames than the screen can show.
const frame = 8 * time.Millisecond

// feed reads a sequence in one goroutine and delivers it in batches, at most
// one per frame, the first at once.
type feed[T any] struct {
	mu     sync.Mutex
	items  []T
	err    error
	over   bool
	signal chan struct{} // buffers one signal
	stop   context.CancelFunc
	last   time.Time // of the previous batch; used by one waiting command at a time
}

// batchMsg is what a feed has collected.
type batchMsg[T any] struct {
	feed  *feed[T]
	items []T
	err   error
	over  bool // nothing more will come
}

// startFeed starts reading. The goroutine ends with the sequence, on stop or
// with ctx, and is counted in wg.
func startFeed[T any](ctx context.Context, wg *sync.WaitGroup, open func(context.Context) iter.Seq2[T, error]) *feed[T] {
	ctx, stop := context.WithCancel(ctx)
	f := &feed[T]{signal: make(chan struct{}, 1), stop: stop}
	wg.Go(func() {
		defer stop()
		for item, err := range open(ctx) {
			f.put(item, err)
			if ctx.Err() != nil {
				break
			}
		}
		f.end()
	})
	return f
}

func (f *feed[T]) put(item T, err error) {
	f.mu.Lock()
	if err != nil {
		f.err = err
	} else {
		f.items = append(f.items, item)
	}
	f.mu.Unlock()
	f.wake()
}

func (f *feed[T]) end() {
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	f.wake()
}

func (f *feed[T]) wake() {
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// next waits for the next batch.
func (f *feed[T]) next() tea.Msg {
	<-f.signal
	if wait := frame - time.Since(f.last); wait > 0 {
		t := time.NewTimer(wait)
		<-t.C
	}
	f.last = time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	msg := batchMsg[T]{feed: f, items: f.items, over: f.over}
	f.items = nil
	if f.over {
		msg.err = f.err
	}
	return msg
}
