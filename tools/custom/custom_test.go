package custom_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/sandbox"
	"loci/sandbox/stage"
	"loci/storage"
	"loci/tools"
	"loci/tools/custom"
	"loci/tools/custom/javascript"
	"loci/tools/custom/python"
	"loci/tools/custom/run"
)

// TestMain lets the tests' own program be launcher and first process of sandboxes, as the daemon's is.
func TestMain(m *testing.M) {
	if code, ours := stage.Main(os.Args); ours {
		os.Exit(code)
	}
	if code, ours := javascript.Main(os.Args); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// bench is a box on a store of its own, with programs that run as the test would run them.
type bench struct {
	*testing.T
	store *storage.Store
	box   *custom.Box
	agent core.Agent
}

func open(t *testing.T) *bench {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	cage := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	t.Cleanup(cage.Close)
	runner := run.New(run.Config{Sandbox: cage, Start: python.Interpreter(os.Getenv("PATH"))})
	t.Cleanup(runner.Close)
	b := &bench{T: t, store: store, box: custom.New(custom.Config{BuiltIn: tools.New(), Store: store, Sandbox: cage, Python: runner})}
	b.agent = core.Agent{ID: core.NewAgentID(), Name: "Ada", Type: core.AgentLettaV1, Model: "a/b", Timezone: "UTC"}
	b.ok(store.Agents().Create(t.Context(), &b.agent))
	return b
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) block(label, value string, change ...func(*core.Block)) core.Block {
	b.Helper()
	block := core.Block{ID: core.NewBlockID(), Label: label, Value: value, Limit: 100}
	for _, f := range change {
		f(&block)
	}
	b.ok(b.store.Blocks().Create(b.Context(), &block, core.Author{Kind: core.AuthorUser}))
	b.ok(b.store.Blocks().Attach(b.Context(), b.agent.ID, block.ID))
	return block
}

// written stores a tool.
func (b *bench) written(source string) core.BoundTool {
	b.Helper()
	t := core.CustomTool{ID: core.NewToolID(), Language: core.LanguagePython, Source: source, CreatedAt: time.Now(), UpdatedAt: time.Now()}
	b.ok(b.box.Describe(&t))
	b.ok(b.store.Tools().Put(b.Context(), &t))
	return b.box.Bind(&t)
}

// call calls a tool, and applies what it left to be applied.
func (b *bench) call(t core.BoundTool, args string) core.ToolResult {
	b.Helper()
	env := core.ToolEnv{Agent: b.agent, Now: time.Now(), Author: core.Author{Kind: core.AuthorAgent, ID: string(b.agent.ID)}}
	r, err := t.Tool.Call(b.Context(), core.ToolCall{ID: "c", Name: t.Info.Spec.Name, Arguments: args}, env)
	b.ok(err)
	if _, missing := os.Stat("/usr/bin/python3"); missing != nil && strings.Contains(r.Text, "no python3") {
		b.Skip(r.Text)
	}
	if r.Apply != nil {
		b.ok(b.store.Tx(b.Context(), func(ctx context.Context, tx core.Store) error {
			r, err = r.Apply(ctx, core.EditsOf(tx))
			return err
		}))
	}
	r.Text = strings.TrimSuffix(r.Text, "\n(It ran unconfined, as a person's configuration says.)")
	return r
}

const dice = `
def roll_dice(sides: int = 6) -> str:
    """Rolls a die.

    Args:
        sides (int): How many sides it has.
    """
    return f"rolled one of {sides}"
`

func TestABoxHoldsWhatIsBuiltInAndWhatPeopleWrote(t *testing.T) {
	t.Parallel()
	b := open(t)
	made := b.written(dice)
	if i := made.Info; i.Kind != core.ToolCustom || i.Effect != core.EffectOutside || i.Spec.Description != "Rolls a die." {
		t.Errorf("%+v", i)
	}
	memory := core.BuiltinToolID("memory_insert")
	found, err := b.box.Tools(t.Context(), []core.ToolID{made.Info.ID, "tool-gone", memory})
	b.ok(err)
	if len(found) != 2 || found[0].Info.ID != made.Info.ID || found[1].Info.ID != memory {
		t.Errorf("in another order: %+v", found)
	}
	one, ok, err := b.box.Find(t.Context(), "roll_dice")
	b.ok(err)
	if !ok || one.Info.ID != made.Info.ID {
		t.Error("it is not found by its name")
	}
	all, err := b.box.List(t.Context())
	b.ok(err)
	if !slices.IsSortedFunc(all, func(a, b core.BoundTool) int { return strings.Compare(a.Info.Spec.Name, b.Info.Spec.Name) }) {
		t.Error("the list is not by name")
	}
	if !slices.ContainsFunc(all, func(t core.BoundTool) bool { return t.Info.Custom != nil }) {
		t.Error("the list misses what people wrote")
	}
}

func TestACallRunsTheFunctionWithItsArguments(t *testing.T) {
	t.Parallel()
	b := open(t)
	made := b.written(dice)
	if r := b.call(made, `{"sides": 20, "request_heartbeat": true}`); r.Text != "rolled one of 20" || r.IsError {
		t.Errorf("%+v", r)
	}
	if r := b.call(made, `{"nothing": 1}`); !r.IsError || !strings.HasPrefix(r.Text, "Error executing function roll_dice: TypeError: ") {
		t.Errorf("%+v", r)
	}
}

func TestAnIntegerOfAnySizeReachesAFunctionAsItIs(t *testing.T) {
	t.Parallel()
	b := open(t)
	made := b.written(dice)
	for given, want := range map[string]string{
		"9007199254740993": "9007199254740993", "1234567890123456789012": "1234567890123456789012", "6.0": "6", "2.5": "2.5",
	} {
		if r := b.call(made, `{"sides": `+given+`}`); r.Text != "rolled one of "+want || r.IsError {
			t.Errorf("%s: %+v", given, r)
		}
	}
}

func TestBlocksThatAToolChangedAreWrittenBackAndWhatCannotBeIsSaid(t *testing.T) {
	t.Parallel()
	b := open(t)
	human, closed := b.block("human", "h"), b.block("closed", "c", func(k *core.Block) { k.ReadOnly = true })
	full := b.block("full", "f")
	made := b.written(`
def note(agent_state, text: str):
    """Notes a text.

    Args:
        text: What to note.
    """
    for block in agent_state.memory.blocks:
        block.value += text * (200 if block.label == "full" else 1)
    return agent_state.id
`)
	if text := string(made.Info.Spec.Parameters); strings.Contains(text, "agent_state") {
		t.Errorf("models are told of it: %s", text)
	}
	r := b.call(made, `{"text": "!"}`)
	if r.IsError || !strings.HasPrefix(r.Text, string(b.agent.ID)) || !strings.Contains(r.Text, "(It changed the memory block human.)") ||
		!strings.Contains(r.Text, "block closed was not changed") || !strings.Contains(r.Text, "block full was not changed") {
		t.Errorf("%+v", r)
	}
	for id, want := range map[core.BlockID]string{human.ID: "h!", closed.ID: "c", full.ID: "f"} {
		block, err := b.store.Blocks().Get(t.Context(), id)
		b.ok(err)
		if block.Value != want {
			t.Errorf("%s is %q", block.Label, block.Value)
		}
	}
}

func TestASourceIsDescribedByWhatItSaysUnlessASchemaIsGiven(t *testing.T) {
	t.Parallel()
	b := open(t)
	for name, tt := range map[string]struct {
		tool      core.CustomTool
		want, bad string
	}{
		"by itself":     {core.CustomTool{Source: dice}, "roll_dice: Rolls a die.", ""},
		"no docstring":  {core.CustomTool{Source: "def f(): pass"}, "", "Failed to derive json schema: line 1"},
		"no function":   {core.CustomTool{Source: "x = 1"}, "", "no function"},
		"by a schema":   {core.CustomTool{Source: "def f(): pass", Name: "f", Description: "D.", Parameters: []byte(`{}`)}, "f: D.", ""},
		"of another":    {core.CustomTool{Source: "def f(): pass", Name: "g", Parameters: []byte(`{}`)}, "", `no function "g"`},
		"by arguments":  {core.CustomTool{Source: "def f(a): pass", ArgsSchema: []byte(`{"properties":{"a":{}}}`)}, "f: The f tool", ""},
		"no arguments":  {core.CustomTool{Source: "def f(a): pass", ArgsSchema: []byte(`[]`)}, "", "no JSON object"},
		"TypeScript":    {core.CustomTool{Language: core.LanguageTypeScript, Source: "x"}, "", "needs json_schema"},
		"cut off":       {core.CustomTool{Source: "def f("}, "", "line 1"},
		"another kind":  {core.CustomTool{Language: "cobol", Source: "x"}, "", "is not known"},
		"far too large": {core.CustomTool{Source: strings.Repeat("#\n", core.MaxToolSource)}, "", "at most"},
	} {
		made := tt.tool
		if made.Language == "" {
			made.Language = core.LanguagePython
		}
		err := b.box.Describe(&made)
		switch {
		case tt.bad != "" && (err == nil || !strings.Contains(err.Error(), tt.bad)):
			t.Errorf("%s: %v", name, err)
		case tt.bad == "" && (err != nil || made.Name+": "+made.Description != tt.want):
			t.Errorf("%s: %v %s: %s", name, err, made.Name, made.Description)
		case tt.bad == "":
			var parameters struct{ Type string }
			if json.Unmarshal(made.Parameters, &parameters) != nil || parameters.Type != "object" {
				t.Errorf("%s: %s", name, made.Parameters)
			}
		}
	}
}
