package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/engine"
	"loci/core/past"
)

// pic is as good as a picture: nothing behind the edge looks at its pixels.
func pic(data string) core.Picture {
	return core.Picture{
		Image: core.Image{Hash: core.ContentHash([]byte(data)), Type: "image/png", Width: 640, Height: 480, Bytes: len(data)},
		Data:  []byte(data),
	}
}

// camera is a tool that shows a picture.
type camera struct{ probe }

func (c *camera) Call(context.Context, core.ToolCall, core.ToolEnv) (core.ToolResult, error) {
	return core.ToolResult{Text: "shot", Images: []core.Picture{pic("of a tool")}}, nil
}

// shown are the bytes of the pictures of a request, in order.
func shown(req core.ChatRequest) (out []string) {
	for _, m := range req.Messages {
		for _, p := range m.Pictures {
			out = append(out, string(p.Data))
		}
		for _, r := range m.Returns {
			for _, p := range r.Pictures {
				out = append(out, string(p.Data))
			}
		}
	}
	return out
}

// look asks an agent about a picture.
func (h *house) look(a core.Agent, p core.Picture) engine.Request {
	h.t.Helper()
	if err := h.store.Images().Put(h.t.Context(), p); err != nil {
		h.t.Fatal(err)
	}
	req := h.request(a, "")
	req.Input[0].Content = []core.Content{core.Text("Look:"), {Type: core.ContentImage, Image: &p.Image}}
	return req
}

func TestPicturesAreSentKeptAndReproduced(t *testing.T) {
	t.Parallel()
	tool := &camera{}
	h := open(t, func(n int, _ core.ChatRequest) turn {
		if n == 0 {
			return probing("a")
		}
		return say("seen")
	}, func(cfg *engine.Config) {
		info := core.ToolInfo{ID: core.BuiltinToolID("probe"), Effect: core.EffectOutside, Spec: tool.Spec()}
		cfg.Tools = &box{cfg.Tools, core.BoundTool{Info: info, Tool: tool}}
	})
	a := h.agent(nil, "probe")
	run, _ := h.submit(h.look(a, pic("of a person")))
	h.send(a, "and again?")
	sent := h.model.sent()
	want := []string{"of a person", "of a tool"}
	for i, req := range sent {
		if got := shown(req); !slices.Equal(got, want[:min(i+1, 2)]) {
			t.Errorf("request %d shows %q", i, got)
		}
	}
	again, err := h.past().Reproduce(t.Context(), h.firstStep(run).ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sent[0].Messages, again.Messages); diff != "" {
		t.Errorf("reproduced (-sent +again):\n%s", diff)
	}
}

func TestAModelThatTakesNoImagesIsNotSentAMessageWithOne(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("never") })
	h.model.infos = map[core.Handle]core.ModelInfo{"openai/gpt-test": {
		Handle: "openai/gpt-test", Provider: "openai", ContextWindow: 100_000, Tools: true, Images: core.ImagesRefused,
	}}
	h.model.listed = []core.ModelInfo{{Handle: "openai/eyes", Images: core.ImagesTaken}, {Handle: "openai/blind"}}
	a := h.agent(nil)
	_, err := h.engine.Submit(t.Context(), h.look(a, pic("x")))
	if core.KindOf(err) != core.Invalid || !strings.Contains(fmt.Sprint(err, core.HintOf(err)), "openai/eyes") {
		t.Errorf("%v (%s)", err, core.HintOf(err))
	}
	if runs, err := h.store.Runs().List(t.Context(), core.RunFilter{}, core.Page{Limit: 5}); len(runs) > 0 || err != nil {
		t.Errorf("%d runs were stored, %v", len(runs), err)
	}
}

func TestImagesLeaveAtACompactionAndTheSummaryNamesThem(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, req core.ChatRequest) turn {
		return say("A person showed a picture of a lake and asked about its depth.")
	})
	a := h.agent(nil)
	h.submit(h.look(a, pic("of a lake")))
	for range 3 {
		h.send(a, "How deep is it? "+strings.Repeat("Tell me more. ", 40))
	}
	if _, err := h.engine.Compact(t.Context(), core.DefaultConversation(a.ID), nil, map[string]any{"mode": "all"}); err != nil {
		t.Fatal(err)
	}
	h.send(a, "And now?")
	sent := h.model.sent()
	last := sent[len(sent)-1]
	if got := shown(last); len(got) > 0 {
		t.Errorf("it still shows %q", got)
	}
	if !strings.Contains(last.Messages[0].Text, "No longer shown: image 640x480 PNG") {
		t.Errorf("the summary is %q", last.Messages[0].Text)
	}
	summarised := slices.ContainsFunc(sent, func(r core.ChatRequest) bool {
		return strings.Contains(r.Messages[len(r.Messages)-1].Text, "[image 640x480 PNG, 1 KB; it leaves with this message")
	})
	if !summarised {
		t.Error("the summariser was not told of the image")
	}
}

func TestARewindTakesAnImageOutOfTheThreadAndItsUndoBringsItBack(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("seen") })
	a := h.agent(nil)
	shows := func(when string, want ...string) {
		t.Helper()
		h.send(a, "and now?")
		sent := h.model.sent()
		if got := shown(sent[len(sent)-1]); !slices.Equal(got, want) {
			t.Errorf("%s it shows %q, want %q", when, got, want)
		}
	}
	rewind := func(run core.Run) core.Rewind {
		t.Helper()
		done, err := h.past().Rewind(t.Context(), core.DefaultConversation(a.ID), h.firstStep(run).ID, past.RewindOptions{Before: true})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	first, _ := h.submit(h.look(a, pic("one")))
	second, _ := h.submit(h.look(a, pic("two")))
	shows("before", "one", "two")
	rewind(second)
	shows("after one rewind", "one")
	whole := rewind(first)
	sent := h.model.sent()
	again, err := h.past().Reproduce(t.Context(), h.firstStep(second).ID)
	if err != nil || !slices.Equal(shown(again), []string{"one", "two"}) {
		t.Errorf("what was sent is reproduced with %q, %v", shown(again), err)
	}
	if len(shown(sent[0])) != 1 {
		t.Error("the first request showed no image, so that this tests nothing")
	}
	if _, err := h.past().UndoRewind(t.Context(), whole.ID, ""); err != nil {
		t.Fatal(err)
	}
	shows("after its undo", "one")
	rewind(first)
	shows("after the whole was taken back")
}
