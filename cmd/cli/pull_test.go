package cli

import (
	"testing"
	"time"

	"loci/daemon/api"
)

func TestADownloadsLineSaysHowFarItIs(t *testing.T) {
	t.Parallel()
	const gb = 1 << 30
	for want, c := range map[string]struct {
		at    api.PulledModel
		first int64
		took  time.Duration
	}{
		"loci: waiting":          {},
		"loci: pulling manifest": {at: api.PulledModel{Status: "pulling manifest"}},
		"loci: downloading [·····················"[:len("loci: downloading [")+20*len("·")] + "] 0% · 0 B of 4.0 GB": {
			at: api.PulledModel{Status: "pulling abc", Total: 4 * gb},
		},
		"loci: downloading [##########··········] 50% · 2.0 GB of 4.0 GB · 102.4 MB/s · 20s left": {
			at: api.PulledModel{Status: "pulling abc", Total: 4 * gb, Completed: 2 * gb}, first: gb, took: 10 * time.Second,
		},
		"loci: downloading [####################] 100% · 4.0 GB of 4.0 GB": {
			at: api.PulledModel{Status: "pulling abc", Total: 4 * gb, Completed: 4 * gb}, first: 1, took: time.Minute,
		},
	} {
		if got := pullLine(c.at, c.first, c.took); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
