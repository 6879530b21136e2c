package archival

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"loci/core"
	"loci/core/search"
)

const (
	lookedAt     = 10   // found passages that a new one is compared with
	askedChars   = 2000 // of a new passage, that are searched for
	mostSimilar  = 2    // that are told
	similarChars = 240  // of each
)

// candidates returns the passages that a new one may be similar to: what earlier calls of the same response keep, and what
// a search finds. It is made before the save, since a search must not happen in it. Without an answer the passage is kept all
// the same.
func candidates(ctx context.Context, text string, env core.ToolEnv) (ids []core.PassageID) {
	for i := range env.Kept {
		ids = append(ids, env.Kept[i].ID)
	}
	archive, has, err := env.Read.Archives.OfAgent(ctx, env.Agent.ID)
	if err != nil || !has {
		return ids
	}
	if runes := []rune(text); len(runes) > askedChars {
		text = string(runes[:askedChars])
	}
	found, err := env.Search.Passages(
		ctx,
		core.SearchQuery{Text: text, Limit: lookedAt, Today: env.Now, Bare: true},
		core.PassageFilter{Archives: []core.ArchiveID{archive.ID}},
	)
	if err != nil {
		return ids
	}
	for i := range found.Hits {
		if id := found.Hits[i].Passage.ID; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// similar tells of the candidates that are similar to a text as they are now, after earlier edits of the response.
func similar(
	ctx context.Context,
	tx core.ToolEdits,
	text string,
	archive core.ArchiveID,
	ids []core.PassageID,
	zone *time.Location,
) (string, error) {
	if len(ids) == 0 {
		return "", nil
	}
	list, err := tx.Read.Passages.Among(ctx, core.PassageFilter{Archives: []core.ArchiveID{archive}}, ids)
	if err != nil {
		return "", err
	}
	slices.SortFunc(list, func(a, b core.Passage) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].Text
	}
	near := search.Alike(text, texts)
	var b strings.Builder
	for _, i := range near[:min(len(near), mostSimilar)] {
		p := &list[i]
		fmt.Fprintf(&b, "\nSimilar to %s, of %s: %s", p.ID, p.CreatedAt.In(zone).Format(time.DateOnly), excerpt(p.Text))
	}
	return b.String(), nil
}

// excerpt is the beginning of a text.
func excerpt(text string) string {
	return search.Excerpt(strings.TrimSpace(text), nil, similarChars)
}
