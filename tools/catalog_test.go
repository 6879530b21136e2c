package tools

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"loci/core"
	"loci/core/memory"
)

func TestSearchesSayThatMeaningIsSearchedToo(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"archival_memory_search", "conversation_search", "semantic_search_files"} {
		tool, ok, err := New().Find(t.Context(), name)
		if err != nil || !ok {
			t.Fatalf("%s: %v %v", name, ok, err)
		}
		for _, terminal := range []bool{false, true} {
			said := tool.Info.SpecFor(&core.Agent{Terminal: terminal}).Description
			if !strings.Contains(said, "meaning") || !strings.Contains(said, "words") {
				t.Errorf("%s: %q", name, said)
			}
		}
	}
}

func TestEveryRowOfTheCatalogueIsWhole(t *testing.T) {
	t.Parallel()
	all, err := New().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, tool := range all {
		info, name := tool.Info, tool.Info.Spec.Name
		if seen[name] {
			t.Errorf("%s stands twice in the table", name)
		}
		seen[name] = true
		if !regexp.MustCompile(`^[a-z_]{1,48}$`).MatchString(name) {
			t.Errorf("name %q is not one the contract allows", name)
		}
		if info.Spec.Description == "" || info.Kind == "" || info.ID != core.BuiltinToolID(name) ||
			(info.Effect == core.EffectFacts) != (info.Touches == "") {
			t.Errorf("%s is not described whole: %+v", name, info)
		}
		if got := tool.Tool.Spec(); got.Name != name || string(got.Parameters) != string(info.Spec.Parameters) {
			t.Errorf("%s: the tool's own spec differs from its description", name)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(info.Spec.Parameters, &schema); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := schema.Resolve(nil); err != nil {
			t.Errorf("%s: schema does not resolve: %v", name, err)
		}
		if wider := info.Wider; wider != nil {
			var more jsonschema.Schema
			if err := json.Unmarshal(wider.Parameters, &more); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			_, err := more.Resolve(nil)
			if err != nil || wider.Name != name || more.Type != "object" || !slices.Equal(more.Required, schema.Required) {
				t.Errorf("%s for the terminal's agents: %v, %s", name, err, wider.Parameters)
			}
			for p, s := range schema.Properties {
				if got := more.Properties[p]; got == nil || got.Type != s.Type || !slices.Equal(got.Enum, s.Enum) {
					t.Errorf("%s.%s is another argument for the terminal's agents", name, p)
				}
			}
			for p, s := range more.Properties {
				if s.Description == "" || s.Type == "" {
					t.Errorf("%s.%s has no description or no single type: %s", name, p, wider.Parameters)
				}
			}
		}
		if schema.Type != "object" || !strings.Contains(string(info.Spec.Parameters), `"properties":{`) {
			t.Errorf("%s: parameters are no object: %s", name, info.Spec.Parameters)
		}
		for p, s := range schema.Properties {
			if s.Description == "" || s.Type == "" {
				t.Errorf("%s.%s has no description or no single type: %s", name, p, info.Spec.Parameters)
			}
		}
	}
}

func TestTheCatalogueHasTheContractsToolsAndArguments(t *testing.T) {
	t.Parallel()
	want := map[string]struct{ required, optional []string }{
		"archival_memory_insert":  {[]string{"content"}, []string{"tags"}},
		"archival_memory_replace": {[]string{"id", "content"}, []string{"tags"}},
		"archival_memory_delete":  {[]string{"id"}, nil},
		"archival_memory_search":  {[]string{"query"}, []string{"tags", "tag_match_mode", "top_k", "start_datetime", "end_datetime"}},
		"conversation_search":     {nil, []string{"query", "roles", "limit", "start_date", "end_date"}},
		"core_memory_append":      {[]string{"label", "content"}, nil},
		"core_memory_replace":     {[]string{"label", "old_content", "new_content"}, nil},
		"grep_files":              {[]string{"pattern"}, []string{"include", "context_lines", "offset"}},
		"open_files":              {[]string{"file_requests"}, []string{"close_all_others"}},
		"semantic_search_files":   {[]string{"query"}, []string{"limit"}},
		"memory": {[]string{"command"}, []string{
			"path", "file_text", "description", "old_string", "new_string", "insert_line", "insert_text", "old_path", "new_path",
		}},
		"memory_apply_patch":  {[]string{"label", "patch"}, nil},
		"memory_create":       {[]string{"label", "description", "value"}, nil},
		"memory_finish_edits": {nil, nil},
		"memory_insert":       {[]string{"label", "new_string"}, []string{"insert_line"}},
		"memory_replace":      {[]string{"label", "old_string", "new_string"}, nil},
		"memory_rethink":      {[]string{"label", "new_memory"}, nil},
		"send_message":        {[]string{"message"}, nil},
		"read":                {[]string{"path"}, []string{"offset", "limit"}},
		"write":               {[]string{"path", "content"}, nil},
		"edit":                {[]string{"path"}, []string{"old_string", "new_string", "replace_all", "edits"}},
		"glob":                {[]string{"pattern"}, []string{"path", "offset"}},
		"grep":                {[]string{"pattern"}, []string{"path", "glob", "context", "literal", "offset"}},
		"shell":               {[]string{"command"}, []string{"timeout", "description", "background"}},
		"job":                 {[]string{"id"}, []string{"wait", "stop"}},
		"list":                {nil, []string{"path", "offset"}},
		"web_search":          {[]string{"query"}, []string{"limit"}},
		"todo":                {[]string{"todos"}, nil},
		"ask":                 {[]string{"question"}, []string{"options", "multiple"}},
		"fetch":               {[]string{"url"}, []string{"offset"}},
	}
	all, err := New().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(want) {
		t.Errorf("the table has %d tools, want %d", len(all), len(want))
	}
	for _, tool := range all {
		name := tool.Info.Spec.Name
		var schema struct {
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
		}
		if err := json.Unmarshal(tool.Info.Spec.Parameters, &schema); err != nil {
			t.Fatal(err)
		}
		w := want[name]
		if !slices.Equal(schema.Required, w.required) {
			t.Errorf("%s requires %v, want %v", name, schema.Required, w.required)
		}
		if len(schema.Properties) != len(w.required)+len(w.optional) {
			t.Errorf("%s has arguments %v, want %v and %v", name, schema.Properties, w.required, w.optional)
		}
		for _, p := range append(w.required, w.optional...) {
			if schema.Properties[p] == nil {
				t.Errorf("%s has no argument %s", name, p)
			}
		}
	}
}

func TestTheToolboxKeepsTheOrderAskedForAndLeavesOutTheUnknown(t *testing.T) {
	t.Parallel()
	box := New()
	got, err := box.Tools(
		t.Context(),
		[]core.ToolID{core.BuiltinToolID("send_message"), "tool-unknown", core.BuiltinToolID("memory_insert")},
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Info.Spec.Name != "send_message" || got[1].Info.Spec.Name != "memory_insert" {
		t.Errorf("Tools() = %v", got)
	}
	if _, ok, _ := box.Find(t.Context(), "conversation_search"); !ok {
		t.Error("conversation_search is not found by its name")
	}
	if _, ok, _ := box.Find(t.Context(), "rm"); ok {
		t.Error("a tool was found that does not exist")
	}
}

// firstRequest is the prompt of a terminal's agent with these tools, and the tokens that both take.
func firstRequest(t *testing.T, workspace bool, names []string) (system string, tokens int) {
	t.Helper()
	policy, _ := core.PolicyOf(core.AgentLettaV1)
	box := New()
	var specs []core.ToolSpec
	for _, name := range names {
		tool, ok, err := box.Find(t.Context(), name)
		if err != nil || !ok {
			t.Fatalf("no tool %s: %v", name, err)
		}
		specs = append(specs, tool.Info.SpecFor(&core.Agent{Terminal: true}))
	}
	raw, err := json.Marshal(specs)
	if err != nil {
		t.Fatal(err)
	}
	system = memory.Compile(
		memory.CompileInput{
			System: memory.SystemOf(policy, true), Blocks: memory.DefaultBlocks(), Agent: core.NewAgentID(), Workspace: workspace,
		},
	)
	return system, core.EstimateTokens(system) + core.EstimateTokens(string(raw))
}

func TestPromptAndToolsOfTheTerminalsAgentsStayUnderTwoThousandTokens(t *testing.T) {
	t.Parallel()
	system, n := firstRequest(t, false, memory.TerminalTools())
	t.Logf("system %d, with tools %d tokens", core.EstimateTokens(system), n)
	if n >= 2000 {
		t.Errorf("prompt and tools take %d tokens", n)
	}
	for _, said := range []string{
		"In a block goes", "In archival memory goes", "archival_memory_search for", "conversation_search for", "Rephrase once", "dates",
		"may carry memories", "Do not store secrets", "passing moods", "Example:",
	} {
		if !strings.Contains(system, said) {
			t.Errorf("the prompt does not say %q", said)
		}
	}
}

func TestPromptAndToolsWithAllOfTheWorkspaceStayUnderFiveThousandTokens(t *testing.T) {
	t.Parallel()
	system, n := firstRequest(t, true, append(append(memory.TerminalTools(), memory.WorkspaceTools()...), memory.SearchTool))
	t.Logf("system %d, with tools %d tokens", core.EstimateTokens(system), n)
	if n >= 5000 || !strings.Contains(system, "# The open folder") {
		t.Errorf("prompt and tools take %d tokens:\n%s", n, system)
	}
}

func TestTheFirstRequestOfTheTerminalsAgentIsSmall(t *testing.T) {
	t.Parallel()
	const maxTools, maxSystem = 1500, 900
	box := New()
	tokens := 0
	for _, name := range []string{
		"memory_insert", "memory_replace", "archival_memory_insert", "archival_memory_replace", "archival_memory_delete",
		"archival_memory_search", "conversation_search", "core_memory_append", "core_memory_replace",
	} {
		tool, ok, err := box.Find(t.Context(), name)
		if err != nil || !ok {
			t.Fatalf("no tool %s: %v", name, err)
		}
		spec, err := json.Marshal(tool.Info.Spec)
		if err != nil {
			t.Fatal(err)
		}
		tokens += core.EstimateTokens(string(spec))
	}
	if tokens > maxTools {
		t.Errorf("the tools take %d tokens, more than %d", tokens, maxTools)
	}
	for _, kind := range []core.AgentType{core.AgentLettaV1, core.AgentMemGPTV2} {
		policy, _ := core.PolicyOf(kind)
		system := memory.Compile(
			memory.CompileInput{System: memory.DefaultSystem(policy), Blocks: memory.DefaultBlocks(), Agent: core.NewAgentID()},
		)
		if n := core.EstimateTokens(system); n > maxSystem {
			t.Errorf("the compiled prompt of %s takes %d tokens, more than %d", kind, n, maxSystem)
		} else {
			t.Logf("%s: system %d, tools %d tokens", kind, n, tokens)
		}
	}
}
