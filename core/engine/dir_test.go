package engine_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loci/core"
	"loci/core/engine"
)

// liner stands for shell: each line ends in the folder that it names.
type liner struct {
	probe
	began []string
}

func (l *liner) Call(ctx context.Context, call core.ToolCall, env core.ToolEnv) (core.ToolResult, error) {
	l.began = append(l.began, env.Workspace.Dir)
	args, err := core.ParseArguments(call.Arguments)
	if err != nil {
		return core.ToolResult{}, err
	}
	line, _ := args["x"].(string)
	_, err = l.probe.Call(ctx, call, env)
	return core.ToolResult{Text: "done", Dir: filepath.Join(env.Workspace.Dir, line[strings.LastIndexByte(line, ' ')+1:])}, err
}

func TestALineThatOnlyReadsRunsWhereTheOneBeforeEndedAndOthersAsk(t *testing.T) {
	t.Parallel()
	tool, dir := &liner{}, t.TempDir()
	lines := []string{"ls a", "ls b", "ls ../..", "", "rm a"}
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n < len(lines) && lines[n] != "" {
			return probing(lines[n])
		}
		return say("done")
	}, func(cfg *engine.Config) {
		cfg.Tools = &box{cfg.Tools, core.BoundTool{Info: core.ToolInfo{
			ID: core.BuiltinToolID("probe"), Effect: core.EffectOutside, Touches: core.TouchRuns, Subject: "x", Spec: tool.Spec(),
		}, Tool: tool}}
	})
	a := h.agent(nil, "probe")
	req := h.request(a, "go")
	req.Client = core.Client{ID: core.NewClientID(), Kind: core.ClientChat, Workspace: dir, Mode: core.ModeAsk}
	// Where the third begins, two folders down, it stays inside; lines of other folders do not count.
	if run, _ := h.submit(req); run.StopReason != core.StopEndTurn {
		t.Fatalf("a line that only reads ended %s", run.StopReason)
	}
	if want := []string{dir, dir + "/a", dir + "/a/b"}; !slices.Equal(tool.began, want) {
		t.Errorf("lines began in %q, want %q", tool.began, want)
	}
	h.restart()
	req.Client.Workspace = t.TempDir()
	if run, _ := h.submit(req); run.StopReason != core.StopRequiresApproval || len(tool.began) != 3 {
		t.Errorf("a line that changes something ended %s", run.StopReason)
	}
}
