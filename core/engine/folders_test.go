package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loci/core"
	"loci/core/engine"
	"loci/core/permission"
)

// opener stands for a tool that reads files, and notes which folders it finds open.
type opener struct {
	probe
	dirs [][]core.WorkspaceDir
}

func (o *opener) Call(_ context.Context, _ core.ToolCall, env core.ToolEnv) (core.ToolResult, error) {
	o.dirs = append(o.dirs, env.Workspace.Dirs)
	return core.ToolResult{Text: "read"}, nil
}

// beside opens a house with a workspace, a folder beside it, and a model that calls for what is in that.
func beside(t *testing.T, touches core.Touch, x ...string) (h *house, a core.Agent, tool *opener, root, dir string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, dir = filepath.Join(base, "work"), filepath.Join(base, "data")
	for _, d := range []string{root, dir} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tool = &opener{}
	h = open(t, func(n int, _ core.ChatRequest) turn {
		if n < len(x) {
			return probing(filepath.Join(dir, x[n]))
		}
		return say("done")
	}, func(cfg *engine.Config) {
		cfg.Permissions = writtenRules(t, permission.List{})
		cfg.Tools = &box{cfg.Tools, core.BoundTool{Tool: tool, Info: core.ToolInfo{
			ID: core.BuiltinToolID("probe"), Effect: core.EffectOutside, Touches: touches, Subject: "x", Spec: tool.Spec(),
		}}}
	})
	return h, h.agent(nil, "probe"), tool, root, dir
}

func TestACallOutsideOfTheFolderIsAllowedThisOnceWithTheFolderThatItNeeds(t *testing.T) {
	t.Parallel()
	h, a, tool, root, dir := beside(t, core.TouchReads, "a", "b")
	req := h.request(a, "go")
	req.Client.Mode, req.Client.Workspace = core.ModeAsk, root
	h.submit(req)
	rows, err := h.store.Messages().Waiting(t.Context(), a.ID)
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	w := rows[0].Message.Approval.Waits[0]
	if !slices.Equal(w.Always, []string{"add_dir(" + dir + ")"}) || !strings.Contains(w.Why, "/add-dir "+dir) {
		t.Errorf("it asks %q, and offers %q", w.Why, w.Always)
	}
	answer := h.request(a, "")
	answer.Input, answer.Answer = nil, &engine.Answer{Decisions: []engine.Decision{approve("call_probe")}}
	answer.Client.Mode = core.ModeAsk
	run, _ := h.submit(answer)
	if len(tool.dirs) != 1 || !slices.Equal(tool.dirs[0], []core.WorkspaceDir{{Path: dir}}) || run.StopReason != core.StopRequiresApproval {
		t.Errorf("it found %+v; the next ended %s", tool.dirs, run.StopReason)
	}
}

func TestInTheModeAllACallOutsideOfTheFolderFailsAtOnce(t *testing.T) {
	t.Parallel()
	h, a, tool, root, dir := beside(t, core.TouchWrites, "a")
	req := h.request(a, "go")
	req.Client.Mode, req.Client.Workspace = core.ModeAll, root
	run, events := h.submit(req)
	refused := errorReturns(events)
	if run.StopReason != core.StopEndTurn || len(tool.dirs) > 0 || len(refused) != 1 ||
		!strings.Contains(refused[0], "/add-dir "+dir+" --write") {
		t.Errorf("it ended %s: %q", run.StopReason, refused)
	}
}

func TestAnAgentIsToldOnceOfFoldersThatAPersonOpensAndCloses(t *testing.T) {
	t.Parallel()
	h, a, tool, root, dir := beside(t, core.TouchReads, "a")
	open := core.SessionRules{Allow: []string{permission.DirRule(dir, true)}}
	var systems []string
	for i, rules := range []core.SessionRules{open, open, {}, {}} {
		req := h.request(a, "go")
		req.Client.Mode, req.Client.Workspace, req.Client.Rules = core.ModeAsk, root, rules
		if run, _ := h.submit(req); run.StopReason != core.StopEndTurn {
			t.Fatalf("run %d ended %s", i, run.StopReason)
		}
	}
	sent := h.model.sent()
	text := ""
	for _, m := range sent[len(sent)-1].Messages {
		text += m.Text + "\n"
	}
	if strings.Count(text, dir+" (to read and to change)") != 1 || strings.Count(text, "No folder is open beside") != 1 {
		t.Errorf("it was told:\n%s", text)
	}
	for _, r := range sent {
		systems = append(systems, r.System)
	}
	if len(slices.Compact(systems)) != 1 {
		t.Error("the prompt changed")
	}
	if len(tool.dirs) != 1 || !slices.Equal(tool.dirs[0], []core.WorkspaceDir{{Path: dir, Writable: true}}) {
		t.Errorf("the tool found %+v", tool.dirs)
	}
}
