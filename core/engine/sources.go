package engine

import (
	"slices"
	"strings"

	"loci/core"
)

// maxSources bounds how many sources one edit carries; the newest count.
const maxSources = 20

// sources are where texts came from that are not the person's and that the run has read, with those before a pause for an
// approval: one a line. What is written from here on may stem from them, also from what has left the window since.
func (t *turn) sources() string {
	var all []string
	note := func(sources string) {
		for source := range strings.Lines(sources) {
			if source = core.SourceName(strings.TrimSpace(source)); source != "" && !slices.Contains(all, source) {
				all = append(all, source)
			}
		}
	}
	for i := len(t.history) - 1; i >= 0 && len(all) < maxSources; i-- {
		note(t.history[i].Source)
	}
	note(t.run.Config.Source)
	return strings.Join(all[:min(len(all), maxSources)], "\n")
}
