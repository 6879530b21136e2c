package tui

import (
	"context"

	"loci/daemon/api"
)

// fakeTrust is what the folder brings in the scripts.
type fakeTrust struct {
	brought api.FolderItems
	decided []api.TrustDecision
}

func (f *fake) Brought(context.Context) (api.FolderItems, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return api.FolderItems{Items: append([]api.FolderItem{}, f.brought.Items...), Whole: true}, nil
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
