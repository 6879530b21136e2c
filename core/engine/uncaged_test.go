package engine_test

import (
	"context"
	"strings"
	"testing"

	"loci/core"
	"loci/core/engine"
	"loci/core/permission"
)

// runner stands for a tool that runs lines, and notes which ran outside of the sandbox.
type runner struct {
	probe
	uncaged []bool
}

func (r *runner) Call(_ context.Context, _ core.ToolCall, env core.ToolEnv) (core.ToolResult, error) {
	r.uncaged = append(r.uncaged, env.Workspace.Uncaged)
	layers := []string{"namespaces", "seccomp"}
	if env.Workspace.Uncaged {
		layers = []string{core.LayersUncaged}
	}
	return core.ToolResult{Text: "ran", Layers: layers}, nil
}

// running opens a house with a tool that runs lines, and a model that calls it once.
func running(t *testing.T, rules *written, line string) (*house, core.Agent, *runner) {
	t.Helper()
	tool := &runner{}
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return probing(line)
		}
		return say("done")
	}, func(cfg *engine.Config) {
		cfg.Permissions = rules
		cfg.Tools = &box{cfg.Tools, core.BoundTool{Tool: tool, Info: core.ToolInfo{
			ID: core.BuiltinToolID("probe"), Effect: core.EffectOutside, Touches: core.TouchRuns, Subject: "x", Spec: tool.Spec(),
		}}}
	})
	return h, h.agent(nil, "probe"), tool
}

// record is what stands with the one call of an agent.
func record(h *house, a core.Agent) (passed, layers string) {
	for _, m := range h.list(a) {
		for _, r := range m.Returns {
			passed, layers = r.Passed, strings.Join(r.Layers, ", ")
		}
	}
	return passed, layers
}

func TestALineRunsUncagedWhereAPersonOrARuleSaysSoAndItsRecordSaysSo(t *testing.T) {
	t.Parallel()
	t.Run("a person", func(t *testing.T) {
		t.Parallel()
		h, a, tool := running(t, writtenRules(t, permission.List{}), "git push")
		request, w := askedOnce(t, h, a)
		if !w.Uncaged {
			t.Fatalf("it is not offered: %+v", w)
		}
		d := allowing(request, w)
		d.Uncaged = true
		for name, wrong := range map[string]func(*engine.Decision){
			"no request": func(d *engine.Decision) { d.Request = "" },
			"no hash":    func(d *engine.Decision) { d.Hash = "" },
			"a denial":   func(d *engine.Decision) { d.Approve = false },
		} {
			bad := d
			wrong(&bad)
			if _, err := h.engine.Submit(t.Context(), h.answering(a, bad)); core.KindOf(err) != core.Invalid {
				t.Errorf("%s: %v", name, err)
			}
		}
		h.submit(h.answering(a, d))
		passed, layers := record(h, a)
		if passed != "a person, uncaged" || layers != core.LayersUncaged || len(tool.uncaged) != 1 || !tool.uncaged[0] {
			t.Errorf("%q let it pass, %q held it, it ran %v", passed, layers, tool.uncaged)
		}
	})
	t.Run("a person who only allows it", func(t *testing.T) {
		t.Parallel()
		h, a, tool := running(t, writtenRules(t, permission.List{}), "git push")
		request, w := askedOnce(t, h, a)
		h.submit(h.answering(a, allowing(request, w)))
		passed, layers := record(h, a)
		if passed != "a person" || layers != "namespaces, seccomp" || len(tool.uncaged) != 1 || tool.uncaged[0] {
			t.Errorf("%q let it pass, %q held it, it ran %v", passed, layers, tool.uncaged)
		}
	})
	for name, tt := range map[string]struct {
		mode    core.PermissionMode
		list    permission.List
		passed  string
		uncaged bool
	}{
		"a rule":             {core.ModeAsk, permission.List{Allow: []string{"uncaged(git push)"}}, "uncaged(git push)", true},
		"in the mode all":    {core.ModeAll, permission.List{Allow: []string{"uncaged(git push)"}}, ", uncaged", true},
		"a rule of the cage": {core.ModeAsk, permission.List{Allow: []string{"shell(git push *)"}}, "shell(git push *)", false},
		"a rule against it": {
			core.ModeAll, permission.List{Allow: []string{"uncaged(git push)"}, Deny: []string{"uncaged"}}, "uncaged(git push)", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, a, tool := running(t, writtenRules(t, tt.list), "git push")
			req := h.request(a, "go")
			req.Client.Mode, req.Client.Workspace = tt.mode, "/home/ada/project"
			h.submit(req)
			passed, _ := record(h, a)
			if len(tool.uncaged) != 1 || tool.uncaged[0] != tt.uncaged || !strings.Contains(passed, tt.passed) ||
				strings.HasSuffix(passed, ", uncaged") != tt.uncaged {
				t.Errorf("%q let it pass, it ran %v", passed, tool.uncaged)
			}
		})
	}
}

func TestAPlanLetsNoLineOut(t *testing.T) {
	t.Parallel()
	h, a, tool := running(t, writtenRules(t, permission.List{Allow: []string{"uncaged(cat a)"}}), "cat a")
	req := h.request(a, "go")
	req.Client.Mode, req.Client.Workspace = core.ModePlan, "/home/ada/project"
	h.submit(req)
	if len(tool.uncaged) != 1 || tool.uncaged[0] {
		t.Errorf("it ran %v", tool.uncaged)
	}
}
