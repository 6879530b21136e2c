package tui

import (
	"context"
	"slices"
	"sync"

	"loci/daemon/api"
	"loci/daemon/client"
)

// fakeProviders are the providers of a fake daemon.
type fakeProviders struct {
	mu     sync.Mutex
	added  []api.AddProvider
	stored []api.ReachableProvider
}

func (f *fakeProviders) Providers(context.Context) ([]api.ReachableProvider, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	own := api.ReachableProvider{
		Name: "openai", Title: "OpenAI", Protocol: "openai", BaseURL: "https://api.openai.com/v1", Key: "OPENAI_API_KEY",
	}
	return append([]api.ReachableProvider{own}, f.stored...), nil
}

func (f *fakeProviders) AddProvider(_ context.Context, in api.AddProvider) (api.Provider, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if in.Key == "sk-wrong" {
		return api.Provider{}, &client.Error{Kind: api.KindInvalid, Message: "that is no key"}
	}
	f.added = append(f.added, in)
	f.stored = append(f.stored, api.ReachableProvider{
		Name: in.Name, Protocol: in.Protocol, BaseURL: in.BaseURL, Key: "stored", Own: in.BaseURL != "", Stored: true,
	})
	return api.Provider{Name: in.Name}, nil
}

func (f *fakeProviders) RemoveProvider(_ context.Context, in api.RemoveProvider) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stored = slices.DeleteFunc(f.stored, func(p api.ReachableProvider) bool { return p.Name == in.Name })
	return nil
}

func (f *fakeProviders) CheckProvider(context.Context, api.CheckProvider) ([]api.Check, error) {
	return []api.Check{
		{Name: "connection", OK: true, Detail: "it answers"},
		{Name: "key", Detail: "it refuses the key \x1b[31m", Fix: "store it again"},
	}, nil
}

// providers are what was stored.
func (f *fakeProviders) providers() []api.AddProvider {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.added)
}
