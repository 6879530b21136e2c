package tui

import (
	"context"
	"strings"
	"testing"

	"loci/daemon/api"
)

// AllTools implements toolBackend.
func (f *fake) AllTools(context.Context, string) ([]tool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	made := func(name, kind, says string, has bool) tool {
		return tool{api.Tool{ID: name, Name: &name, ToolType: kind, Description: &says}, has}
	}
	return []tool{
		made("memory_insert", api.ToolLettaMemoryCore, "Insert text.", true),
		made("roll_dice", api.ToolCustom, "Roll \x1b[31ma die.", f.shared == "attach roll_dice"),
	}, nil
}

// AttachTool implements toolBackend.
func (f *fake) AttachTool(_ context.Context, _, id string) error { return f.share("attach " + id) }

// DetachTool implements toolBackend.
func (f *fake) DetachTool(_ context.Context, _, id string) error { return f.share("detach " + id) }

func (f *fake) share(what string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shared = what
	return nil
}

func TestAToolIsGivenToTheAgentAndTakenAwayInTheChat(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	for _, said := range []string{"the agent has it from the next message on: roll_dice", "the agent no longer has it: roll_dice"} {
		r.say("/tools")
		r.until("the list", func() bool { return strings.Contains(r.view(), "Roll a die.") })
		r.typ("roll")
		r.enter()
		r.until(said, func() bool { return strings.Contains(r.said(), said) })
	}
	if strings.Contains(r.said(), "memory_insert") {
		t.Error("another tool was given")
	}
}
