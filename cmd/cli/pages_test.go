package cli

import (
	"slices"
	"strconv"
	"testing"

	"loci/daemon/api"
)

func TestAListIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	for _, there := range []int{0, 1, listedAtOnce, listedAtOnce + 1, 2*listedAtOnce + 7} {
		asked := 0
		list := func(p api.Page) (out []string, _ error) {
			asked++
			from, _ := strconv.Atoi(p.After)
			for i := from + 1; i <= min(there, from+p.Limit); i++ {
				out = append(out, strconv.Itoa(i))
			}
			return out, nil
		}
		got, err := listAll(list, func(id string) string { return id })
		slices.Sort(got)
		if len(slices.Compact(got)) != there || err != nil || asked > there/listedAtOnce+1 {
			t.Errorf("%d of %d with %d requests: %v", len(got), there, asked, err)
		}
	}
}
