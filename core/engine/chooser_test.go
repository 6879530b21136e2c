package engine

import (
	"errors"
	"testing"

	"loci/core"
)

// movedModels are models whose providers are at these addresses.
type movedModels struct {
	core.Models
	at map[string]string
}

func (m movedModels) Moved(core.Env) map[string]string { return m.at }

func TestARunIsHeldUpOnlyByTheAddressOfTheProviderThatItAsks(t *testing.T) {
	t.Parallel()
	openai, other := map[string]string{"openai": "a"}, map[string]string{"openai": "b"}
	for name, c := range map[string]struct {
		begun, now map[string]string
		agent      core.Agent
		override   core.Handle
		held       bool
	}{
		"nobody moved":                  {agent: core.Agent{Model: "openai/gpt"}},
		"at the same address":           {begun: openai, now: openai, agent: core.Agent{Model: "openai/gpt"}},
		"the agent's is moved":          {now: openai, agent: core.Agent{Model: "openai/gpt"}, held: true},
		"another one is moved":          {now: openai, agent: core.Agent{Model: "anthropic/claude"}},
		"none is chosen yet":            {now: openai, agent: core.Agent{Model: "anthropic/claude", ModelAuto: true}, held: true},
		"the run's own is moved":        {now: openai, agent: core.Agent{Model: "anthropic/claude"}, override: "openai/gpt", held: true},
		"the run's own is another":      {now: openai, agent: core.Agent{Model: "openai/gpt"}, override: "anthropic/claude"},
		"its client moved any":          {begun: openai, agent: core.Agent{Model: "anthropic/claude"}, held: true},
		"its client moved it elsewhere": {begun: openai, now: other, agent: core.Agent{Model: "openai/gpt"}, held: true},
	} {
		ch := &chooser{e: New(Config{Models: movedModels{at: c.now}}), agent: c.agent, override: c.override, moved: c.begun}
		if err := ch.elsewhere(); errors.Is(err, errElsewhere) != c.held {
			t.Errorf("%s: %v", name, err)
		}
	}
}
