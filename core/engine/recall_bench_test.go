package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"loci/core"
)

// BenchmarkRecall measures a turn with an instant model in a home of 1,000 notes, with recall and without, taking turns,
// and the two searches by themselves.
func BenchmarkRecall(b *testing.B) {
	h := open(b, func(int, core.ChatRequest) turn { return say("ok") })
	h.model.infos["openai/gpt-test"] = core.ModelInfo{ContextWindow: 12_000, Tools: true, CacheTTL: 5 * time.Minute}
	words := []string{
		"lighthouse",
		"accordion",
		"greenhouse",
		"submarine",
		"windmill",
		"glacier",
		"harbour",
		"orchard",
		"violin",
		"quarry",
		"sister",
		"boat",
		"paint",
		"summer",
	}
	var notes []string
	for i := range 1000 {
		word := func(n int) string { return words[(i*7+n*n*3+i/11)%len(words)] }
		notes = append(
			notes,
			fmt.Sprintf(
				"Entry %d: the %s beside the %s was seen with a %s and a %s in year %d.",
				i,
				word(0),
				word(1),
				word(2),
				word(3),
				1900+i%100,
			),
		)
	}
	with, without := h.rememberer(800, notes...), h.rememberer(0, notes[0])
	archive, _, err := h.store.Archives().OfAgent(b.Context(), with.ID)
	if err != nil {
		b.Fatal(err)
	}
	took := map[string][]time.Duration{}
	timed := func(what string, do func()) {
		began := time.Now()
		do()
		took[what] = append(took[what], time.Since(began))
	}
	b.ResetTimer()
	for i := range b.N {
		q := fmt.Sprintf("What do you know about the %s and the %s?", words[i%len(words)], words[(i*5+3)%len(words)])
		timed("on", func() { h.send(with, q) })
		timed("off", func() { h.send(without, q) })
		timed("search", func() {
			query := core.SearchQuery{Text: q, Limit: 42, Bare: true}
			if _, err := h.cfg.Search.Passages(b.Context(), query, core.PassageFilter{Archives: []core.ArchiveID{archive.ID}}); err != nil {
				b.Fatal(err)
			}
			if _, err := h.cfg.Search.Messages(b.Context(), query, core.MessageFilter{Agent: with.ID}); err != nil {
				b.Fatal(err)
			}
		})
	}
	ms := func(what string) float64 {
		slices.Sort(took[what])
		return float64(took[what][len(took[what])/2].Microseconds()) / 1000
	}
	b.ReportMetric(ms("on"), "on-ms")
	b.ReportMetric(ms("off"), "off-ms")
	b.ReportMetric(ms("search"), "search-ms")
	b.ReportMetric((ms("on")-ms("off"))/ms("search"), "more/search")
}
