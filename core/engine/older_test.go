package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

func TestAnAnswerFromBeforeBatchesIsAboutTheFirstCallAndNoneStaysUnanswered(t *testing.T) {
	t.Parallel()
	g := openGated(t, core.EffectOutside, nil, calling("probe", map[string]any{"x": "a"}, probing("b")))
	request := g.asked("go")
	calls := request.Calls()
	if len(calls) != 2 {
		t.Fatalf("%d calls wait", len(calls))
	}
	run, events := g.submit(g.answer(approve(string(request.ID))))
	if run.StopReason != core.StopEndTurn {
		t.Errorf("the run ended %s %+v", run.StopReason, run.Error)
	}
	if diff := cmp.Diff([]string{`{"x":"a"}`}, g.probe.ran()); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	got := returned(events)
	if got[calls[0].ID] != "probed" || !strings.Contains(got[calls[1].ID], "The answer was to another call") {
		t.Errorf("the returns: %q", got)
	}
}
