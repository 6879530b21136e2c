package embedding

import (
	"context"
	"strings"

	"loci/core"
)

// Check refuses an embedding that nobody can make: its provider doesn't exist or doesn't embed, or lists other
// models but not this one. A key that is missing now may be set later.
func Check(ctx context.Context, embedders core.Embedders, handle core.Handle, env core.Env) error {
	if handle == "" || handle == core.WordsHandle {
		return nil
	}
	if err := handle.Validate(); err != nil || embedders == nil {
		return err
	}
	_, info, err := embedders.Embedder(ctx, handle, env)
	switch kind := core.KindOf(err); {
	case kind == core.NotFound || kind == core.Invalid || kind == core.Unsupported:
		return err
	case err != nil:
		return nil //nolint:nilerr // a server that can't be asked now may have it
	}
	var named []string
	for _, m := range embedders.Embeddings(ctx, env, info.Provider) {
		if m.Handle == handle {
			return nil
		}
		if m.Provider == info.Provider {
			named = append(named, string(m.Handle))
		}
	}
	if len(named) == 0 {
		return nil // its provider doesn't say what it has
	}
	return core.E(core.NotFound, "%s has no embedding %q", info.Provider, info.Name).WithHint("there are %s", strings.Join(named, ", "))
}
