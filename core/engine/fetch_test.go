package engine_test

import (
	"context"
	"fmt"
	"testing"

	"loci/core"
	"loci/core/engine"
	"loci/core/permission"
)

// What a person was asked about, literally, they have named.
func TestAPersonsYesToAnAddressNamesIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode   core.PermissionMode
		allow  []string
		answer core.PermissionMode // empty: nobody is asked
		want   string              // the address in general and by name, then another host
	}{
		"a yes":           {core.ModeAsk, nil, core.ModeAsk, "true true false"},
		"a yes by an SDK": {core.ModeAsk, nil, core.ModeStandard, "true true false"},
		"no questions":    {core.ModeAll, nil, "", "true false true"},
		"a rule":          {core.ModeAsk, []string{"fetch(10.0.0.7)"}, "", "true true false"},
		"a wide rule":     {core.ModeAsk, []string{"fetch"}, "", "true false true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := &caller{}
			h := open(t, func(n int, _ core.ChatRequest) turn {
				if n == 0 {
					return probing("http://10.0.0.7/a")
				}
				return say("done")
			}, func(cfg *engine.Config) {
				cfg.Permissions = writtenRules(t, permission.List{Allow: tt.allow})
				cfg.Tools = &box{cfg.Tools, core.BoundTool{Tool: tool, Info: core.ToolInfo{
					ID: core.BuiltinToolID("probe"), Spec: tool.Spec(),
					Effect: core.EffectOutside, Touches: core.TouchNetwork, Subject: "x",
				}}}
			})
			a := h.agent(nil, "probe")
			req := h.request(a, "go")
			req.Client.Mode, req.Client.Workspace = tt.mode, "/home/ada/project"
			run, _ := h.submit(req)
			if asked := run.StopReason == core.StopRequiresApproval; asked != (tt.answer != "") {
				t.Fatalf("the run ended %s", run.StopReason)
			}
			if tt.answer != "" {
				answer := h.request(a, "")
				answer.Input, answer.Answer = nil, &engine.Answer{Decisions: []engine.Decision{approve("call_probe")}}
				answer.Client.Mode = tt.answer
				h.submit(answer)
			}
			if tool.said != tt.want {
				t.Errorf("it reaches %q, want %q", tool.said, tt.want)
			}
		})
	}
}

// caller is a tool that notes which hosts it might reach.
type caller struct {
	traveller
}

func (c *caller) Call(_ context.Context, _ core.ToolCall, env core.ToolEnv) (core.ToolResult, error) {
	hosts := env.Workspace.Hosts
	c.said = fmt.Sprint(hosts.Allows("10.0.0.7", false), hosts.Allows("10.0.0.7", true), hosts.Allows("other.org", false))
	return core.ToolResult{Text: "went"}, nil
}
