package providers

import (
	"slices"

	"loci/core"
)

// nearestEffort returns the reasoning effort of those that a model has which is nearest to the one that is wanted, of two as near the
// lower; as it is wanted if nothing is known of the model.
func nearestEffort(has []string, wanted string) string {
	order := core.Efforts()
	at := slices.Index(order, wanted)
	if at < 0 || len(has) == 0 || slices.Contains(has, wanted) {
		return wanted
	}
	best, far := wanted, len(order)
	for _, effort := range has {
		i := slices.Index(order, effort)
		if d := max(i-at, at-i); i >= 0 && (d < far || d == far && i < at) {
			best, far = effort, d
		}
	}
	return best
}
