package index

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core/search"
)

func TestOnlyOwnWordsReachMatch(t *testing.T) {
	t.Parallel()
	q := search.Analyse(`"lake" OR body:x* NEAR(`, search.NoDay)
	m := &matching{owners: []int64{3, 4}, inReach: 1, total: 1000}
	got := m.expression(picking{words: q.Terms(), who: []string{"an\"n"}})
	want := `scope : ("s3" OR "s4") AND who : ("an""n") AND body : ("lake" OR "bodi" OR "x" OR "near")`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
