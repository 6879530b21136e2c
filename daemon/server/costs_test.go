package server

import (
	"net/http"
	"testing"

	"loci/daemon/api"
)

func TestAProvidersListDoesNotBeginAtOneThatIsNotThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	for _, cursor := range []string{"after", "before"} {
		f.call(http.MethodGet, "/v1/providers?"+cursor+"=provider-00000000-0000-4000-8000-000000000000", nil).want(http.StatusNotFound)
	}
}

func TestADaemonWithoutALedgerSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	for _, path := range []string{api.PathCosts, api.PathBudgets} {
		if got := f.call(http.MethodGet, path, nil).status; got < 400 || got >= 600 {
			t.Errorf("%s answers %d", path, got)
		}
	}
}

func TestAFallbackIsAModelThatThereIsAndNotTheAgentsOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := as[api.AgentState](f.call(http.MethodPost, "/v1/agents", map[string]any{"model": "test/model"}))
	path := api.PathAgents + "/" + a.ID + "/fallback"
	f.call(http.MethodPut, path, api.Fallback{Model: "test/model"}).want(http.StatusBadRequest)
	f.call(http.MethodPut, path, api.Fallback{Model: "test/other"}).want(http.StatusNotFound)
	f.call(http.MethodPut, path, api.Fallback{}).want(http.StatusOK)
	if got := as[api.Fallback](f.call(http.MethodGet, path, nil)); got.Model != "" {
		t.Errorf("it is %q", got.Model)
	}
}
