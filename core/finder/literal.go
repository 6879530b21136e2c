package finder

import (
	"strings"

	"loci/core"
)

const (
	scanReach = 2000 // how many of the newest texts are read if the index can't answer
	scanPage  = 200
)

// literally finds texts that contain a query without words to look up, such as %, among the newest. A query without a
// text finds the newest.
func literally[H any](q core.SearchQuery, limit int, t texts[H]) ([]H, error) {
	sought := strings.ToLower(strings.TrimSpace(q.Text))
	if sought == "" {
		return t.newest(nil, limit)
	}
	var words []string
	if !q.Bare {
		words = []string{sought}
	}
	hits := []H{}
	err := newestFirst(t, func(h *H) (more bool) {
		if id, text := t.said(h); !q.Skip[id] && strings.Contains(strings.ToLower(text), sought) {
			t.tell(h, 1, words, core.Why{})
			hits = append(hits, *h)
		}
		return len(hits) < limit
	})
	return hits, err
}

// newestFirst iterates over the newest texts until told to stop.
func newestFirst[H any](t texts[H], use func(h *H) (more bool)) error {
	var last *H
	for read := 0; read < scanReach; {
		page, err := t.newest(last, scanPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			if !t.hide(&page[i]) && !use(&page[i]) {
				return nil
			}
		}
		last = &page[len(page)-1]
		read += len(page)
	}
	return nil
}
