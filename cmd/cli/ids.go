package cli

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"loci/daemon/api"
)

// isID says whether a text may be an id of one of the kinds, as in "run" of run-…
func isID(text string, kinds ...string) bool {
	for _, kind := range kinds {
		rest, ok := strings.CutPrefix(text, kind+"-")
		if id, err := uuid.Parse(rest); ok && err == nil && id.Version() == 4 && id.String() == rest {
			return true
		}
	}
	return false
}

// noSuch says that what was named does not exist; lister is the command that lists what does.
func noSuch(what, ref, lister string) error {
	return (&fault{kind: api.KindNotFound, msg: fmt.Sprintf("there is no %s %q", what, clip(ref, 60))}).withHint("%s lists them", lister)
}

// knownRun checks the id of a run, or of a step, before the daemon is asked.
func knownRun(ref string) error {
	switch {
	case isID(ref, "run", "step"):
		return nil
	case strings.HasPrefix(ref, "step-"):
		return noSuch("step", ref, "loci runs show RUN")
	}
	return noSuch("run", ref, "loci runs")
}

// searchable wants something to search for.
func searchable(words []string) error {
	if strings.TrimSpace(strings.Join(words, "")) == "" {
		return invalid("there is nothing to search for")
	}
	return nil
}
