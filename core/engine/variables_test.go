package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"loci/core"
	"loci/core/engine"
)

// pocket is what tools find in their environment: one secret, for the tool read.
type pocket struct {
	fault error
	asked []string
}

func (p *pocket) Env(_ context.Context, _ core.AgentID, tool *core.ToolInfo) ([]string, error) {
	p.asked = append(p.asked, tool.Spec.Name)
	return nil, p.fault
}

func (p *pocket) Veil(context.Context, core.AgentID) (*core.Veil, error) {
	return core.NewVeil(map[string]core.Secret{"TOKEN": "hunter2-and-a-half"}), nil
}

// pocketed is an agent in a folder that has secrets.
func pocketed(t *testing.T, p *pocket, answers ...turn) *desk {
	t.Helper()
	d := openDesk(t, answers...)
	d.stop()
	d.cfg.Variables = p
	d.engine = engine.New(d.cfg)
	return d
}

func TestNoReturnHoldsASecretOfTheAgent(t *testing.T) {
	t.Parallel()
	p := &pocket{}
	d := pocketed(t, p, calling("read", map[string]any{"path": "a.txt"}), calling("memory_insert", map[string]any{
		"label": "human", "new_string": "likes tea",
	}))
	d.put(t, "the token is hunter2-and-a-half, keep it\n")
	_, got := d.tell("go")
	if text := got["call_read"]; strings.Contains(text, "hunter2") || !strings.Contains(text, "the token is [secret TOKEN], keep it") {
		t.Errorf("the file was shown as %q", text)
	}
	if len(p.asked) != 1 || p.asked[0] != "read" {
		t.Errorf("variables were looked for for %q; a tool that only touches what is stored needs none", p.asked)
	}
	for _, m := range d.list(d.agent) {
		if text := fmt.Sprintf("%+v", m); strings.Contains(text, "hunter2") {
			t.Errorf("stored: %s", text)
		}
	}
}

func TestACallWhoseSecretsCannotBeOpenedDoesNotRun(t *testing.T) {
	t.Parallel()
	d := pocketed(t, &pocket{fault: errors.New("the keyring is locked")}, calling("read", map[string]any{"path": "a.txt"}))
	run, got := d.tell("go")
	if text := got["call_read"]; run.StopReason != core.StopEndTurn || strings.Contains(text, "one") ||
		!strings.Contains(text, "can't be opened: the keyring is locked") {
		t.Errorf("the run ended %s with %q", run.StopReason, text)
	}
}
