package backup

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/storage"
	"loci/storage/sqlite"
)

// holdModels takes back every consent to send texts to an embedding's server. A model that is named without a consent is
// held too: where nobody was asked yet, its first text is taken for one. Its handle stands in place of the address.
func holdModels(ctx context.Context, tx *sqlx.Tx) ([]Held, error) {
	named, err := storage.EmbeddingModels(ctx, tx)
	if err != nil {
		return nil, err
	}
	at, err := endpoints(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, model := range named {
		if at[string(model)] == "" {
			at[string(model)] = string(model)
		}
	}
	var out []Held
	for _, model := range slices.Sorted(maps.Keys(at)) {
		if at[model] == core.EmbeddingHeld {
			continue // it waits already, or was dropped
		}
		if err := setMeta(ctx, tx, core.MetaEmbeddingEndpoint+model, core.EmbeddingHeld); err != nil {
			return nil, err
		}
		out = append(out, Held{Kind: HeldModel, ID: model, Path: at[model]})
	}
	return out, nil
}

// endpoints returns the servers that somebody agreed to, by the model's handle.
func endpoints(ctx context.Context, on sqlx.QueryerContext) (map[string]string, error) {
	var rows []struct {
		Key   string `db:"key"`
		Value string `db:"value"`
	}
	const query = `SELECT key, value FROM meta WHERE substr(key, 1, length($1)) = $1`
	if err := sqlx.SelectContext(ctx, on, &rows, query, core.MetaEmbeddingEndpoint); err != nil {
		return nil, sqlite.Classify("read where texts are sent", err)
	}
	out := map[string]string{}
	for _, r := range rows {
		if model := strings.TrimPrefix(r.Key, core.MetaEmbeddingEndpoint); model != "" && r.Value != "" {
			out[model] = r.Value
		}
	}
	return out, nil
}

// allowModel gives a consent back. One that never was is left to the first text again.
func allowModel(ctx context.Context, tx core.Store, h Held) error {
	endpoint := h.Path
	if endpoint == h.ID {
		endpoint = ""
	}
	return tx.Meta().Put(ctx, core.MetaEmbeddingEndpoint+h.ID, endpoint)
}
