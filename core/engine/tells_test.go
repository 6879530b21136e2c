package engine_test

import (
	"slices"
	"testing"

	"loci/core"
)

func TestARunBeginsWithWhatThePersonIsToldOnce(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("done") })
	req := h.request(h.agent(nil), "a job has ended")
	req.Config.Tells = []core.Notice{{Kind: "git", Text: "A line changed the project's git configuration."}}
	_, events := h.submit(req)
	at := slices.IndexFunc(events, func(ev core.Event) bool {
		n, ok := ev.Body.(core.Notice)
		return ok && n.Kind == "git" && n.Text == req.Config.Tells[0].Text
	})
	answered := slices.IndexFunc(events, func(ev core.Event) bool { _, ok := ev.Body.(core.Said); return ok })
	if at < 0 || at > answered {
		t.Errorf("told as event %d, before the answer, which is %d", at, answered)
	}
}
