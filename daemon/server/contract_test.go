package server

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestOperationsAndTheirParametersAreTheContracts compares what the server describes with what is kept of the contract.
func TestOperationsAndTheirParametersAreTheContracts(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../api/testdata/contract.json")
	if err != nil {
		t.Fatal(err)
	}
	var contract struct {
		Operations map[string]struct{ Query []string }
	}
	if err := json.Unmarshal(data, &contract); err != nil {
		t.Fatal(err)
	}
	type operation struct {
		Parameters []struct{ Name, In string }
	}
	var ours struct {
		Paths map[string]map[string]operation
	}
	f := newFixture(t, always("ok"))
	if err := json.Unmarshal(f.call(http.MethodGet, "/openapi.json", nil).want(http.StatusOK).body, &ours); err != nil {
		t.Fatal(err)
	}
	if len(contract.Operations) < 30 {
		t.Fatalf("only %d operations to compare", len(contract.Operations))
	}
	for name, want := range contract.Operations {
		method, path, _ := strings.Cut(name, " ")
		op, ok := ours.Paths[strings.TrimSuffix(path, "/")][strings.ToLower(method)]
		if !ok {
			t.Errorf("%s is not served", name)
			continue
		}
		for _, q := range want.Query {
			if !slices.ContainsFunc(op.Parameters, func(p struct{ Name, In string }) bool { return p.Name == q && p.In == "query" }) {
				t.Errorf("%s has no parameter %s", name, q)
			}
		}
	}
}
