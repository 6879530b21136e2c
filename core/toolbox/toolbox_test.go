package toolbox_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/toolbox"
	"loci/storage"
	"loci/storage/storagetest"
	"loci/tools"
	"loci/tools/custom"
)

// house is the use cases on a store of its own.
type house struct {
	*testing.T
	store   *storage.Store
	tools   *toolbox.Tools
	changed []core.AgentID
	now     time.Time
}

func open(t *testing.T) *house {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	h := &house{T: t, store: store, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	box := custom.New(custom.Config{BuiltIn: tools.New(), Store: store})
	h.tools = toolbox.New(toolbox.Config{
		Store: store, Box: box, Maker: box, Changed: func(agents ...core.AgentID) { h.changed = append(h.changed, agents...) },
		Clock: func() time.Time { h.now = h.now.Add(time.Second); return h.now },
	})
	return h
}

func (h *house) put(d toolbox.Draft) core.ToolInfo {
	h.Helper()
	info, err := h.tools.Put(h.Context(), d)
	if err != nil {
		h.Fatal(err)
	}
	return info
}

func (h *house) agent(ids ...core.ToolID) core.Agent {
	h.Helper()
	return storagetest.Agent(h.T, h.store, ids...)
}

const source = "def f(a: int):\n  '''Does it.\n\n  Args:\n    a: One.\n  '''\n"

func TestWhoHasAToolThatChangesIsToldAndCompiledAnew(t *testing.T) {
	t.Parallel()
	h := open(t)
	made := h.put(toolbox.Draft{Source: source})
	has, hasNot := h.agent("tool-x", made.ID), h.agent("tool-x")
	yes := true
	again := h.put(toolbox.Draft{Source: source + "  return 1\n", Asks: &yes})
	if again.ID != made.ID || !again.Custom.Asks || !again.Custom.CreatedAt.Equal(made.Custom.CreatedAt) {
		t.Errorf("%+v", again.Custom)
	}
	if !slices.Equal(h.changed, []core.AgentID{has.ID}) {
		t.Errorf("told: %v", h.changed)
	}
	for id, want := range map[core.AgentID]bool{has.ID: true, hasNot.ID: false} {
		conv, err := h.store.Conversations().Get(t.Context(), core.DefaultConversation(id))
		if err != nil || conv.Stale != want {
			t.Errorf("%v: stale is %v", err, conv.Stale)
		}
	}
	if err := h.tools.Delete(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	left, err := h.store.Agents().Get(t.Context(), has.ID)
	if err != nil || !slices.Equal(left.Tools, []core.ToolID{"tool-x"}) {
		t.Errorf("%v: %v", err, left.Tools)
	}
}

func TestWhatADraftLeavesOutAnOlderToolKeeps(t *testing.T) {
	t.Parallel()
	h := open(t)
	tags, limit, none := []string{"x"}, 7, []string{}
	text := "Another."
	h.put(toolbox.Draft{Source: source, Tags: &tags, ReturnChars: &limit, Description: &text})
	got := h.put(toolbox.Draft{Source: source})
	if !slices.Equal(got.Tags, tags) || got.ReturnCharLimit != 7 || got.Spec.Description != "Does it." {
		t.Errorf("%+v", got)
	}
	got, err := h.tools.Update(t.Context(), got.ID, toolbox.Draft{Tags: &none, Description: &text})
	if err != nil || len(got.Tags) != 0 || got.Spec.Description != text || got.Custom.Source != source {
		t.Errorf("%v %+v", err, got)
	}
}

// The source of a tool in TypeScript doesn't say what it takes, so that a new one has to keep what was said of the old one.
func TestANewSourceInTypeScriptKeepsItsSchema(t *testing.T) {
	t.Parallel()
	h := open(t)
	schema := &core.ToolSpec{Name: "g", Description: "Does it.", Parameters: []byte(`{"type":"object","properties":{}}`)}
	made := h.put(toolbox.Draft{Source: "export function g() {}", Language: core.LanguageTypeScript, Schema: schema})
	const next = "export function g() { return 1 }"
	got, err := h.tools.Update(t.Context(), made.ID, toolbox.Draft{Source: next})
	if err != nil || got.Custom.Source != next || got.Spec.Name != "g" || got.Spec.Description != "Does it." ||
		string(got.Spec.Parameters) != string(schema.Parameters) {
		t.Errorf("%v %+v", err, got)
	}
	_, err = h.tools.Update(t.Context(), h.put(toolbox.Draft{Source: source}).ID, toolbox.Draft{
		Source: next, Language: core.LanguageTypeScript,
	})
	if core.KindOf(err) != core.Invalid {
		t.Errorf("a schema that was read from a source in Python counts for one in TypeScript: %v", err)
	}
}

func TestOnlyToolsThatPeopleWroteAreTheirsToChange(t *testing.T) {
	t.Parallel()
	h := open(t)
	memory := core.BuiltinToolID("memory_insert")
	for name, err := range map[string]error{
		"deleted": h.tools.Delete(t.Context(), memory),
		"changed": second(h.tools.Update(t.Context(), memory, toolbox.Draft{})),
		"hidden":  second(h.tools.Put(t.Context(), toolbox.Draft{Source: "def memory_insert():\n '''No.'''\n"})),
	} {
		if core.KindOf(err) != core.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	made := h.put(toolbox.Draft{Source: source})
	_, err := h.tools.Update(t.Context(), made.ID, toolbox.Draft{Source: "def memory_insert():\n '''No.'''\n"})
	if core.KindOf(err) != core.Invalid {
		t.Errorf("renamed: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestADraftThatFailsLeavesWhatThereWas(t *testing.T) {
	t.Parallel()
	h := open(t)
	made := h.put(toolbox.Draft{Source: source})
	if _, err := h.tools.Put(t.Context(), toolbox.Draft{Source: "def f(a): pass"}); core.KindOf(err) != core.Invalid {
		t.Error(err)
	}
	got, err := h.tools.Get(context.Background(), made.ID)
	if err != nil || got.Custom.Source != source {
		t.Errorf("%v %+v", err, got)
	}
}

// A call of an agent's meets the gate, which judges its arguments; nothing stands before a tool that is tried by itself.
func TestArgumentsThatDontFitAreNotPassedToAToolThatIsTried(t *testing.T) {
	t.Parallel()
	h := open(t)
	for args, want := range map[string]string{`{"a": "x"}`: "TypeError", `{}`: "TypeError", `{"a": 3}`: "no sandbox"} {
		in := toolbox.Trial{Draft: toolbox.Draft{Source: source}}
		if err := json.Unmarshal([]byte(args), &in.Args); err != nil {
			t.Fatal(err)
		}
		r, _, err := h.tools.Try(t.Context(), in)
		if err != nil || !r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %v %s", args, err, r.Text)
		}
	}
}
