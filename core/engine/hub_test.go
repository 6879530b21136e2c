package engine_test

import (
	"context"
	"testing"

	"loci/core"
)

func TestWhatIsAnnouncedBeforeItIsReadIsNotLost(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changes := h.engine.Changes(ctx)
	h.engine.Announce(core.Change{Agent: "agent-early"})
	for c := range changes {
		if c.Agent != "agent-early" {
			t.Errorf("told of %+v", c)
		}
		break
	}
}
