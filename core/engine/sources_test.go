package engine_test

import (
	"context"
	"testing"

	"loci/core"
	"loci/core/engine"
)

// stranger is a tool whose returns come from outside.
type stranger struct{ probe }

func (*stranger) Call(_ context.Context, call core.ToolCall, _ core.ToolEnv) (core.ToolResult, error) {
	return core.ToolResult{Text: "read", Source: "https://example.com/" + call.ID}, nil
}

func TestWhatIsWrittenAfterAForeignReturnOfItsRunCarriesItsSource(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, _ core.ChatRequest) turn {
		switch n {
		case 0:
			return calling("core_memory_append", map[string]any{"label": "human", "content": "before"})
		case 1:
			return probing("x")
		case 2:
			return calling("core_memory_append", map[string]any{"label": "human", "content": "after"})
		case 3:
			return calling("archival_memory_insert", map[string]any{"content": "a passage"})
		case 5:
			return calling("core_memory_append", map[string]any{"label": "human", "content": "another run"})
		}
		return say("done")
	}, func(cfg *engine.Config) {
		tool := &stranger{}
		cfg.Tools = &box{cfg.Tools, core.BoundTool{Tool: tool, Info: core.ToolInfo{
			ID: core.BuiltinToolID("probe"), Effect: core.EffectOutside, Spec: tool.Spec(),
		}}}
	})
	a := h.agent(nil, "probe", "core_memory_append", "archival_memory_insert")
	h.submit(h.request(a, "go"))
	h.submit(h.request(a, "again"))
	blocks, err := h.store.Blocks().OfAgent(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range blocks {
		if b.Label != "human" {
			continue
		}
		versions, err := h.store.Blocks().Versions(t.Context(), b.ID, core.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range versions {
			if v.Author.Kind == core.AuthorAgent {
				got = append(got, v.Author.Source)
			}
		}
	}
	const source = "https://example.com/call_probe"
	if len(got) != 3 || got[0] != "" || got[1] != source || got[2] != "" {
		t.Errorf("the versions of the block, the newest first, came after %q", got)
	}
	archive, ok, err := h.store.Archives().OfAgent(t.Context(), a.ID)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	passages, err := h.store.Passages().List(t.Context(), core.PassageFilter{Archives: []core.ArchiveID{archive.ID}}, core.Page{})
	if err != nil || len(passages) != 1 {
		t.Fatalf("%d passages, %v", len(passages), err)
	}
	first, err := h.store.Passages().Version(t.Context(), passages[0].ID, 1)
	if err != nil || first.Author.Source != source {
		t.Errorf("the passage came after %q, %v", first.Author.Source, err)
	}
}
