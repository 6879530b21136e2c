package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/storage"
	"loci/storage/storagetest"
	"loci/tools"
)

// home is an agent with two blocks in a store of its own, and the tools.
type home struct {
	t     testing.TB
	store *storage.Store
	env   core.ToolEnv
	tools core.Toolbox
}

var berlin = time.FixedZone("CET", 3600)

func newHome(tb testing.TB) *home {
	tb.Helper()
	now := time.Date(2026, 11, 23, 9, 15, 0, 0, berlin)
	h := &home{t: tb, store: storagetest.OpenTest(tb), tools: tools.New()}
	agent := core.Agent{
		ID:        core.NewAgentID(),
		Name:      "Muse",
		Type:      core.AgentLettaV1,
		Model:     core.OfflineHandle,
		Timezone:  "Europe/Berlin",
		CreatedAt: now,
		UpdatedAt: now,
	}
	conv := core.Conversation{ID: core.DefaultConversation(agent.ID), Agent: agent.ID, CreatedAt: now, UpdatedAt: now}
	h.env = core.ToolEnv{
		Agent:        agent,
		Conversation: conv.ID,
		Run:          core.NewRunID(),
		Step:         core.NewStepID(),
		Read:         core.ReadsOf(h.store),
		Search:       storagetest.Search(h.store),
		Now:          now,
		Shown:        map[core.BlockID]int{},
		MaxReturn:    50_000,
		Author:       core.Author{Kind: core.AuthorAgent, ID: string(agent.ID)},
	}
	h.must(h.store.Agents().Create(tb.Context(), &agent))
	h.must(h.store.Conversations().Create(tb.Context(), &conv))
	h.block("human", "Ada\nlikes tea", 100, false)
	h.block("rules", "be kind", 100, true)
	return h
}

func (h *home) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) block(label, value string, limit int, readOnly bool) {
	h.t.Helper()
	b := core.Block{
		ID:        core.NewBlockID(),
		Label:     label,
		Value:     value,
		Limit:     limit,
		ReadOnly:  readOnly,
		CreatedAt: h.env.Now,
		UpdatedAt: h.env.Now,
	}
	h.must(h.store.Blocks().Create(h.t.Context(), &b, core.Author{Kind: core.AuthorUser}))
	h.must(h.store.Blocks().Attach(h.t.Context(), h.env.Agent.ID, b.ID))
	h.env.Shown[b.ID] = b.Version
}

func (h *home) read(label string) core.Block {
	h.t.Helper()
	b, err := h.store.Blocks().ByLabel(h.t.Context(), h.env.Agent.ID, label)
	h.must(err)
	return b
}

// call calls a tool outside of a transaction.
func (h *home) call(name string, args map[string]any) core.ToolResult {
	h.t.Helper()
	tool, ok, err := h.tools.Find(h.t.Context(), name)
	if err != nil || !ok {
		h.t.Fatalf("no tool %s: %v", name, err)
	}
	text, err := json.Marshal(args)
	h.must(err)
	result, err := tool.Tool.Call(h.t.Context(), core.ToolCall{ID: "c", Name: name, Arguments: string(text)}, h.env)
	h.must(err)
	return result
}

// apply runs edits as a save does: in one transaction, each in a savepoint that an error result rolls back.
func (h *home) apply(results ...core.ToolResult) []core.ToolResult {
	h.t.Helper()
	rollback := errors.New("roll back")
	final := make([]core.ToolResult, len(results))
	h.must(h.store.Tx(h.t.Context(), func(ctx context.Context, tx core.Store) error {
		for i, r := range results {
			if final[i] = r; r.Apply == nil {
				continue
			}
			err := tx.Tx(ctx, func(ctx context.Context, sp core.Store) error {
				var err error
				if final[i], err = r.Apply(ctx, core.EditsOf(sp)); err == nil && final[i].IsError {
					return rollback
				}
				return err
			})
			if err != nil && !errors.Is(err, rollback) {
				return err
			}
		}
		return nil
	}))
	return final
}

func (h *home) do(name string, args map[string]any) core.ToolResult {
	h.t.Helper()
	return h.apply(h.call(name, args))[0]
}

func TestMemoryToolsEditAndReturnTheNewValue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"core_memory_append", map[string]any{"label": "human", "content": "has a cat"}, "Ada\nlikes tea\nhas a cat"},
		{"core_memory_replace", map[string]any{"label": "human", "old_content": "a", "new_content": "o"}, "Ado\nlikes teo"},
		{"memory_insert", map[string]any{"label": "human", "new_string": "x"}, "Ada\nlikes tea\nx"},
		{"memory_insert", map[string]any{"label": "human", "new_string": "x", "insert_line": 1}, "Ada\nx\nlikes tea"},
		{"memory_replace", map[string]any{"label": "human", "old_string": "tea", "new_string": "coffee"}, "Ada\nlikes coffee"},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.env.Now = h.env.Now.Add(time.Hour)
			got := h.do(tt.tool, tt.args)
			block := h.read("human")
			if got.IsError || got.Text != tt.want || block.Value != tt.want {
				t.Errorf("return %q, block %q, want %q", got.Text, block.Value, tt.want)
			}
			if diff := cmp.Diff(map[core.BlockID]int{block.ID: 2}, got.Shows); diff != "" || block.Version != 2 {
				t.Errorf("Shows (-want +got):\n%s", diff)
			}
			if !block.UpdatedAt.Equal(h.env.Now) {
				t.Errorf("updated at %v, want %v", block.UpdatedAt, h.env.Now)
			}
			version, err := h.store.Blocks().Version(t.Context(), block.ID, 2)
			h.must(err)
			if version.Author.Kind != core.AuthorAgent || version.Author.ID != string(h.env.Agent.ID) {
				t.Errorf("author %+v", version.Author)
			}
			conv, err := h.store.Conversations().Get(t.Context(), h.env.Conversation)
			h.must(err)
			if !conv.Stale {
				t.Error("the stored system message is not marked stale")
			}
		})
	}
}

func TestReturnsShowLineNumbersWhereThePromptDoes(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.env.LineNumbers = true
	if got := h.do("memory_insert", map[string]any{"label": "human", "new_string": "x"}); got.Text != "1→ Ada\n2→ likes tea\n3→ x" {
		t.Errorf("%q", got.Text)
	}
}

func TestMemoryToolsRefuseWithWhatToDoAndChangeNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool string
		args map[string]any
		want string
	}{
		"no such block": {
			"core_memory_append",
			map[string]any{"label": "hunam", "content": "x"},
			`Error executing function core_memory_append: ValueError: there is no memory block "hunam". Your blocks are: human, rules`,
		},
		"read-only": {
			"core_memory_append", map[string]any{"label": "rules", "content": "x"}, "This block is read-only and cannot be edited.",
		},
		"missing": {
			"core_memory_replace", map[string]any{"label": "human", "old_content": "milk", "new_content": ""}, `"milk" does not occur`,
		},
		"ambiguous": {"memory_replace", map[string]any{"label": "human", "old_string": "a", "new_string": "o"}, "in lines 1, 2"},
		"over the limit": {
			"memory_insert",
			map[string]any{"label": "human", "new_string": strings.Repeat("x", 100)},
			"the block would have 114 characters, 14 more than its limit of 100",
		},
		"out of range":  {"memory_insert", map[string]any{"label": "human", "new_string": "x", "insert_line": 7}, "give 0 (the top) to 2"},
		"nothing said":  {"core_memory_append", map[string]any{"label": "human", "content": ""}, "content is empty"},
		"line numbers":  {"memory_insert", map[string]any{"label": "human", "new_string": "3→ x"}, "without them"},
		"no label":      {"memory_insert", map[string]any{"new_string": "x"}, `TypeError: missing required argument "label"`},
		"label no text": {"memory_insert", map[string]any{"label": 3, "new_string": "x"}, `argument "label" must be a string, not 3`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			got := h.do(tt.tool, tt.args)
			if !got.IsError || !strings.HasPrefix(got.Text, "Error executing function "+tt.tool+": ") ||
				!strings.Contains(got.Text, tt.want) {
				t.Errorf("%+v, want %q", got, tt.want)
			}
			if h.read("human").Version != 1 || h.read("rules").Version != 1 {
				t.Error("a refused edit changed a block")
			}
		})
	}
}

func TestEditsOfOneResponseSeeEachOther(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	got := h.apply(
		h.call("memory_insert", map[string]any{"label": "human", "new_string": "has a cat"}),
		h.call("memory_replace", map[string]any{"label": "human", "old_string": "likes milk", "new_string": "x"}),
		h.call("memory_replace", map[string]any{"label": "human", "old_string": "has a cat", "new_string": "has two cats"}),
	)
	if got[0].IsError || !got[1].IsError || got[2].IsError || got[2].Text != "Ada\nlikes tea\nhas two cats" {
		t.Errorf("%+v", got)
	}
	if b := h.read("human"); b.Value != got[2].Text || b.Version != 3 {
		t.Errorf("%+v", b)
	}
}

func TestLineNumbersOfAnotherVersionAreRefusedWithTheNewestText(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	block := h.read("human")
	block.Value = "new first line\nAda\nlikes tea"
	h.must(h.store.Blocks().Update(t.Context(), &block, core.Author{Kind: core.AuthorUser}))
	at := func(line int) map[string]any {
		return map[string]any{"label": "human", "new_string": "x", "insert_line": line}
	}
	got := h.do("memory_insert", at(1))
	if !got.IsError || !strings.HasSuffix(got.Text, "The value is now:\nnew first line\nAda\nlikes tea") {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(map[core.BlockID]int{block.ID: 2}, got.Shows); diff != "" {
		t.Errorf("the refusal shows the newest text but does not say so:\n%s", diff)
	}
	h.env.Shown = got.Shows
	if again := h.do("memory_insert", at(2)); again.IsError || again.Text != "new first line\nAda\nx\nlikes tea" {
		t.Errorf("the next try: %+v", again)
	}
	for _, line := range []int{0, -1} {
		if got := h.do("memory_insert", at(line)); got.IsError {
			t.Errorf("line %d counts nothing, but: %+v", line, got)
		}
	}
}

func TestArchivalMemoryIsMadeWithItsFirstPassageAndFound(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if got := h.do("archival_memory_search", map[string]any{"query": "compilers"}); got.IsError || got.Text != "No results found." {
		t.Errorf("before the first passage: %+v", got)
	}
	first := h.call("archival_memory_insert", map[string]any{"content": "Ada works on compilers.", "tags": []string{" work ", "work", ""}})
	if _, found, err := h.store.Archives().OfAgent(t.Context(), h.env.Agent.ID); err != nil || found {
		t.Errorf("the call wrote before it was applied: %v, %v", found, err)
	}
	got := h.apply(first, h.call("archival_memory_insert", map[string]any{"content": "Her cat is called <Turing>."}))
	for _, r := range got {
		if r.IsError || r.Text != "None" {
			t.Errorf("%+v", r)
		}
	}
	archive, found, err := h.store.Archives().OfAgent(t.Context(), h.env.Agent.ID)
	if err != nil || !found || archive.Name != "Muse's Archive" || archive.Passages != 2 {
		t.Errorf("%+v, %v, %v", archive, found, err)
	}
	var results []struct {
		ID, Timestamp, Content string
		Tags                   []string
	}
	search := h.do(
		"archival_memory_search",
		map[string]any{
			"query":          "compilers",
			"tags":           []string{"work"},
			"tag_match_mode": "all",
			"start_datetime": "2026-11-23",
			"end_datetime":   "2026-11-23",
		},
	)
	h.must(json.Unmarshal([]byte(search.Text), &results))
	if len(results) != 1 || results[0].Content != "Ada works on compilers." || results[0].Timestamp != "2026-11-23T09:15:00+01:00" ||
		!cmp.Equal(results[0].Tags, []string{"work"}) {
		t.Errorf("%s", search.Text)
	}
	newest := h.do("archival_memory_search", map[string]any{"query": "", "top_k": 1})
	if !strings.Contains(newest.Text, `"content":"Her cat is called <Turing>.","tags":[]`) || strings.Contains(newest.Text, "compilers") {
		t.Errorf("%s", newest.Text)
	}
	if none := h.do(
		"archival_memory_search",
		map[string]any{"query": "compilers", "end_datetime": "2026-11-22"},
	); none.Text != "No results found." {
		t.Errorf("%s", none.Text)
	}
}

func TestArchivalMemoryRefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, tt := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"archival_memory_insert", map[string]any{"content": "  "}, "nothing to keep"},
		{"archival_memory_insert", map[string]any{"content": strings.Repeat("x", core.MaxPassageChars+1)}, "more than the 32000 that fit"},
		{"archival_memory_search", map[string]any{"query": "x", "top_k": 0}, "top_k must be at least 1"},
		{"archival_memory_search", map[string]any{"query": "x", "start_datetime": "last week"}, `the start "last week" is not a date`},
		{"archival_memory_search", map[string]any{"query": "x", "tag_match_mode": "some"}, "must be one of any, all"},
	} {
		if got := h.do(tt.tool, tt.args); !got.IsError || !strings.Contains(got.Text, tt.want) {
			t.Errorf("%s %v: %+v", tt.tool, tt.args, got)
		}
	}
}

// say stores a message of the agent.
func (h *home) say(m core.Message) {
	h.t.Helper()
	m.ID, m.Agent, m.Conversation = core.NewMessageID(), h.env.Agent.ID, h.env.Conversation
	h.must(h.store.Messages().Insert(h.t.Context(), &m))
}

func TestConversationSearchFindsWhatWasSaidAndNeverItself(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	day := func(d int) time.Time { return h.env.Now.AddDate(0, 0, -d) }
	text := func(s string) []core.Content { return []core.Content{core.Text(s)} }
	called := func(name, args string) core.Content {
		return core.Content{Type: core.ContentCall, Call: &core.ToolCall{ID: "x", Name: name, Arguments: args}}
	}
	h.say(core.Message{Role: core.RoleUser, Content: text("My cat is called Turing."), CreatedAt: day(3)})
	h.say(
		core.Message{
			Role:      core.RoleAssistant,
			Content:   []core.Content{called("conversation_search", `{"query":"cat"}`)},
			CreatedAt: day(3),
		},
	)
	h.say(
		core.Message{
			Role:      core.RoleTool,
			Returns:   []core.ToolReturn{{CallID: "x", Name: "conversation_search", Text: "cat"}},
			CreatedAt: day(3),
		},
	)
	h.say(
		core.Message{
			Role:      core.RoleAssistant,
			Content:   []core.Content{called("send_message", `{"message":"A fine cat."}`)},
			CreatedAt: day(2),
		},
	)
	h.say(core.Message{Role: core.RoleUser, Content: text(`{"type":"heartbeat","reason":"cat","time":"now"}`), CreatedAt: day(2)})
	h.say(core.Message{Role: core.RoleSystem, Content: text("cat system"), CreatedAt: day(2)})
	h.say(core.Message{Role: core.RoleUser, Hidden: core.HiddenNotice, Content: text("cat notice"), CreatedAt: day(2)})
	h.say(core.Message{Role: core.RoleUser, Run: h.env.Run, Content: text("What was my cat called?"), CreatedAt: day(0)})

	type result struct {
		Timestamp string `json:"timestamp"`
		TimeAgo   string `json:"time_ago"`
		Role      string `json:"role"`
		Content   string `json:"content"`
	}
	search := func(args map[string]any) (string, []result) {
		var got struct {
			Message string   `json:"message"`
			Results []result `json:"results"`
		}
		r := h.do("conversation_search", args)
		if r.IsError {
			t.Fatalf("%+v", r)
		}
		h.must(json.Unmarshal([]byte(r.Text), &got))
		return got.Message, got.Results
	}
	said := result{"2026-11-20T09:15:00+01:00", "3 days ago", "user", "My cat is called Turing."}
	answered := result{"2026-11-21T09:15:00+01:00", "2 days ago", "assistant", "A fine cat."}
	for name, tt := range map[string]struct {
		args map[string]any
		want []result
	}{
		"everything, newest first": {nil, []result{answered, said}},
		"a limit":                  {map[string]any{"limit": 1}, []result{answered}},
		"a role":                   {map[string]any{"query": "cat", "roles": []string{"user"}}, []result{said}},
		"a day":                    {map[string]any{"query": "cat", "start_date": "2026-11-20", "end_date": "2026-11-20"}, []result{said}},
		"an earlier day":           {map[string]any{"query": "cat", "end_date": "2026-11-19"}, []result{}},
	} {
		message, got := search(tt.args)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		want := map[int]string{0: "No results found.", 1: "Showing 1 results:", 2: "Showing 2 results:"}[len(tt.want)]
		if message != want {
			t.Errorf("%s: message %q, want %q", name, message, want)
		}
	}
}

func TestConversationSearchTakesNothingFromTheQuestionThatItIsAskedFor(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	say := func(role core.Role, run core.RunID, text string) {
		h.say(core.Message{Role: role, Run: run, Content: []core.Content{core.Text(text)}, CreatedAt: h.env.Now})
	}
	say(core.RoleUser, "", "The bus was late.")
	say(core.RoleAssistant, "", "Buses are.")
	say(core.RoleUser, h.env.Run, "Do you remember the flavour of the cathedral?")
	if got := h.do("conversation_search", map[string]any{"query": "flavour of the cathedral"}); !strings.Contains(got.Text, "No results") {
		t.Errorf("the question lends its words: %s", got.Text)
	}
	say(core.RoleAssistant, "", "It rained.")
	if got := h.do("conversation_search", map[string]any{"query": "bus"}); !strings.Contains(got.Text, "Buses are") {
		t.Errorf("what was said before is not found: %s", got.Text)
	}
	if got := h.do("conversation_search", map[string]any{"query": "cathedral"}); !strings.Contains(got.Text, "No results") {
		t.Errorf("the question lends its words to what follows: %s", got.Text)
	}
}

func TestSearchesReturnWholeResultsWithinTheLimit(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for range 4 {
		h.say(core.Message{Role: core.RoleUser, Content: []core.Content{core.Text(strings.Repeat("cat ", 100))}, CreatedAt: h.env.Now})
		h.do("archival_memory_insert", map[string]any{"content": strings.Repeat("cat ", 100)})
	}
	h.env.MaxReturn = 1200
	for _, name := range []string{"conversation_search", "archival_memory_search"} {
		got := h.do(name, map[string]any{"query": "cat"})
		if !json.Valid([]byte(got.Text)) || len(got.Text) > 1300 || strings.Count(got.Text, `"timestamp"`) != 2 {
			t.Errorf("%s: %d characters: %s", name, len(got.Text), got.Text)
		}
	}
}
