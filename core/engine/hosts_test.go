package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"loci/core"
	"loci/core/engine"
	"loci/core/permission"
)

// traveller is a tool that notes which hosts it might reach.
type traveller struct {
	probe
	said string
}

func (v *traveller) Call(_ context.Context, _ core.ToolCall, env core.ToolEnv) (core.ToolResult, error) {
	if v.said = "none"; env.Workspace.Hosts != nil {
		v.said = fmt.Sprint(env.Workspace.Hosts.Allows("a.example.org", false), env.Workspace.Hosts.Allows("other.org", false))
	}
	return core.ToolResult{Text: "went"}, nil
}

func TestALineGetsTheHostsThatRulesAllow(t *testing.T) {
	t.Parallel()
	allowing := writtenRules(t, permission.List{Allow: []string{"shell", "fetch(*.example.org)"}})
	forbidding := writtenRules(t, permission.List{Allow: []string{"shell", "fetch"}, Deny: []string{"fetch(a.*)"}})
	for name, tt := range map[string]struct {
		touches core.Touch
		rules   *written
		mode    core.PermissionMode
		want    string
	}{
		"allowed":           {core.TouchRuns, allowing, core.ModeAsk, "true false"},
		"without a rule":    {core.TouchRuns, writtenRules(t, permission.List{Allow: []string{"shell"}}), core.ModeAsk, "false false"},
		"in every mode":     {core.TouchRuns, writtenRules(t, permission.List{}), core.ModeAll, "false false"},
		"written by people": {core.TouchNothing, allowing, core.ModeAll, "true false"},
		"no line":           {core.TouchWrites, allowing, core.ModeAll, "none"},
		"rules not known":   {core.TouchRuns, &written{set: allowing.set, err: errors.New("broken")}, core.ModeAll, ""},
		"forbidden as well": {core.TouchRuns, forbidding, core.ModeAsk, "false true"},
	} {
		tool := &traveller{}
		h := open(t, func(n int, _ core.ChatRequest) turn {
			if n == 0 {
				return probing("make")
			}
			return say("done")
		}, func(cfg *engine.Config) {
			cfg.Permissions = tt.rules
			cfg.Tools = &box{cfg.Tools, core.BoundTool{Tool: tool, Info: core.ToolInfo{
				ID: core.BuiltinToolID("probe"), Effect: core.EffectOutside, Touches: tt.touches, Subject: "x", Spec: tool.Spec(),
			}}}
		})
		a := h.agent(nil, "probe")
		req := h.request(a, "go")
		req.Client.Mode, req.Client.Workspace = tt.mode, "/home/ada/project"
		if h.submit(req); tool.said != tt.want {
			t.Errorf("%s: it reaches %q, want %q", name, tool.said, tt.want)
		}
	}
}
