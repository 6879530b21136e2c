package daemon

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"loci/core"
)

const (
	maintainEvery = 15 * time.Minute
	sweepEvery    = 24 * time.Hour
	keepEvents    = 3 * time.Hour // as long as the contract lets streams resume
)

// maintain keeps the home small: it expires the events of ended runs and, once a day when nothing is running, sweeps
// deleted rows.
func (d *Daemon) maintain(ctx context.Context) {
	ticker := time.NewTicker(maintainEvery)
	defer ticker.Stop()
	var swept time.Time
	debug.FreeOSMemory() // opening needs more memory than idling
	if err := releaseProgram(); err != nil {
		d.logger.DebugContext(ctx, "the pages of the program were not given back", slog.Any("error", err))
	}
	for {
		d.expire(ctx)
		if time.Since(swept) >= sweepEvery && d.current().engine.Idle() && d.sweep(ctx) {
			swept = time.Now()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (d *Daemon) expire(ctx context.Context) {
	if err := d.current().store.Events().Expire(ctx, d.cfg.Clock().Add(-keepEvents)); err != nil && ctx.Err() == nil {
		d.logger.WarnContext(ctx, "old events were not removed", slog.Any("error", err), slog.String("kind", string(core.KindOf(err))))
	}
	if err := d.current().traces.Expire(ctx); err != nil && ctx.Err() == nil {
		d.logger.WarnContext(ctx, "old traces were not removed", slog.Any("error", err))
	}
}

// sweep reports whether it succeeded.
func (d *Daemon) sweep(ctx context.Context) bool {
	removed, err := d.current().store.Sweep(ctx)
	if err != nil {
		if ctx.Err() == nil {
			d.logger.WarnContext(ctx, "deleted rows were not removed", slog.Any("error", err))
		}
		return false
	}
	if removed > 0 {
		d.logger.InfoContext(ctx, "removed what was deleted", slog.Int("rows", removed))
	}
	d.sweepPackages(ctx)
	return true
}

// sweepPackages removes installed packages that no tool asks for any more.
func (d *Daemon) sweepPackages(ctx context.Context) {
	p := d.current()
	written, err := p.store.Tools().List(ctx)
	if err == nil {
		var removed int
		if removed, err = p.packages.Sweep(ctx, written); removed > 0 {
			d.logger.InfoContext(ctx, "removed packages that no tool asks for", slog.Int("environments", removed))
		}
	}
	if err != nil && ctx.Err() == nil {
		d.logger.WarnContext(ctx, "old packages of tools were not removed", slog.Any("error", err))
	}
}
