package index

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core/search"
)

func TestOnlyOwnWordsReachMatch(t *testing.T) {
	t.Parallel()
	q := search.Analyse(`"lake" OR body:x* NEAR(`)
	got := expression(q, Filter{Owners: []string{"agent-1a", `b" OR "c`}, Thread: "agent-1a"})
	want := `scope : ("oagent1a" OR "obc") AND scope : ("tagent1a") AND body : ("lake" OR "bodi" OR "x" OR "near")`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := quote(`a"b`); got != `"a""b"` {
		t.Errorf("quote: %s", got)
	}
}
