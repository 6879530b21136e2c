package server

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/variables"
	"loci/daemon/api"
	"loci/daemon/seal"
)

// vault keeps secrets under a key of its own.
func vault(tb testing.TB, store core.Store) *variables.Variables {
	tb.Helper()
	return variables.New(variables.Config{
		Store: store, Sealer: seal.New(seal.Config{Path: filepath.Join(tb.TempDir(), "secret.key")}), Clock: time.Now,
	})
}

// secrets are those of an agent, as NAME=value.
func (f *fixture) secrets(agent string) []string {
	f.t.Helper()
	got := as[api.AgentState](f.call("GET", "/v1/agents/"+agent+"?include=agent.secrets", nil))
	out := []string{}
	for i, s := range got.Secrets {
		if s.AgentID != agent || !strings.HasPrefix(s.ID, "agent-env-") || s.ID != got.ToolExecEnvironmentVariables[i].ID {
			f.t.Errorf("not of %s: %+v", agent, s)
		}
		out = append(out, s.Key+"="+s.Value)
	}
	return out
}

func TestSecretsOfAnAgentAreReplacedAsAMapAndShownWhereTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	agent := f.agent(map[string]any{"model": "test/model", "secrets": map[string]string{"B": "two", "A": "one"}})
	if len(agent.Secrets) != 2 {
		t.Errorf("whoever made it sees %+v", agent.Secrets)
	}
	want := func(secrets ...string) {
		t.Helper()
		if got := f.secrets(agent.ID); !slices.Equal(got, secrets) {
			t.Errorf("they are %q, want %q", got, secrets)
		}
	}
	want("A=one", "B=two")
	for _, path := range []string{"/v1/agents/" + agent.ID, "/v1/agents"} {
		if text := string(f.call("GET", path, nil).want(http.StatusOK).body); strings.Contains(text, `"two"`) {
			t.Errorf("%s shows a value to whoever did not ask: %s", path, text)
		}
	}
	patch := func(body map[string]any) { f.call("PATCH", "/v1/agents/"+agent.ID, body).want(http.StatusOK) }
	patch(map[string]any{"name": "Other"})
	want("A=one", "B=two")
	patch(map[string]any{"secrets": nil, "tool_exec_environment_variables": nil}) // as SDKs say that nothing is given
	want("A=one", "B=two")
	patch(map[string]any{"secrets": map[string]string{"B": "2", "C": "three"}})
	want("B=2", "C=three")
	patch(map[string]any{"tool_exec_environment_variables": map[string]string{"D": "four"}})
	want("D=four")
	patch(map[string]any{"secrets": map[string]string{}})
	want()
}

func TestASecretThatCannotBeKeptMakesNoAgent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for name, value := range map[string]string{
		"PATH": "x", "LD_PRELOAD": "x", "1A": "x", "A B": "x", "": "x", "A": "x\x00y", "BIG": strings.Repeat("x", core.MaxVariableValue+1),
		strings.Repeat("N", core.MaxVariableName+1): "x",
	} {
		got := f.call("POST", "/v1/agents", map[string]any{"model": "test/model", "secrets": map[string]string{name: value}})
		if got.status < 400 || got.status >= 500 {
			t.Errorf("%.20q: %d %s", name, got.status, got.body)
		}
	}
	if n := as[int](f.call("GET", "/v1/agents/count", nil)); n != 0 {
		t.Errorf("%d agents were made", n)
	}
}

func TestASecretThatCannotBeOpenedIsNoEmptyValue(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	agent := f.agent(map[string]any{"model": "test/model", "secrets": map[string]string{"A": "one"}})
	f.srv.mu.Lock()
	f.srv.parts.Variables = vault(t, f.store) // under another key
	f.srv.mu.Unlock()
	got := f.call("GET", "/v1/agents/"+agent.ID+"?include=agent.secrets", nil)
	if got.status != http.StatusServiceUnavailable ||
		!strings.Contains(got.detail(), "the key that sealed the secrets of this home is not here") {
		t.Errorf("%d %s", got.status, got.body)
	}
	f.call("GET", "/v1/agents/"+agent.ID, nil).want(http.StatusOK)
}
