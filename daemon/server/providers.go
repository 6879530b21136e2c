package server

import (
	"context"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/credential"
	"loci/daemon/api"
)

// registerProviders registers the contract's operations on stored providers, and ours, which are for the socket only.
func (s *Server) registerProviders(a huma.API) {
	handle(a, "GET", "/v1/providers", s.listProviders)
	handle(a, "POST", "/v1/providers", s.createProvider)
	handle(a, "POST", "/v1/providers/check", s.tryProvider)
	handle(a, "GET", "/v1/providers/{provider_id}", s.getProvider)
	handle(a, "PATCH", "/v1/providers/{provider_id}", s.updateProvider)
	handle(a, "DELETE", "/v1/providers/{provider_id}", s.deleteProvider)
	handle(a, "POST", "/v1/providers/{provider_id}/check", s.checkStored)
	handle(a, "PATCH", "/v1/providers/{provider_id}/refresh", s.refreshProvider)
	handle(a, "GET", api.PathProviders, s.reachableProviders)
	handle(a, "PUT", api.PathProviders, s.addProvider)
	handle(a, "DELETE", api.PathProviders, s.removeProvider)
	handle(a, "POST", api.PathProvidersCheck, s.checkProvider)
}

type providerPath struct {
	ID string `path:"provider_id"`
}

func wireProvider(p core.Provider) api.Provider {
	kind := p.Type
	if kind == "" {
		kind = providerType(p.Name, p.Protocol)
	}
	return api.Provider{
		ID: api.PtrTo(string(p.ID)), Name: p.Name, ProviderType: kind, ProviderCategory: "byok", BaseURL: api.PtrTo(p.BaseURL),
		UpdatedAt: api.AtPtr(p.UpdatedAt), LastSynced: api.AtPtr(p.UpdatedAt),
	}
}

func (s *Server) listProviders(ctx context.Context, in *api.ListProviders) (*body[[]api.Provider], error) {
	all, err := s.services().Providers.List(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(p core.Provider) bool {
		return in.Name != "" && in.Name != p.Name || in.ProviderType != "" && in.ProviderType != wireProvider(p).ProviderType
	})
	slices.SortStableFunc(all, func(a, b core.Provider) int { return b.CreatedAt.Compare(a.CreatedAt) })
	if in.Order == "asc" {
		slices.Reverse(all)
	}
	from, to := 0, len(all)
	for _, cursor := range []string{in.After, in.Before} {
		i := slices.IndexFunc(all, func(p core.Provider) bool { return string(p.ID) == cursor })
		switch {
		case cursor == "":
		case i < 0:
			return nil, core.E(core.NotFound, "there is no provider %s to list from", cursor)
		case cursor == in.After:
			from = i + 1
		default:
			to = i
		}
	}
	all = all[min(from, to):to]
	if in.Limit > 0 {
		all = all[:min(len(all), in.Limit)]
	}
	return list(all, nil, wireProvider)
}

// spokenBy returns the wire and the address of the contract's kind of provider.
func spokenBy(kind string) (protocol, base string, err error) {
	switch kind {
	case "anthropic", "minimax":
		protocol = "anthropic"
	case "ollama":
		protocol = "ollama"
	case "openai", "openrouter", "deepseek", "groq", "together", "xai", "mistral", "cerebras", "fireworks", "zai", "hugging-face",
		"vllm", "sglang", "lmstudio_openai":
		protocol = "openai"
	default:
		return "", "", core.E(core.Invalid, "providers of type %q are not supported", kind).
			WithHint("any server that speaks OpenAI's API can be stored as openai, with its base_url")
	}
	known := map[string]string{
		"anthropic": "https://api.anthropic.com/v1", "minimax": "https://api.minimax.io/anthropic/v1", "ollama": "http://127.0.0.1:11434",
		"openai": "https://api.openai.com/v1", "openrouter": "https://openrouter.ai/api/v1", "deepseek": "https://api.deepseek.com/v1",
		"groq": "https://api.groq.com/openai/v1", "together": "https://api.together.xyz/v1", "xai": "https://api.x.ai/v1",
		"mistral": "https://api.mistral.ai/v1", "cerebras": "https://api.cerebras.ai/v1",
		"fireworks": "https://api.fireworks.ai/inference/v1",
		"zai":       "https://api.z.ai/api/paas/v4", "hugging-face": "https://router.huggingface.co/v1",
	}
	return protocol, known[kind], nil
}

type createProviderInput struct{ Body api.CreateProvider }

func (s *Server) createProvider(ctx context.Context, in *createProviderInput) (*body[api.Provider], error) {
	protocol, base, err := spokenBy(in.Body.ProviderType)
	if err != nil {
		return nil, err
	}
	if given := api.Val(in.Body.BaseURL); given != "" {
		base = given
	}
	if _, err := s.services().Providers.Named(ctx, in.Body.Name); err == nil {
		return nil, core.E(core.Invalid, "there is a provider named %q already", in.Body.Name)
	}
	p, err := s.services().Providers.Add(ctx, credential.Addition{
		Name: in.Body.Name, Type: in.Body.ProviderType, Protocol: protocol, BaseURL: base, Key: core.Secret(in.Body.APIKey),
	})
	return answer(wireProvider(p), err)
}

func (s *Server) getProvider(ctx context.Context, in *providerPath) (*body[api.Provider], error) {
	p, err := s.services().Providers.Get(ctx, core.ProviderID(in.ID))
	return answer(wireProvider(p), err)
}

type updateProviderInput struct {
	ID   string `path:"provider_id"`
	Body api.UpdateProvider
}

func (s *Server) updateProvider(ctx context.Context, in *updateProviderInput) (*body[api.Provider], error) {
	p, err := s.services().Providers.Get(ctx, core.ProviderID(in.ID))
	if err != nil {
		return nil, err
	}
	base := p.BaseURL
	if given := api.Val(in.Body.BaseURL); given != "" {
		base = given
	}
	p, err = s.services().Providers.Add(ctx, credential.Addition{
		Name: p.Name, Type: p.Type, Protocol: p.Protocol, BaseURL: base, Key: core.Secret(in.Body.APIKey),
	})
	return answer(wireProvider(p), err)
}

func (s *Server) deleteProvider(ctx context.Context, in *providerPath) (*body[any], error) {
	return answer[any](nil, s.services().Providers.Remove(ctx, core.ProviderID(in.ID)))
}

// checkStored answers as the contract does: well, or with the first fault.
func (s *Server) checkStored(ctx context.Context, in *providerPath) (*body[any], error) {
	p, err := s.services().Providers.Get(ctx, core.ProviderID(in.ID))
	if err != nil {
		return nil, err
	}
	return firstFault(s.services().Providers.Check(ctx, p.Name, "", callOf(ctx).client.Env))
}

func firstFault(found []core.Finding, err error) (*body[any], error) {
	for _, f := range found {
		if f.Good {
			continue
		}
		kind := core.Invalid
		if f.Name == "key" {
			kind = core.Unauthenticated
		}
		return nil, core.E(kind, "%s", f.Detail).WithHint("%s", f.Hint)
	}
	return answer[any](nil, err)
}

type tryProviderInput struct{ Body api.TryProvider }

func (s *Server) tryProvider(ctx context.Context, in *tryProviderInput) (*body[any], error) {
	protocol, base, err := spokenBy(in.Body.ProviderType)
	if err != nil {
		return nil, err
	}
	if given := api.Val(in.Body.BaseURL); given != "" {
		base = given
	}
	return firstFault(s.services().Providers.Try(ctx, credential.Addition{
		Name: "unstored", Protocol: protocol, BaseURL: base, Key: core.Secret(in.Body.APIKey),
	}))
}

// refreshProvider needs to do nothing: models are listed when they are asked for.
func (s *Server) refreshProvider(ctx context.Context, in *providerPath) (*body[api.Provider], error) {
	return s.getProvider(ctx, in)
}

func (s *Server) reachableProviders(ctx context.Context, _ *struct{}) (*body[[]api.ReachableProvider], error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	stored, err := s.services().Providers.List(ctx)
	if err != nil {
		return nil, err
	}
	return list(s.services().Providers.Reachable(callOf(ctx).client.Env), nil, func(p core.ReachableProvider) api.ReachableProvider {
		return api.ReachableProvider{
			Name: p.Name, Title: p.Title, Protocol: p.Protocol, BaseURL: p.BaseURL, Key: p.Key, Own: p.Own,
			Stored: slices.ContainsFunc(stored, func(s core.Provider) bool { return s.Name == p.Name }),
		}
	})
}

type addProviderInput struct{ Body api.AddProvider }

func (s *Server) addProvider(ctx context.Context, in *addProviderInput) (*body[api.Provider], error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	p, err := s.services().Providers.Add(ctx, credential.Addition{
		Name: in.Body.Name, Protocol: in.Body.Protocol, BaseURL: in.Body.BaseURL, Key: core.Secret(in.Body.Key),
	})
	return answer(wireProvider(p), err)
}

func (s *Server) removeProvider(ctx context.Context, in *api.RemoveProvider) (*body[any], error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	p, err := s.services().Providers.Named(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return answer[any](nil, s.services().Providers.Remove(ctx, p.ID))
}

type checkProviderInput struct{ Body api.CheckProvider }

func (s *Server) checkProvider(ctx context.Context, in *checkProviderInput) (*body[[]api.Check], error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	found, err := s.services().Providers.Check(ctx, in.Body.Name, in.Body.Model, callOf(ctx).client.Env)
	return list(found, err, func(f core.Finding) api.Check {
		if f.Good {
			return api.Good(f.Name, f.Detail)
		}
		return api.Broken(f.Name, f.Detail, f.Hint)
	})
}
