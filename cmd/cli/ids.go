package cli

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"loci/daemon/api"
)

// isID says whether a text may be an id of one of the kinds, such as "run" for run-…
func isID(text string, kinds ...string) bool {
	for _, kind := range kinds {
		rest, ok := strings.CutPrefix(text, kind+"-")
		if id, err := uuid.Parse(rest); ok && err == nil && id.Version() == 4 && id.String() == rest {
			return true
		}
	}
	return false
}

// idsListed is how many ids an error lists at most.
const idsListed = 10

// idsOf lists the ids that an ambiguous name could mean.
func idsOf[T any](found []T, id func(T) string) string {
	names := make([]string, 0, len(found)+1)
	for _, f := range found {
		names = append(names, id(f))
	}
	if len(names) == idsListed {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// noSuch says that what was named doesn't exist; lister is the command that lists what does.
func noSuch(what, ref, lister string) error {
	return (&fault{kind: api.KindNotFound, msg: fmt.Sprintf("there is no %s %q", what, clip(ref, 60))}).withHint("%s lists them", lister)
}

// knownRun checks the id of a run or step before asking the daemon.
func knownRun(ref string) error {
	switch {
	case isID(ref, "run", "step"):
		return nil
	case strings.HasPrefix(ref, "step-"):
		return noSuch("step", ref, "loci runs show RUN")
	}
	return noSuch("run", ref, "loci runs")
}

// searchable rejects a search for nothing.
func searchable(words []string) error {
	if strings.TrimSpace(strings.Join(words, "")) == "" {
		return invalid("there is nothing to search for")
	}
	return nil
}
