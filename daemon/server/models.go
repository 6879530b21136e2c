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
	infos, err := s.services().Models.List(ctx, callOf(ctx).client.Env, false)
	if err != nil {
		return nil, err
	}
	stored, err := s.services().Providers.List(ctx)
	category := func(m core.ModelInfo) string {
		if slices.ContainsFunc(stored, func(p core.Provider) bool { return p.Name == m.Provider }) {
			return "byok"
		}
		return "base"
	}
	infos = slices.DeleteFunc(infos, func(m core.ModelInfo) bool {
		return in.ProviderName != "" && in.ProviderName != m.Provider ||
			in.ProviderType != "" && in.ProviderType != providerType(m.Provider, m.Protocol) ||
			len(in.ProviderCategory) > 0 && !slices.Contains(in.ProviderCategory, category(m))
	})
	return list(infos, err, func(m core.ModelInfo) api.Model { return wireModel(m, category(m)) })
}

func (s *Server) listEmbeddingModels(ctx context.Context, _ *struct{}) (*body[[]api.EmbeddingModel], error) {
	infos, err := s.services().Models.Embeddings(ctx, callOf(ctx).client.Env)
	return list(infos, err, wireEmbeddingModel)
}

// wireEmbeddingModel converts an embedding model.
func wireEmbeddingModel(m core.EmbeddingInfo) api.EmbeddingModel {
	handle := string(m.Handle)
	out := api.EmbeddingModel{
		Name:         m.Name,
		Handle:       &handle,
		DisplayName:  m.Name,
		ProviderType: providerType(m.Provider, m.Protocol),
		ProviderName: m.Provider,
		ModelType:    "embedding",
		EmbeddingEndpointType: listedType(
			api.EmbeddingTypes(),
			m.Provider,
			m.Protocol,
		),
		EmbeddingModel:    m.Name,
		EmbeddingDim:      m.Dim,
		BatchSize:         m.Batch,
		EmbeddingEndpoint: api.PtrTo(m.Endpoint),
	}
	if m.BuiltIn() {
		out.DisplayName, out.EmbeddingEndpoint = "built-in word vectors (no language model)", nil
	}
	return out
}

// wireModel converts a model.
func wireModel(m core.ModelInfo, category string) api.Model {
	handle, no := string(m.Handle), false
	return api.Model{
		Name:         m.Name,
		Handle:       &handle,
		DisplayName:  api.PtrTo(m.Name),
		ProviderType: providerType(m.Provider, m.Protocol),
		ProviderName: &m.Provider,
		ModelType:    "llm",
		Model:        m.Name,
		ModelEndpointType: endpointType(
			m,
		),
		ModelEndpoint:            api.PtrTo(m.Endpoint),
		ProviderCategory:         &category,
		ContextWindow:            core.ShownWindow(&core.Agent{}, m.ContextWindow),
		MaxContextWindow:         m.ContextWindow,
		PutInnerThoughtsInKwargs: &no,
		MaxTokens:                api.PtrTo(m.MaxOutput),
		EnableReasoner:           m.Reasoning,
		Temperature:              1,
		ParallelToolCalls:        &m.Tools,
	}
}
