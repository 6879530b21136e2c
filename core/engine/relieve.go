package engine

import (
	"context"
	"math"

	"loci/core"
	"loci/core/request"
)

// relieve makes the window smaller after a step that filled more than nine tenths of it, as the provider counted. After a
// run's last step its end is a fact already: nothing that fails here takes it back, and nobody is told to come again later.
func (t *turn) relieve(ctx context.Context, end *ending) error {
	used, window := t.win.used, core.WindowOf(&t.agent, t.choice.Info)
	t.win.used = 0
	if used <= window-window/10 || end != nil && (!end.saved || end.reason.Status() != core.RunCompleted) {
		return nil
	}
	t.win.counted = used
	defer func() { t.win.counted = 0 }()
	now := request.TokensOfRows(t.win.rows)
	goal := int(float64(max(min(t.win.room(), now), 0)) * request.KeepShare)
	if end == nil {
		return t.win.shrink(ctx, t.step.ID, goal, now, false)
	}
	close(t.j.over)
	if err := t.win.shrink(ctx, "", goal, now, false); err != nil && ctx.Err() == nil {
		t.e.cfg.Logger.WarnContext(ctx, "make the window smaller after a run", logRun(t.run.ID), logErr(err))
	}
	return nil
}

// scale is how many true tokens an estimated one of the whole window stands for: as the provider counted this window where
// that is why it is made smaller, else as it last reported.
func (w *window) scale(estimated int) float64 {
	if w.counted > 0 && estimated > 0 {
		return float64(w.counted) / float64(estimated)
	}
	return w.ratio
}

func scaled(tokens int, scale float64) int { return int(math.Round(float64(tokens) * scale)) }
