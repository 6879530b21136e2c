package storage

import (
	"strings"

	"loci/core"
)

const (
	literalReach = 2000 // texts that are read for a query without words
	literalPage  = 200
)

// literally finds what holds a query that has no words to look up, such as %, among the newest texts: those are read one
// by one. after returns the next older ones, last is nil at first.
func literally[H any](q core.SearchQuery, limit int, after func(last *H, n int) ([]H, error), view func(*H) (id, text string), found func(h *H, as string)) ([]H, error) {
	sought := strings.ToLower(strings.TrimSpace(q.Text))
	hits := []H{}
	var last *H
	for read := 0; read < literalReach; {
		page, err := after(last, literalPage)
		if err != nil || len(page) == 0 {
			return hits, err
		}
		for i := range page {
			id, text := view(&page[i])
			if q.Skip[id] || !strings.Contains(strings.ToLower(text), sought) {
				continue
			}
			found(&page[i], sought)
			if hits = append(hits, page[i]); len(hits) == limit {
				return hits, nil
			}
		}
		last = &page[len(page)-1]
		read += len(page)
	}
	return hits, nil
}

// sought returns the words to show of a text that was found literally.
func sought(q core.SearchQuery, as string) []string {
	if q.Bare {
		return nil
	}
	return []string{as}
}
