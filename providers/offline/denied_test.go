package offline_test

import (
	"strings"
	"testing"
)

func TestWhatAPersonDeniedIsKeptNowhereElse(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.denied = map[string]string{"memory_insert": "too private"}
	answer := h.say("My sister is called Grace.")
	if len(h.calls) != 1 || len(h.archive) > 0 || h.blocks["human"] != "" {
		t.Errorf("after a denial it called %v and kept %q", h.calls, h.archive)
	}
	if !strings.Contains(answer, "you did not allow it (too private)") || !strings.Contains(answer, "Grace") {
		t.Errorf("it says %q", answer)
	}
	h.denied["memory_insert"] = ""
	if answer := h.say("My brother is called Carl."); !strings.Contains(answer, "you did not allow it. ") || len(h.archive) > 0 {
		t.Errorf("it says %q and kept %q", answer, h.archive)
	}
}
