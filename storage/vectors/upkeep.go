package vectors

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"
)

// tend is the index's goroutine: it follows the facts, saves its progress, and rebuilds the codes when that pays off.
func (x *Index) tend(ctx context.Context) {
	save := time.NewTicker(checkpointEvery)
	defer save.Stop()
	for ctx.Err() == nil {
		err := x.round(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			x.cfg.Logger.WarnContext(ctx, "the vector index failed and is built anew", slog.Int64("set", x.cfg.Set), slog.Any("error", err))
			if !rest(ctx, retryAfter) {
				return
			}
			if err := x.restart(ctx); err != nil {
				x.cfg.Logger.WarnContext(ctx, "the vector index cannot be made", slog.Any("error", err))
			}
			continue
		}
		select {
		case <-x.wake:
		case <-save.C:
		case done := <-x.asked:
			done <- x.purge(ctx)
		case <-ctx.Done():
		}
	}
}

// Purge rebuilds the codes if rows were deleted, so that nothing of them is left in the file.
func (x *Index) Purge(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case x.asked <- done:
	case <-x.ended:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errClosed = errors.New("the index is closed")

func (x *Index) purge(ctx context.Context) error {
	err := x.renewWithout(ctx)
	if errors.Is(err, ErrDamaged) {
		return x.restart(ctx) // a new file contains nothing of them either
	}
	return err
}

// renewWithout rebuilds the codes if rows were deleted.
func (x *Index) renewWithout(ctx context.Context) error {
	if _, err := x.Apply(ctx); err != nil {
		return err
	}
	x.mu.RLock()
	clean := x.cur.rows == x.cur.alive
	x.mu.RUnlock()
	if clean {
		return nil
	}
	return x.renew(ctx)
}

func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (x *Index) round(ctx context.Context) error {
	if x.broken.Load() {
		return ErrDamaged
	}
	if err := x.verify(ctx); err != nil {
		return err
	}
	if _, err := x.Apply(ctx); err != nil {
		return err
	}
	if x.stale() {
		if err := x.renew(ctx); err != nil {
			return err
		}
	}
	x.applying <- struct{}{}
	defer func() { <-x.applying }()
	return x.checkpoint()
}

// verify reads what startup skipped: the parts of blocks from which a search reads only a few rows.
func (x *Index) verify(ctx context.Context) error {
	for doubted := true; doubted; {
		err := x.read(func(s *state) error {
			if doubted = s.doubted > 0; !doubted {
				return nil
			}
			if b := s.blocks[s.doubted-1]; b.coldSum(s.l) != b.sums[1] {
				return ErrDamaged
			}
			return ctx.Err()
		})
		if err != nil || !doubted {
			return err
		}
		x.mu.Lock()
		x.cur.doubted = max(0, x.cur.doubted-1)
		x.mu.Unlock()
	}
	return nil
}

// restart starts over with an empty state, which can be searched while it fills.
func (x *Index) restart(ctx context.Context) error {
	bounds, err := x.cfg.Source.Bounds(ctx)
	if err != nil {
		return err
	}
	x.applying <- struct{}{}
	defer func() { <-x.applying }()
	s, err := x.fresh(bounds.Gone)
	if err != nil {
		return err
	}
	x.install(s)
	x.broken.Store(false)
	return nil
}

// stale reports whether the codes should be rebuilt: with a mean over more rows, or without deleted rows.
func (x *Index) stale() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.cur
	dead := s.rows - s.alive
	return s.rows >= betterMean && s.meanRows < firstMean ||
		s.rows >= 16*betterMean && s.meanRows < betterMean ||
		dead > blockRows && dead*deadShare > s.rows
}

// renew builds a second state beside the current one and swaps it in once it has everything.
func (x *Index) renew(ctx context.Context) error {
	bounds, err := x.cfg.Source.Bounds(ctx)
	if err != nil {
		return err
	}
	s, err := x.fresh(bounds.Gone)
	if err != nil {
		return err
	}
	if s.mean, s.meanRows, err = x.meanOf(ctx); err == nil {
		s.file, err = s.file.remade(s.mean)
	}
	encoders := make([]*encoder, x.cfg.Threads)
	for i := range encoders {
		encoders[i] = newEncoder(x.rot, s.mean)
	}
	for more := true; more && err == nil; {
		if err = ctx.Err(); err == nil {
			more, err = x.step(ctx, s, encoders)
		}
	}
	if err != nil {
		s.close()
		_ = removeFile(s.path)
		return err
	}
	x.applying <- struct{}{}
	defer func() { <-x.applying }()
	x.install(s) // what was committed meanwhile is applied next, as always
	return nil
}

// meanOf returns the mean of rows sampled evenly from all of them.
func (x *Index) meanOf(ctx context.Context) ([]float32, int, error) {
	var ids []int64
	err := x.read(func(s *state) error {
		for slot, stride := 0, max(1, s.rows/betterMean); slot < s.rows; slot += stride {
			b, row := s.at(slot)
			ids = append(ids, b.id(row))
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	sum, n := make([]float64, x.cfg.Dim), 0
	for part := range slices.Chunk(ids, batchRows) {
		err := x.cfg.Source.Vectors(ctx, part, func(_ int64, data []byte) {
			for i, v := range Floats(data, x.cfg.Dim) {
				sum[i] += float64(v)
			}
			n++
		})
		if err != nil {
			return nil, 0, err
		}
	}
	mean := make([]float32, x.cfg.Dim)
	for i, v := range sum {
		mean[i] = float32(v / float64(max(n, 1)))
	}
	return mean, n, nil
}
