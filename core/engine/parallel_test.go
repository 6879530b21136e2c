package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"loci/core"
	"loci/core/coretest"
	"loci/core/engine"
)

// crane is a tool with an effect outside of which several may run at once.
type crane struct{ release chan struct{} }

func (c *crane) Spec() core.ToolSpec {
	return core.ToolSpec{Name: "crane", Description: "Lifts.", Parameters: []byte(`{"type":"object","properties":{}}`)}
}

func (c *crane) ParallelSafe() bool { return true }

func (c *crane) Call(ctx context.Context, call core.ToolCall, _ core.ToolEnv) (core.ToolResult, error) {
	select {
	case <-c.release:
		return core.ToolResult{Text: "lifted by " + call.ID}, nil
	case <-ctx.Done():
		return core.ToolResult{}, ctx.Err()
	}
}

// inCalls returns how many goroutines were started for calls, and whether one waits to start another.
func inCalls() (started int, waits bool) {
	dump := make([]byte, 8<<20)
	for one := range strings.SplitSeq(string(dump[:runtime.Stack(dump, true)]), "\n\n") {
		state, frames, _ := strings.Cut(one, "\n")
		if strings.Contains(frames, "callAll.func1") {
			started++
		}
		waits = waits || strings.Contains(state, "[chan send") && strings.Contains(frames, "errgroup.(*Group).Go(")
	}
	return started, waits
}

// TestEightCallsOfAnAnswerRunAtOnce and no more. Their returns come in the order of the calls.
func TestEightCallsOfAnAnswerRunAtOnce(t *testing.T) {
	t.Parallel()
	const calls, atOnce = 20, 8
	var answer turn
	for i := range calls {
		answer.deltas = append(answer.deltas, core.Delta{
			Call: &core.CallDelta{Index: i, ID: fmt.Sprint("call_", i), Name: "crane", Arguments: "{}"},
		})
	}
	tool := &crane{release: make(chan struct{})}
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return answer
		}
		return say("done")
	}, func(c *engine.Config) {
		c.Tools = &box{
			c.Tools,
			core.BoundTool{Info: core.ToolInfo{ID: core.BuiltinToolID("crane"), Effect: core.EffectOutside, Spec: tool.Spec()}, Tool: tool},
		}
	})
	run, err := h.engine.Submit(t.Context(), h.request(h.agent(nil, "crane"), "lift"))
	if err != nil {
		t.Fatal(err)
	}
	coretest.Until(t, "eight run and a ninth waits", func() bool { started, waits := inCalls(); return waits && started >= atOnce })
	if started, _ := inCalls(); started != atOnce {
		t.Errorf("%d run at once", started)
	}
	close(tool.release)
	_, events := h.follow(run.ID)
	for _, ev := range events {
		if r, ok := ev.Body.(core.ToolReturned); ok {
			for i, ret := range r.Returns {
				if want := fmt.Sprint("lifted by call_", i); ret.Text != want {
					t.Errorf("return %d is %q", i, ret.Text)
				}
			}
		}
	}
}
