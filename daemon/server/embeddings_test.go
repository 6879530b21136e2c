package server

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/service"
	"loci/daemon/api"
	"loci/storage/storagetest"
	"loci/tools"
)

// listed are embeddings of which one provider lists two, another keeps its list to itself, and a third has no key.
type listed struct{ blank }

func (listed) Embeddings(context.Context, core.Env, string) []core.EmbeddingInfo {
	return []core.EmbeddingInfo{
		{Handle: core.WordsHandle, Name: "words", Provider: "builtin", Protocol: "builtin", Dim: 96, Batch: 256},
		{Handle: "test/small", Name: "small", Provider: "test", Protocol: "openai", Endpoint: "http://127.0.0.1:1/v1", Batch: 64},
		{Handle: "test/large", Name: "large", Provider: "test", Protocol: "openai", Endpoint: "http://127.0.0.1:1/v1", Batch: 64},
	}
}

func (l listed) Embedder(_ context.Context, h core.Handle, _ core.Env) (core.Embedder, core.EmbeddingInfo, error) {
	provider, name, _ := h.Split()
	info := core.EmbeddingInfo{Handle: h, Name: name, Provider: provider, Protocol: "openai", Endpoint: "http://127.0.0.1:1/v1"}
	switch provider {
	case "test", "silent":
		return l, info, nil
	case "keyless":
		return nil, info, core.E(core.Unauthenticated, "%w for Keyless", core.ErrNoKey)
	}
	return nil, info, core.E(core.NotFound, "no provider %q embeds texts", provider)
}

func newEmbeddingFixture(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, always("ok"))
	services := service.New(service.Config{
		Store:     f.store,
		Search:    storagetest.Search(f.store),
		Engine:    f.srv.cfg.Parts.Engine,
		Models:    f.model,
		Tools:     tools.New(),
		Accepted:  f.reads.Nudge,
		Embedders: listed{},
	})
	t.Cleanup(services.Close)
	f.srv = New(Config{Parts: Parts{Services: services, Engine: f.srv.cfg.Parts.Engine}, Version: "1.2.3"})
	return f
}

func TestTheEmbeddingsThatCanBeUsedAreListed(t *testing.T) {
	t.Parallel()
	f := newEmbeddingFixture(t)
	var got [][3]string
	for _, m := range as[[]api.EmbeddingModel](f.call("GET", "/v1/models/embedding", nil)) {
		got = append(got, [3]string{api.Val(m.Handle), m.ProviderName, api.Val(m.EmbeddingEndpoint)})
	}
	want := [][3]string{
		{"builtin/words", "builtin", ""}, {"test/small", "test", "http://127.0.0.1:1/v1"}, {"test/large", "test", "http://127.0.0.1:1/v1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnUnknownEmbeddingIsNotFoundWhereverItIsNamed(t *testing.T) {
	t.Parallel()
	f := newEmbeddingFixture(t)
	agent := f.agent(map[string]any{"name": "Ada"})
	folder := as[api.Folder](f.call("POST", "/v1/folders/", map[string]any{"name": "Library"}))
	source := as[api.Source](f.call("POST", "/v1/sources/", map[string]any{"name": "Other"}))
	for i, name := range []string{
		"test/nope", "nobody/small", "letta/letta-free", "test/small", "silent/any", "keyless/any", string(core.WordsHandle),
	} {
		unknown := slices.Contains([]string{"test/nope", "nobody/small", "letta/letta-free"}, name)
		status := http.StatusOK
		if unknown {
			status = http.StatusNotFound
		}
		config := map[string]any{"handle": name, "embedding_endpoint_type": "openai", "embedding_model": "x", "embedding_dim": 8}
		tag := string(rune('a' + i))
		for _, call := range []struct {
			method, path string
			body         map[string]any
		}{
			{"POST", "/v1/agents/", map[string]any{"name": "Agent" + tag, "model": "test/model", "embedding": name}},
			{"PATCH", "/v1/agents/" + agent.ID, map[string]any{"embedding": name}},
			{"POST", "/v1/archives/", map[string]any{"name": "Archive" + tag, "embedding": name}},
			{"POST", "/v1/folders/", map[string]any{"name": "Folder" + tag, "embedding": name}},
			{"POST", "/v1/sources/", map[string]any{"name": "Source" + tag, "embedding": name}},
			{"PATCH", "/v1/folders/" + folder.ID, map[string]any{"embedding_config": config}},
			{"PATCH", "/v1/sources/" + source.ID, map[string]any{"embedding_config": config}},
		} {
			if got := f.call(call.method, call.path, call.body); got.status != status && (unknown || got.status != http.StatusCreated) {
				t.Errorf("%s %s with %s: %d, want %d: %s", call.method, call.path, name, got.status, status, got.body)
			}
		}
	}
}
