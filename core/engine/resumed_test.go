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
	h.engine.Joined(func(string) (core.Secret, bool) { return "", false }) // somebody without the key
	refused(2)
	if r, err := h.store.Runs().Get(t.Context(), run.ID); err != nil || r.Status.Final() {
		t.Fatalf("the run did not wait: %s %v", r.Status, err)
	}
	h.engine.Joined(openAIKey)
	if r, _ := h.follow(run.ID); r.Status != core.RunCompleted {
		t.Errorf("run %s %+v", r.Status, r.Error)
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
