package server

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"loci/core"
	"loci/daemon/api"
	"loci/sandbox"
	"loci/tools/custom/python"
	"loci/tools/custom/run"
)

// pythons runs tools as the test would run them.
func pythons(tb testing.TB) *run.Runner {
	tb.Helper()
	cage := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	tb.Cleanup(cage.Close)
	r := run.New(run.Config{Sandbox: cage, Start: python.Interpreter(os.Getenv("PATH"))})
	tb.Cleanup(r.Close)
	return r
}

const dice = `
import random

def roll_dice(sides: int = 6) -> str:
    """Roll a die.

    Args:
        sides (int): How many sides it has.
    """
    print("rolling")
    return f"You rolled a {random.randint(sides, sides)}"
`

const unconfined = "\n(It ran unconfined, as a person's configuration says.)"

// tool stores one.
func (f *fixture) tool(source string, more ...any) api.Tool {
	f.t.Helper()
	return as[api.Tool](f.call("POST", "/v1/tools", with(map[string]any{"source_code": source}, more...)).want(http.StatusOK))
}

func TestAToolIsKeptChangedListedAndGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	made := f.tool(dice, "tags", []string{"games"}, "pip_requirements", []any{map[string]any{"name": "requests"}})
	if api.Val(made.Name) != "roll_dice" || api.Val(made.Description) != "Roll a die." || made.ToolType != api.ToolCustom ||
		api.Val(made.SourceType) != "python" || made.ReturnCharLimit != 50_000 || len(made.PipRequirements) != 1 {
		t.Errorf("%+v", made)
	}
	again := as[api.Tool](f.call("PUT", "/v1/tools", map[string]any{"source_code": dice, "description": "Rolls."}).want(http.StatusOK))
	if again.ID != made.ID || api.Val(again.Description) != "Rolls." || len(again.Tags) != 1 {
		t.Errorf("the second one of the name is %+v", again)
	}
	path := "/v1/tools/" + made.ID
	changed := as[api.Tool](f.call("PATCH", path, map[string]any{"tags": []string{}, "return_char_limit": 10}).want(http.StatusOK))
	if len(changed.Tags) != 0 || changed.ReturnCharLimit != 10 || api.Val(changed.SourceCode) != dice {
		t.Errorf("%+v", changed)
	}
	renamed := strings.ReplaceAll(dice, "roll_dice", "throw_dice")
	changed = as[api.Tool](f.call("PATCH", path, map[string]any{"source_code": renamed}).want(http.StatusOK))
	if api.Val(changed.Name) != "throw_dice" || changed.ID != made.ID {
		t.Errorf("%+v", changed)
	}
	for query, want := range map[string]int{
		"name=throw_dice": 1, "tool_types=custom": 1, "search=DIE": 1, "tool_types=external_composio": 0,
	} {
		if got := as[[]api.Tool](f.call("GET", "/v1/tools?"+query, nil)); len(got) != want {
			t.Errorf("%s: %d", query, len(got))
		}
		if got := as[int](f.call("GET", "/v1/tools/count?"+query, nil)); got != want {
			t.Errorf("%s: %d counted", query, got)
		}
	}
	base := as[[]api.Tool](f.call("POST", "/v1/tools/add-base-tools", nil).want(http.StatusOK))
	if len(base) < 20 {
		t.Errorf("%d base tools", len(base))
	}
	asked := map[string]any{"query": "die", "tool_types": []string{"custom"}}
	found := as[[]api.FoundTool](f.call("POST", "/v1/tools/search", asked))
	if len(found) != 1 || found[0].Tool.ID != made.ID {
		t.Errorf("%+v", found)
	}
	f.call("DELETE", path, nil).want(http.StatusOK)
	f.call("GET", path, nil).want(http.StatusNotFound)
	f.call("DELETE", path, nil).want(http.StatusNotFound)
}

func TestWhatIsWrongWithAToolHasTheContractsStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	one, other := f.tool(dice), f.tool(strings.ReplaceAll(dice, "roll_dice", "other"))
	memory := string(core.BuiltinToolID("memory_insert"))
	for name, tt := range map[string]struct {
		method, path string
		body         map[string]any
		status       int
		says         string
	}{
		"nothing":          {"POST", "/v1/tools", map[string]any{}, 422, "source_code"},
		"no docstring":     {"POST", "/v1/tools", map[string]any{"source_code": "def f(): pass"}, 400, "Failed to derive json schema"},
		"TypeScript":       {"POST", "/v1/tools", map[string]any{"source_code": "x", "source_type": "typescript"}, 422, "json_schema"},
		"another language": {"POST", "/v1/tools", map[string]any{"source_code": "x", "source_type": "cobol"}, 422, "source_type"},
		"composio": {
			"POST", "/v1/tools", map[string]any{"source_code": "x", "source_type": "external_composio"}, 501, "external_composio",
		},
		"a built-in's name": {
			"POST", "/v1/tools", map[string]any{"source_code": strings.ReplaceAll(dice, "roll_dice", "memory_insert")}, 400, "built in",
		},
		"no limit": {"POST", "/v1/tools", map[string]any{"source_code": dice, "return_char_limit": 0}, 422, "return_char_limit"},
		"a path as package": {"POST", "/v1/tools", map[string]any{
			"source_code": dice, "pip_requirements": []any{map[string]any{"name": "../x"}},
		}, 400, "no package"},
		"another's name":     {"PATCH", "/v1/tools/" + other.ID, map[string]any{"source_code": dice}, 409, "roll_dice"},
		"another's function": {"PATCH", "/v1/tools/" + one.ID, map[string]any{"json_schema": map[string]any{"name": "nope"}}, 400, "nope"},
		"a built-in one":     {"PATCH", "/v1/tools/" + memory, map[string]any{"description": "x"}, 400, "built in"},
		"deleting one":       {"DELETE", "/v1/tools/" + memory, nil, 400, "built in"},
		"none":               {"PATCH", "/v1/tools/tool-123e4567-e89b-42d3-8456-426614174000", map[string]any{}, 404, "tool-123e"},
		"no id":              {"PATCH", "/v1/tools/x", map[string]any{}, 422, "tool-123e4567"},
		"running nothing":    {"POST", "/v1/tools/run", map[string]any{"args": map[string]any{}}, 422, "source_code"},
		"running no tool": {
			"POST", "/v1/tools/run", map[string]any{"source_code": "x = 1", "args": map[string]any{}}, 400, "no function",
		},
		"a taken variable": {"POST", "/v1/tools/run", map[string]any{
			"source_code": dice, "args": map[string]any{}, "env_vars": map[string]string{"PATH": "x"},
		}, 400, "PATH"},
	} {
		got := f.call(tt.method, tt.path, tt.body)
		if got.status != tt.status || !strings.Contains(string(got.body), tt.says) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if got := f.call("POST", "/v1/tools", map[string]any{"source_code": "x", "source_type": "external_langchain"}); !strings.Contains(
		got.header.Get(api.HeaderHint), "MCP") {
		t.Errorf("it does not say what to use instead: %v", got.header)
	}
}

func TestAToolRunsFromItsSourceWithoutBeingKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	run := func(source string, more ...any) api.Message {
		body := with(map[string]any{"source_code": source, "args": map[string]any{}}, more...)
		m := as[api.Message](f.call("POST", "/v1/tools/run", body).want(http.StatusOK))
		if m.MessageType != api.MessageToolReturn || len(m.ToolReturns) != 1 {
			t.Fatalf("%+v", m)
		}
		if strings.Contains(m.ToolReturns[0].ToolReturn.String(), "no python3") {
			t.Skip("this machine has no Python")
		}
		return m
	}
	r := run(dice, "args", map[string]any{"sides": 4}).ToolReturns[0]
	if r.Status != api.StatusSuccess || r.ToolReturn.String() != "You rolled a 4"+unconfined ||
		len(r.Stdout) != 1 || r.Stdout[0] != "rolling" {
		t.Errorf("%+v", r)
	}
	reads := "import os\ndef f():\n  '''Reads.'''\n  return os.environ['GIVEN']"
	r = run(reads, "env_vars", map[string]string{"GIVEN": "a value"}).ToolReturns[0]
	if r.ToolReturn.String() != "a value"+unconfined {
		t.Errorf("%+v", r)
	}
	r = run("def f():\n  '''Fails.'''\n  raise ValueError('no')", "name", "f").ToolReturns[0]
	if r.Status != api.StatusError || !strings.HasPrefix(r.ToolReturn.String(), "Error executing function f: ValueError: no") {
		t.Errorf("%+v", r)
	}
	if got := as[int](f.call("GET", "/v1/tools/count?tool_types=custom", nil)); got != 0 {
		t.Errorf("%d are kept", got)
	}
}

func TestAToolOfAnAgentRunsWithItsSecretsAndChangesItsBlocks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	made := f.tool(`
import os
def note(agent_state, text: str):
    """Note a text.

    Args:
        text: What to note.
    """
    agent_state.memory.update_block_value(label="human", value=text)
    return os.environ["TOKEN"] + os.environ["LETTA_AGENT_ID"]
`)
	agent := f.agent(map[string]any{
		"model": "test/model", "tool_ids": []string{made.ID}, "secrets": map[string]string{"TOKEN": "hunter2-and-a-half"},
		"memory_blocks": []map[string]any{{"label": "human", "value": "old"}},
	})
	path := "/v1/agents/" + agent.ID + "/tools/"
	got := as[api.ToolExecution](f.call("POST", path+"note/run", map[string]any{"args": map[string]any{"text": "new"}}).want(http.StatusOK))
	text, _ := got.FuncReturn.(string)
	if strings.Contains(text, "no python3") {
		t.Skip("this machine has no Python")
	}
	if got.Status != api.StatusSuccess || !strings.HasPrefix(text, "[secret TOKEN]"+agent.ID) ||
		!strings.Contains(text, "changed the memory block human") {
		t.Errorf("%+v", got)
	}
	block := as[api.Block](f.call("GET", "/v1/agents/"+agent.ID+"/core-memory/blocks/human", nil))
	if block.Value != "new" {
		t.Errorf("it is %q", block.Value)
	}
	f.call("POST", path+"other/run", map[string]any{}).want(http.StatusNotFound)
	f.call("POST", path+"memory_insert/run", map[string]any{}).want(http.StatusNotImplemented)
}

func TestAnAgentCallsAToolThatAPersonWrote(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ context.Context, n int, _ core.ChatRequest) []any {
		if n%2 == 0 {
			return calls("roll_dice", `{"sides": 3}`)
		}
		return []any{"There you are."}
	})
	made := f.tool(dice, "default_requires_approval", true)
	agent := f.agent(map[string]any{"model": "test/model", "include_base_tools": false})
	f.call("PATCH", "/v1/agents/"+agent.ID+"/tools/attach/"+made.ID, nil).want(http.StatusOK)
	say := func(body map[string]any) []api.Message {
		return as[api.Response](f.call("POST", "/v1/agents/"+agent.ID+"/messages", body).want(http.StatusOK)).Messages
	}
	asked := say(text("roll"))
	if last := asked[len(asked)-1]; last.MessageType != api.MessageApprovalRequest {
		t.Fatalf("it does not ask: %v", types(asked))
	}
	done := say(answering(map[string]any{"type": "approval", "tool_call_id": "call_1", "approve": true}))
	text := done[0].ToolReturns[0].ToolReturn.String()
	if !strings.HasPrefix(text, "You rolled a 3") && !strings.Contains(text, "no python3") {
		t.Errorf("%q", text)
	}

	f.call("DELETE", "/v1/tools/"+made.ID, nil).want(http.StatusOK)
	if left := as[[]api.Tool](f.call("GET", "/v1/agents/"+agent.ID+"/tools", nil)); len(left) != 0 {
		t.Errorf("it still has %+v", left)
	}
}
