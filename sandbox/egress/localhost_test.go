package egress

import (
	"testing"
)

func TestTheNamesOfThisMachineItselfNeedNoServerOfNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"localhost", "LocalHost", "localhost.", "app.localhost"} {
		got, err := Machine{}.Lookup(t.Context(), name)
		if err != nil || len(got) != 2 || !got[0].IsLoopback() || !got[1].IsLoopback() {
			t.Errorf("%s leads to %v, %v", name, got, err)
		}
	}
}
