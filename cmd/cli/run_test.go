package cli

import (
	"testing"

	"loci/daemon/api"
)

func TestARunThatWaitsIsNotCalledRunning(t *testing.T) {
	t.Parallel()
	waits := api.Object{api.WaitsFor: "openai asked for a pause."}
	for want, r := range map[string]api.Run{
		"waiting":   {Status: api.RunRunning, Metadata: waits},
		"running":   {Status: api.RunRunning},
		"created":   {Status: api.RunCreated, Metadata: waits},
		"completed": {Status: api.RunCompleted},
	} {
		if got := statusText(r); got != want {
			t.Errorf("%+v is %s", r, got)
		}
	}
}
