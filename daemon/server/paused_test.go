package server

import (
	"strings"
	"testing"
	"time"

	"loci/core"
)

func TestAStreamOfOursBreaksOffWhereItsRunGoesOnAtTheNextStart(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	paused := core.E(core.Unavailable, "run-1 goes on: %w", core.ErrPaused)
	for name, c := range map[string]struct {
		own   bool
		err   error
		tells bool
	}{
		"our own client":                {true, paused, false},
		"a program of the contract":     {false, paused, true},
		"our own client, another fault": {true, core.E(core.Unavailable, "away"), true},
		"the contract's, another fault": {false, core.E(core.Internal, "broken"), true},
	} {
		frames := func(yield func(frame, error) bool) { yield(frame{}, c.err) }
		said := string(recorded(t, f.srv, runStream{run: "run-1", frames: frames, own: c.own}.sse(time.Now)))
		if tells := strings.Contains(said, "event: error") && strings.Contains(said, "[DONE]"); tells != c.tells || !tells && said != "" {
			t.Errorf("%s is told %q", name, said)
		}
	}
}
