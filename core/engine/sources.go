package engine

import (
	"slices"
	"strings"

	"loci/core"
)

// maxSources bounds how many sources one edit carries; the newest count.
const maxSources = 20

// sources are where texts came from that are not the person's and that the run has read, with those before a pause for an
// approval: one a line. What is written from here on may stem from them.
func (w *window) sources() string {
	var all []string
	for i := len(w.rows) - 1; i >= 0 && len(all) < maxSources; i-- {
		m := &w.rows[i].Message
		if m.Run != w.run.ID && !slices.Contains(w.run.Config.Continues, m.Run) {
			continue
		}
		for _, r := range m.Returns {
			if r.Source != "" && !slices.Contains(all, r.Source) {
				all = append(all, core.SourceName(r.Source))
			}
		}
	}
	return strings.Join(all[:min(len(all), maxSources)], "\n")
}
