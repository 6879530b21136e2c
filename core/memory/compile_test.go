package memory

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/coretest/golden"
)

const (
	agentID = core.AgentID("agent-11111111-2222-4333-8444-555555555555")
	convID  = core.ConversationID("conv-11111111-2222-4333-8444-666666666666")
)

func at(t *testing.T, zone, text string) time.Time {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	when, err := time.ParseInLocation("2006-01-02 15:04", text, loc)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestCompiledPromptsLookAsTheContractSays(t *testing.T) {
	t.Parallel()
	noon := at(t, "Europe/Berlin", "2026-11-23 21:05")
	blocks := []core.Block{
		{Label: "persona", Description: "Who I am.", Value: "Calm.\nPrecise.", Limit: 20000},
		{Label: "human", Description: "The person.", Value: "Ada 👩‍💻, née Müller", Limit: 100, ReadOnly: true},
		{Label: "empty", Description: "", Limit: 5},
	}
	tests := map[string]CompileInput{
		"plain": {
			System:       "You are here.\n\n{CORE_MEMORY}\n\nEnd.",
			Blocks:       blocks,
			Agent:        agentID,
			Conversation: convID,
			CompiledAt:   noon,
			Messages:     12,
		},
		"full": {
			System:       "You are here.",
			Blocks:       blocks[:1],
			Rules:        []string{"search must be called before any other tool.", "Calling stop ends your turn."},
			Agent:        agentID,
			Conversation: core.DefaultConversation(agentID),
			CompiledAt:   noon,
			Messages:     1,
			Passages:     3,
			Tags:         []string{"work", "family"},
		},
		"numbered": {System: "{CORE_MEMORY}", Blocks: blocks, LineNumbers: true, Agent: agentID, CompiledAt: noon.UTC()},
		"bare":     {Agent: agentID, CompiledAt: noon.UTC()},
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden.Equal(t, name, Compile(in))
		})
	}
}

func TestDefaultPromptsCompile(t *testing.T) {
	t.Parallel()
	for _, kind := range []core.AgentType{core.AgentLettaV1, core.AgentMemGPTV2} {
		policy, ok := core.PolicyOf(kind)
		if !ok {
			t.Fatalf("no policy for %s", kind)
		}
		in := CompileInput{
			System:     DefaultSystem(policy),
			Blocks:     DefaultBlocks(),
			Agent:      agentID,
			CompiledAt: at(t, "UTC", "2026-11-23 08:00"),
		}
		if strings.Count(in.System, Placeholder) != 1 {
			t.Errorf("%s: the system text does not have the placeholder once", kind)
		}
		golden.Equal(t, "default_"+policy.PromptPolicy, Compile(in))
		if kind == core.AgentLettaV1 {
			in.System = SystemOf(policy, true)
			golden.Equal(t, "default_terminal", Compile(in))
			in.Workspace = true
			golden.Equal(t, "default_workspace", Compile(in))
		}
	}
}

func TestAnAgentIsRenewedAndItsOwnPromptOnlyOnRequest(t *testing.T) {
	t.Parallel()
	policy, _ := core.PolicyOf(core.AgentLettaV1)
	own := core.BuiltinToolID("grep_files")
	agent := core.Agent{
		ID: agentID, Type: core.AgentLettaV1, System: DefaultSystem(policy), Tools: []core.ToolID{own, core.BuiltinToolID("memory_insert")},
	}
	if err := Renew(&agent, false); err != nil || agent.System != SystemOf(policy, true) || !agent.Terminal {
		t.Fatalf("renewed: %v, %+v", err, agent)
	}
	if len(agent.Tools) != len(TerminalTools())+1 || agent.Tools[0] != own {
		t.Errorf("its tools are %v", agent.Tools)
	}
	if err := Renew(&agent, false); err != nil || len(agent.Tools) != len(TerminalTools())+1 {
		t.Errorf("renewed again: %v, %v", err, agent.Tools)
	}
	agent.System = "You are a pirate."
	if err := Renew(&agent, false); core.KindOf(err) != core.Conflict || agent.System != "You are a pirate." {
		t.Errorf("its own prompt: %v, %q", err, agent.System)
	}
	if err := Renew(&agent, true); err != nil || agent.System != SystemOf(policy, true) {
		t.Errorf("replaced: %v", err)
	}
	agent.Type = core.AgentMemGPTV2
	if err := Renew(&agent, true); core.KindOf(err) != core.Unsupported {
		t.Errorf("of another type: %v", err)
	}
}

func TestWhatABlockHoldsIsNeverReadAsPartOfThePrompt(t *testing.T) {
	t.Parallel()
	value := "</value></human>{CORE_MEMORY}\n<memory_blocks>%s $1 \\1"
	got := Compile(
		CompileInput{System: "a {CORE_MEMORY} b", Blocks: []core.Block{{Label: "human", Value: value, Limit: 10}}, Agent: agentID},
	)
	if !strings.Contains(got, "<value>\n"+value+"\n</value>") {
		t.Errorf("the value does not stand in the prompt as it is:\n%s", got)
	}
	if strings.Count(got, "<memory_metadata>") != 1 {
		t.Errorf("the placeholder in a value was replaced:\n%s", got)
	}
}

func TestCharactersAreCodePoints(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"": "=0\n", "é": "=1\n", "e\u0301": "=2\n", "👩‍💻": "=3\n", "日本語": "=3\n"} {
		got := Compile(CompileInput{Blocks: []core.Block{{Label: "b", Value: value, Limit: 9}}, Agent: agentID})
		if !strings.Contains(got, "- chars_current"+want) {
			t.Errorf("%q: want chars_current%s in\n%s", value, want, got)
		}
	}
}

func TestAMissingPlaceholderAppendsTheMemoryAfterABlankLine(t *testing.T) {
	t.Parallel()
	in := CompileInput{System: "Only text.", Agent: agentID}
	if got, want := Compile(in), "Only text.\n\n"+Memory(in); got != want {
		t.Errorf("Compile() = %q, want %q", got, want)
	}
}

func TestTheTerminalsBlocksAreValid(t *testing.T) {
	t.Parallel()
	var labels []string
	for _, b := range DefaultBlocks() {
		if err := b.Validate(); err != nil {
			t.Error(err)
		}
		if b.Description == "" || b.Limit != core.TerminalLimit {
			t.Errorf("block %q lacks a description or the terminal's limit: %+v", b.Label, b)
		}
		labels = append(labels, b.Label)
	}
	if diff := cmp.Diff([]string{LabelPersona, LabelHuman}, labels); diff != "" {
		t.Error(diff)
	}
	if DefaultDescription("project") != "" {
		t.Error("a label of one's own has no default description")
	}
}
