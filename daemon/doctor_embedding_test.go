package daemon

import (
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/embedding"
	"loci/daemon/api"
)

func TestAModelWhoseTimeHasComeIsBeingAsked(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 14, 30, 0, 0, time.Local)
	for next, want := range map[time.Time]string{
		now.Add(-time.Minute): "it is being asked now",
		now:                   "it is being asked now",
		now.Add(time.Minute):  "it is asked again at 14:31:00",
	} {
		if got := askedAgain(next, now); got != want {
			t.Errorf("asked at %s: %q", next, got)
		}
	}
}

func TestTheDoctorCallsAStalledEmbedderThat(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 1, 0, 0, time.Local)
	stall := &core.Stall{Model: "vendor/small", Since: now.Add(-time.Minute)}
	stalled := embedding.Trouble{Model: "vendor/small", Next: now, Stall: stall}
	resting := embedding.Trouble{Model: "vendor/small", Next: now, Err: core.E(core.Timeout, "no answer"), Stall: stall}
	refused := embedding.Trouble{Model: "vendor/small", Next: now.Add(time.Minute), Err: core.E(core.Unavailable, "nothing answers")}
	for name, tt := range map[string]struct {
		waiting  int
		troubles []embedding.Trouble
		level    string
		detail   string
		fix      string
	}{
		"while texts wait": {
			3,
			[]embedding.Trouble{stalled},
			api.CheckWarning,
			"since 2026-11-21 12:00; 3 texts to be made findable", "look after its server",
		},
		"while it rests": {
			3,
			[]embedding.Trouble{resting},
			api.CheckWarning,
			"since 2026-11-21 12:00; 3 texts", "look after its server",
		},
		"of queries alone": {
			0,
			[]embedding.Trouble{stalled},
			api.CheckWarning,
			"since 2026-11-21 12:00; searches go by words alone", "look after its server",
		},
		"one that refuses": {
			1,
			[]embedding.Trouble{refused},
			api.CheckWarning,
			"vendor/small: nothing answers; 1 text", "it is asked again at",
		},
		"one at work": {1, nil, api.CheckOK, "1 text to be made findable", ""},
	} {
		got := embeddingChecks(core.VectorProgress{Waiting: tt.waiting}, tt.troubles, now)
		if len(got) != 1 || got[0].Level != tt.level || !strings.Contains(got[0].Detail, tt.detail) ||
			!strings.HasPrefix(got[0].Fix, tt.fix) ||
			strings.Count(got[0].Detail, "vendor/small") > 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := embeddingChecks(core.VectorProgress{}, []embedding.Trouble{refused}, now); got != nil {
		t.Errorf("nothing waits: %+v", got)
	}
}
