package tui

import (
	"context"

	"loci/daemon/api"
)

// fakeTrust is what the folder brings in the scripts.
type fakeTrust struct {
	brought api.FolderItems
	decided []api.TrustDecision
	written []api.Command
}

func (f *fake) Brought(context.Context) (api.FolderItems, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return api.FolderItems{Items: append([]api.FolderItem{}, f.brought.Items...), Whole: true}, nil
}

func (f *fake) ItemText(_ context.Context, path string) (api.FolderText, error) {
	return api.FolderText{FolderItem: api.FolderItem{Path: path}, Text: "Use tabs."}, nil
}

func (f *fake) Written(context.Context) ([]api.Command, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.written, nil
}

func (f *fake) Decide(_ context.Context, d api.TrustDecision) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decided = append(f.decided, d)
	for i := range f.brought.Items {
		if it := &f.brought.Items[i]; it.Path == d.Path && d.Trusted {
			it.State = api.TrustGiven
		}
	}
	return nil
}
