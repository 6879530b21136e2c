package server

import (
	"net/http"
	"strings"
	"testing"

	"loci/core/spend"
	"loci/daemon/api"
)

func TestADaemonWithoutALedgerSaysSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	for _, path := range []string{api.PathCosts, api.PathBudgets} {
		f.call(http.MethodGet, path, nil).want(http.StatusNotImplemented)
	}
}

func TestALimitIsSetByItselfAndNeverToNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	f.srv.parts.Ledger = spend.New(spend.Config{Store: f.store.Expenses()})
	put := func(body string) reply { return f.socket(http.MethodPut, api.PathBudgets, body, "") }
	for _, c := range []struct{ body, shown string }{
		{`{"dollars":"5"}`, "$0.00 of $5.00"},
		{`{"tokens":1000}`, "$0.00 of $5.00, 0 of 1000 tokens"},
		{`{"dollars":"7","remove":["tokens"]}`, "$0.00 of $7.00"},
		{`{"tokens":1000,"dollars":"8"}`, "$0.00 of $8.00, 0 of 1000 tokens"},
		{`{"remove":["dollars"]}`, "0 of 1000 tokens"},
	} {
		if got := as[[]api.Budget](put(c.body)); len(got) != 1 || got[0].Shown != c.shown {
			t.Errorf("after %s it is %+v", c.body, got)
		}
	}
	for _, c := range []struct{ body, says string }{
		{`{"dollars":"0.00"}`, "loci budget --none"},
		{`{"tokens":0}`, "loci budget --none"},
		{`{"tokens":5,"dollars":"0"}`, "loci budget --none"},
		{`{}`, "give dollars"},
		{`{"tokens":5,"remove":["tokens"]}`, "either set or removed"},
		{`{"remove":["all"]}`, "remove"},
	} {
		r := put(c.body)
		if r.want(http.StatusUnprocessableEntity); !strings.Contains(string(r.body), c.says) {
			t.Errorf("%s does not say %q: %s", c.body, c.says, r.body)
		}
	}
	if got := as[[]api.Budget](f.call(http.MethodGet, api.PathBudgets, nil)); len(got) != 1 || got[0].Shown != "0 of 1000 tokens" {
		t.Errorf("what was refused left %+v", got)
	}
	if got := as[[]api.Budget](put(`{"remove":["dollars","tokens"]}`)); len(got) != 0 {
		t.Errorf("without limits there is %+v", got)
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
