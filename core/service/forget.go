package service

import (
	"context"

	"loci/core"
)

// Forget removes texts for good.
type Forget struct{ *parts }

var errNoForgetter = core.E(core.Unsupported, "this storage cannot forget")

// Trace says where what is named stands, and changes nothing.
func (f *Forget) Trace(ctx context.Context, q core.ForgetQuery) (core.Forgetting, error) {
	if f.Forgetter == nil {
		return core.Forgetting{}, errNoForgetter
	}
	return f.Forgetter.Trace(ctx, q)
}

// Forget removes it while no run is active; it is Busy when one does not end soon. Who asks need not wait for its end.
func (f *Forget) Forget(ctx context.Context, q core.ForgetQuery) (done core.Forgetting, err error) {
	if f.Forgetter == nil {
		return done, errNoForgetter
	}
	if err := q.Validate(); err != nil {
		return done, err
	}
	err = f.Engine.Quiet(ctx, func(ctx context.Context) error {
		done, err = f.Forgetter.Forget(context.WithoutCancel(ctx), q)
		if f.Forgotten != nil {
			f.Forgotten()
		}
		return err
	})
	f.changed(done.Agents...)
	return done, err
}
