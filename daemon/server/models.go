package server

import (
	"context"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/daemon/api"
)

func (s *Server) registerModels(a huma.API) {
	handle(a, "GET", "/v1/models", s.listModels)
	handle(a, "GET", "/v1/models/embedding", s.listEmbeddingModels)
}

func (s *Server) listModels(ctx context.Context, in *api.ListModels) (*body[[]api.Model], error) {
	infos, err := s.services().Models.List(ctx, callOf(ctx).client.Env)
	infos = slices.DeleteFunc(infos, func(m core.ModelInfo) bool {
		return in.ProviderName != "" && in.ProviderName != m.Provider || in.ProviderType != "" && in.ProviderType != m.Protocol ||
			len(in.ProviderCategory) > 0 && !slices.Contains(in.ProviderCategory, "base")
	})
	return list(infos, err, wireModel)
}

// listEmbeddingModels lists the built-in one. Providers have others, which an archive gets on request by their handle.
func (s *Server) listEmbeddingModels(context.Context, *struct{}) (*body[[]api.EmbeddingModel], error) {
	handle := string(core.WordsHandle)
	provider, name, _ := core.WordsHandle.Split()
	return answer([]api.EmbeddingModel{{
		Name: name, Handle: &handle, DisplayName: "built-in word vectors (no language model)", ProviderType: provider, ProviderName: provider, ModelType: "embedding",
		EmbeddingEndpointType: provider, EmbeddingModel: name, EmbeddingDim: core.WordsDim, BatchSize: 256,
	}}, nil)
}

// wireModel converts a model.
func wireModel(m core.ModelInfo) api.Model {
	handle, base, no := string(m.Handle), "base", false
	return api.Model{
		Name: m.Name, Handle: &handle, DisplayName: api.PtrTo(m.Name), ProviderType: m.Protocol, ProviderName: &m.Provider, ModelType: "llm", Model: m.Name,
		ModelEndpointType: m.Protocol, ModelEndpoint: api.PtrTo(m.Endpoint), ProviderCategory: &base, ContextWindow: min(m.ContextWindow, maxWindow),
		MaxContextWindow: m.ContextWindow, PutInnerThoughtsInKwargs: &no, MaxTokens: api.PtrTo(m.MaxOutput), EnableReasoner: m.Reasoning, Temperature: 1,
		ParallelToolCalls: &m.Tools,
	}
}
