package variables_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/variables"
	"loci/storage"
)

// glass seals nothing, and opens what was sealed by the same name. What is "lost" can't be opened.
type glass struct{}

func (glass) Seal(_ context.Context, text core.Secret, name string) ([]byte, error) {
	return []byte(name + ":" + text.Reveal()), nil
}

func (glass) Open(_ context.Context, sealed []byte, name string) (core.Secret, error) {
	text, ok := strings.CutPrefix(string(sealed), name+":")
	if !ok || text == "lost" {
		return "", core.E(core.Unavailable, "the key is gone")
	}
	return core.Secret(text), nil
}

// open returns the variables of a store with one agent.
func open(t *testing.T) (*variables.Variables, core.AgentID) {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	agent := core.Agent{ID: core.NewAgentID(), Name: "Ada", Type: core.AgentLettaV1, CreatedAt: time.Unix(1, 0)}
	if err := store.Agents().Create(t.Context(), &agent); err != nil {
		t.Fatal(err)
	}
	return variables.New(variables.Config{Store: store, Sealer: glass{}, Clock: time.Now}), agent.ID
}

func set(t *testing.T, v *variables.Variables, agent core.AgentID, name, value string, tools ...string) {
	t.Helper()
	if _, err := v.Set(t.Context(), agent, variables.Value{Name: name, Value: core.Secret(value), Tools: tools}); err != nil {
		t.Fatal(err)
	}
}

func tool(kind core.ToolKind, name string) *core.ToolInfo {
	return &core.ToolInfo{Kind: kind, Spec: core.ToolSpec{Name: name}}
}

func TestAToolGetsWhatItIsEntitledToAndTheAgentsOwnFirst(t *testing.T) {
	t.Parallel()
	v, agent := open(t)
	set(t, v, "", "BOTH", "shared")
	set(t, v, "", "ALL", "everybody", "shell")
	set(t, v, agent, "BOTH", "own")
	set(t, v, agent, "OWN", "mine")
	for _, tt := range []struct {
		tool *core.ToolInfo
		of   core.AgentID
		want []string
	}{
		{tool(core.ToolCustom, "deploy"), agent, []string{"BOTH=own", "OWN=mine", "ALL=everybody"}},
		{tool(core.ToolCustom, "deploy"), core.NewAgentID(), []string{"ALL=everybody", "BOTH=shared"}},
		{tool(core.ToolBuiltin, "shell"), agent, []string{"ALL=everybody"}},
		{tool(core.ToolBuiltin, "read"), agent, nil},
	} {
		got, err := v.Env(t.Context(), tt.of, tt.tool)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s gets %q, %v; want %q", tt.tool.Spec.Name, got, err, tt.want)
		}
	}
}

func TestWhatCannotBeOpenedIsGivenToNobodyAndHidesNothingElse(t *testing.T) {
	t.Parallel()
	v, agent := open(t)
	set(t, v, agent, "A", "hunter2-and-a-half")
	set(t, v, agent, "B", "lost")
	if got, err := v.Env(t.Context(), agent, tool(core.ToolCustom, "deploy")); core.KindOf(err) != core.Unavailable {
		t.Errorf("a tool that people wrote gets %q, %v", got, err)
	}
	if _, err := v.Env(t.Context(), agent, tool(core.ToolBuiltin, "read")); err != nil {
		t.Errorf("a tool that gets none fails: %v", err)
	}
	veil, err := v.Veil(t.Context(), agent)
	if err != nil || veil.Text("it is hunter2-and-a-half") != "it is [secret A]" {
		t.Errorf("%q, %v", veil.Text("it is hunter2-and-a-half"), err)
	}
	set(t, v, "", "C", "lost")
	count, shut, err := v.Shut(t.Context())
	want := []variables.Shut{{Name: "C", Why: "the key is gone"}, {Agent: agent, Name: "B", Why: "the key is gone"}}
	if err != nil || count != 3 || !slices.Equal(shut, want) {
		t.Errorf("of %d can't be opened: %+v, %v", count, shut, err)
	}
}

func TestWhatIsSetAgainKeepsItsToolsAndDescription(t *testing.T) {
	t.Parallel()
	v, agent := open(t)
	first := variables.Value{Name: "A", Value: "one", Description: "of the forge", Tools: []string{"shell"}}
	if _, err := v.Set(t.Context(), agent, first); err != nil {
		t.Fatal(err)
	}
	set(t, v, agent, "A", "two")
	all, err := v.List(t.Context(), agent)
	if err != nil || len(all) != 1 || all[0].Description != "of the forge" || !slices.Equal(all[0].Tools, []string{"shell"}) {
		t.Errorf("%+v, %v", all, err)
	}
	if value, err := v.Open(t.Context(), &all[0]); err != nil || value.Reveal() != "two" {
		t.Errorf("%q, %v", value.Reveal(), err)
	}
}
