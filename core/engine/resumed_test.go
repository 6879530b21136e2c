package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/coretest"
)

// openAIKey is what a client has that can pay for a run.
func openAIKey(name string) (core.Secret, bool) { return "sk-test", name == "OPENAI_API_KEY" }

// keyless is a house that was started anew while an agent's background run called a tool, and has no key to go on with it.
func keyless(t *testing.T) (*house, *outside, core.Agent, core.Run) {
	t.Helper()
	h, tool := launching(t)
	h.model.missing = map[string]string{"openai": "OPENAI_API_KEY"}
	a := h.agent(nil, "launch")
	req := h.request(a, "go")
	req.Background, req.Client.Env = true, openAIKey
	run, err := h.engine.Submit(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	<-tool.started
	h.restart()
	return h, tool, a, run
}

func TestRule11AResumedRunWaitsForItsKey(t *testing.T) {
	t.Parallel()
	h, tool, _, run := keyless(t)
	refused := func(times int) {
		t.Helper()
		coretest.Until(t, "the run looks for its key", func() bool { return h.model.without() >= times })
	}
	refused(1)
	coretest.Until(t, "the run says what it waits for", func() bool {
		return strings.Contains(h.engine.Waits(run.ID), "OPENAI_API_KEY") && strings.Contains(h.engine.Waits(run.ID), string(run.ID))
	})
	h.engine.Joined(func(string) (core.Secret, bool) { return "", false }) // somebody without the key
	refused(2)
	if r, err := h.store.Runs().Get(t.Context(), run.ID); err != nil || r.Status.Final() {
		t.Fatalf("the run did not wait: %s %v", r.Status, err)
	}
	h.engine.Joined(openAIKey)
	r, events := h.follow(run.ID)
	if r.Status != core.RunCompleted {
		t.Errorf("run %s %+v", r.Status, r.Error)
	}
	told := 0
	for _, ev := range events {
		if n, ok := ev.Body.(core.Notice); ok && n.Kind == core.NoticeWaiting {
			told++
		}
	}
	if waits := h.engine.Waits(run.ID); told != 1 || waits != "" {
		t.Errorf("told %d times what it waits for; at its end it waits for %q", told, waits)
	}
	close(tool.release)
}

func TestRule11AResumedRunWithoutKeyYieldsToTheNextRun(t *testing.T) {
	t.Parallel()
	h, _, a, run := keyless(t)
	next := h.request(a, "are you there?")
	next.Client.Env = openAIKey
	second, err := h.engine.Submit(t.Context(), next)
	if err != nil {
		t.Fatal(err)
	}
	if r, _ := h.follow(run.ID); r.Status != core.RunFailed || r.Error.Type != "llm_authentication" {
		t.Errorf("the first run is %s %+v", r.Status, r.Error)
	}
	if r, _ := h.follow(second.ID); r.Status != core.RunCompleted {
		t.Errorf("the second run is %s %+v", r.Status, r.Error)
	}
}

func TestRule11AResumedRunAsksNobodyElsewhere(t *testing.T) {
	t.Parallel()
	vars := func(at string) core.Env {
		return func(name string) (core.Secret, bool) {
			switch {
			case name == "OPENAI_API_KEY":
				return "sk-test", true
			case name == "OPENAI_BASE_URL" && at != "":
				return core.Secret(at), true
			}
			return "", false
		}
	}
	for name, c := range map[string]struct {
		begun string
		auto  bool
		wrong []string // of the clients that come before the right one
	}{
		"at the client's address":            {"http://mine", false, []string{"", "http://other"}},
		"at the provider's own address":      {"", false, []string{"http://other"}},
		"where no model was chosen for good": {"http://mine", true, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, tool := launching(t)
			a := h.agent(nil, "launch")
			req := h.request(a, "go")
			req.Background, req.Client.Env = true, vars(c.begun)
			run, err := h.engine.Submit(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			<-tool.started
			if a.ModelAuto = c.auto; c.auto { // as where the daemon died before the choice
				if err := h.store.Agents().Update(t.Context(), &a); err != nil {
					t.Fatal(err)
				}
			}
			h.model.missing = map[string]string{"openai": "OPENAI_API_KEY"}
			h.model.at()
			h.restart()
			for _, at := range c.wrong {
				h.engine.Joined(vars(at))
			}
			h.engine.Joined(vars(c.begun))
			if r, _ := h.follow(run.ID); r.Status != core.RunCompleted {
				t.Errorf("run %s %+v", r.Status, r.Error)
			}
			if diff := cmp.Diff([]string{c.begun}, h.model.at()); diff != "" {
				t.Errorf("asked at (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRule11AResumedRunWhoseAddressIsGoneSaysWhatToDo(t *testing.T) {
	t.Parallel()
	h, tool := launching(t)
	a := h.agent(nil, "launch")
	req := h.request(a, "go")
	req.Background = true
	req.Client.Env = func(name string) (core.Secret, bool) { return "http://mine", name == "OPENAI_BASE_URL" }
	run, err := h.engine.Submit(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	<-tool.started
	h.restart()
	h.model.at()
	next, err := h.engine.Submit(t.Context(), h.request(a, "are you there?")) // it does not wait any longer
	if err != nil {
		t.Fatal(err)
	}
	r, _ := h.follow(run.ID)
	if r.Status != core.RunFailed || r.Error.Kind != core.Unavailable || !strings.Contains(r.Error.Message, "openai is not asked") ||
		!strings.Contains(r.Error.Hint, "the address of openai is set") {
		t.Errorf("the run is %s %+v", r.Status, r.Error)
	}
	if r, _ := h.follow(next.ID); r.Status != core.RunCompleted {
		t.Errorf("the next run is %s %+v", r.Status, r.Error)
	}
}

// TestARunSaysWhatItWaitsForUntilItGoesOn: for a provider that asked for a pause, and for the run before it.
func TestARunSaysWhatItWaitsForUntilItGoesOn(t *testing.T) {
	t.Parallel()
	pause, pausing, said := core.Notice{Kind: core.NoticeRetry, Text: "fake asked for a pause."}, make(chan struct{}), make(chan struct{})
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return turn{deltas: []core.Delta{{Text: "here"}, {Notice: &pause}}, gate: pausing}
		}
		return turn{deltas: []core.Delta{{Notice: &pause}, {Text: "here"}}, gate: said}
	})
	a := h.agent(nil)
	first, err := h.engine.Submit(t.Context(), h.request(a, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	req := h.request(a, "next")
	req.Queue = true
	second, err := h.engine.Submit(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	coretest.Until(t, "the first tells of the pause", func() bool { return h.engine.Waits(first.ID) == pause.Text })
	if got := h.engine.Waits(second.ID); !strings.Contains(got, string(first.ID)) {
		t.Errorf("the second waits for %q", got)
	}
	close(pausing)
	h.waitFor(second.ID, isSaid)
	if got := h.engine.Waits(second.ID); got != "" {
		t.Errorf("the second is answered and waits for %q", got)
	}
	close(said)
	h.follow(second.ID)
	if got := h.engine.Waits(first.ID); got != "" {
		t.Errorf("the first has ended and waits for %q", got)
	}
}
