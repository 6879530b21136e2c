package sqlite

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/jmoiron/sqlx"

	"loci/core"
)

// maxGroup bounds how many callers share a commit, so that the first of a crowd doesn't wait for everybody.
const maxGroup = 256

// writeRequest is one caller's function waiting for its commit.
type writeRequest struct {
	ctx   context.Context
	fn    func(ctx context.Context, q *Querier) error
	bare  bool        // run alone and outside of a transaction
	begun atomic.Bool // set once by whichever is first: the writer that runs it, or the caller that gives up
	done  chan error  // buffered, one answer
}

// writer serialises the writes to a file: a goroutine that runs every waiting function in a savepoint of one
// transaction, commits once and then answers all of them. There is no timer: a lone caller commits alone, a crowd shares
// the fsync.
//
// Statements run under the writer's own context, because a cancelled statement would make SQLite roll back the whole
// group.
type writer struct {
	conn    *sqlx.Conn
	q       *Querier
	jobs    chan *writeRequest
	closing chan struct{}
	wg      sync.WaitGroup
	after   func()       // called after each commit; may be nil
	commits atomic.Int64 // how many transactions were committed
}

func newWriter(ctx context.Context, db *sqlx.DB, hook func(string) error, after func()) (*writer, error) {
	conn, err := db.Connx(ctx)
	if err != nil {
		return nil, Classify("open writer", err)
	}
	w := &writer{
		conn: conn, q: NewQuerier(conn, hook), jobs: make(chan *writeRequest, maxGroup), closing: make(chan struct{}), after: after,
	}
	w.wg.Go(w.run)
	return w, nil
}

// close lets waiting jobs finish and stops the goroutine. Later calls of do are refused.
func (w *writer) close() {
	close(w.closing)
	w.wg.Wait()
	w.q.Close()
	_ = w.conn.Close()
}

var ErrClosed = &core.Error{Kind: core.Unavailable, Msg: "the store is closed"}

// do runs fn in a transaction and returns after the commit. The caller's context matters only until fn begins.
func (w *writer) do(ctx context.Context, fn func(ctx context.Context, q *Querier) error) error {
	return w.submit(ctx, &writeRequest{ctx: ctx, fn: fn, done: make(chan error, 1)})
}

// bare runs fn while nobody else writes, but not in a transaction, for what SQLite doesn't do inside one.
func (w *writer) bare(ctx context.Context, fn func(ctx context.Context, q *Querier) error) error {
	return w.submit(ctx, &writeRequest{ctx: ctx, fn: fn, bare: true, done: make(chan error, 1)})
}

func (w *writer) submit(ctx context.Context, j *writeRequest) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	select {
	case <-w.closing:
		return ErrClosed
	default:
	}
	select {
	case w.jobs <- j:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.closing:
		return ErrClosed
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		if j.begun.CompareAndSwap(false, true) {
			return context.Cause(ctx)
		}
		return <-j.done
	case <-w.closing:
		// The writer still drains its queue; withdraw a job that slipped in after that.
		w.wg.Wait()
		if j.begun.CompareAndSwap(false, true) {
			return ErrClosed
		}
		return <-j.done
	}
}

func (w *writer) run() {
	for {
		select {
		case j := <-w.jobs:
			w.serve(j)
		case <-w.closing:
			for {
				select {
				case j := <-w.jobs:
					w.serve(j)
				default:
					return
				}
			}
		}
	}
}

// serve runs everything that is waiting now.
func (w *writer) serve(first *writeRequest) {
	group, bare := w.gather(first)
	w.group(group)
	if bare != nil {
		bare.done <- protect(context.WithoutCancel(bare.ctx), w.q, bare.fn)
	}
}

// gather takes everything that is waiting now, up to a job that runs alone, and marks it as begun. It skips jobs whose
// callers have given up.
func (w *writer) gather(first *writeRequest) (group []*writeRequest, bare *writeRequest) {
	for j := first; ; {
		if j.begun.CompareAndSwap(false, true) {
			if j.bare {
				return group, j
			}
			group = append(group, j)
		}
		if len(group) == maxGroup {
			return group, nil
		}
		select {
		case j = <-w.jobs:
		default:
			return group, nil
		}
	}
}

// group runs all jobs in one transaction. If a savepoint can't be rolled back, the transaction is useless to everybody
// and every job is rerun on its own.
func (w *writer) group(jobs []*writeRequest) {
	if len(jobs) <= 1 {
		for _, j := range jobs {
			j.done <- w.alone(j)
		}
		return
	}
	ctx := context.Background()
	if err := w.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		answer(jobs, nil, err)
		return
	}
	results := make([]error, len(jobs))
	for i, j := range jobs {
		result, err := w.savepoint(j)
		if err != nil {
			_ = w.exec(ctx, "ROLLBACK")
			for _, j := range jobs {
				j.done <- w.alone(j)
			}
			return
		}
		results[i] = result
	}
	if err := w.commit(ctx); err != nil {
		answer(jobs, results, err)
		return
	}
	answer(jobs, results, nil)
}

// answer tells every caller its job's own error or, failing that, the group's.
func answer(jobs []*writeRequest, results []error, err error) {
	for i, j := range jobs {
		if results != nil && results[i] != nil {
			j.done <- results[i]
			continue
		}
		j.done <- err
	}
}

// savepoint runs one job; err means that the transaction is broken, not that the job failed.
func (w *writer) savepoint(j *writeRequest) (result, err error) {
	ctx := context.WithoutCancel(j.ctx)
	if err := w.exec(ctx, "SAVEPOINT job"); err != nil {
		return nil, err
	}
	if result = protect(ctx, w.q, j.fn); result != nil {
		if err := w.exec(ctx, "ROLLBACK TO job"); err != nil {
			return nil, err
		}
	}
	return result, w.exec(ctx, "RELEASE job")
}

// alone runs a job in its own transaction.
func (w *writer) alone(j *writeRequest) error {
	ctx := context.WithoutCancel(j.ctx)
	if err := w.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := protect(ctx, w.q, j.fn); err != nil {
		_ = w.exec(ctx, "ROLLBACK")
		return err
	}
	return w.commit(ctx)
}

func (w *writer) commit(ctx context.Context) error {
	if err := w.exec(ctx, "COMMIT"); err != nil {
		_ = w.exec(ctx, "ROLLBACK")
		return err
	}
	w.commits.Add(1)
	if w.after != nil {
		w.after()
	}
	return nil
}

func (w *writer) exec(ctx context.Context, text string) error {
	_, err := w.q.Exec(ctx, text)
	return Classify("transaction", err)
}

// protect turns a panic in fn into an error: the writer serves everybody and must outlive it. It can't survive an fn that ends
// its goroutine, as a test's FailNow does: the writer is gone then, and whoever waits for it waits for ever.
func protect(ctx context.Context, q *Querier, fn func(ctx context.Context, q *Querier) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = core.E(core.Internal, "panic in a transaction: %v\n%s", v, debug.Stack())
		}
	}()
	return fn(ctx, q)
}
