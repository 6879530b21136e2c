package tools_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest/golden"
)

// talk is a conversation of a test: who speaks alternates, the person first.
func (h *home) talk(conv core.ConversationID, title string, at time.Time, texts ...string) []core.MessageID {
	h.t.Helper()
	if conv != h.env.Conversation {
		c := core.Conversation{ID: conv, Agent: h.env.Agent.ID, Summary: title, CreatedAt: at, UpdatedAt: at}
		h.must(h.store.Conversations().Create(h.t.Context(), &c))
	}
	return h.more(conv, at, texts...)
}

// more goes on with a conversation.
func (h *home) more(conv core.ConversationID, at time.Time, texts ...string) (ids []core.MessageID) {
	h.t.Helper()
	for i, text := range texts {
		m := core.Message{
			ID: core.NewMessageID(), Agent: h.env.Agent.ID, Conversation: conv, Role: core.RoleUser,
			Content:   []core.Content{core.Text(text)},
			CreatedAt: at.Add(time.Duration(i) * time.Minute),
		}
		if i%2 == 1 {
			m.Role = core.RoleAssistant
		}
		h.keep(m)
		ids = append(ids, m.ID)
	}
	return ids
}

// keep stores a message that its conversation shows.
func (h *home) keep(m core.Message) {
	h.t.Helper()
	h.must(h.store.Messages().Insert(h.t.Context(), &m))
	h.must(h.store.Messages().Enter(h.t.Context(), m.Conversation, 1, []core.MessageID{m.ID}, nil))
}

// Long texts are made of these; goldens abbreviate them.
const fish, vet = "It likes fish, chicken and beef. ", "The vet of Leipzig is kind. "

var score = regexp.MustCompile(`"score":[0-9.]+`)

// fixed names ids as a golden file does, and hides scores: they change with the ranking.
func fixed(text string, ids ...core.MessageID) string {
	text = strings.NewReplacer(fish, "~", vet, "^").Replace(score.ReplaceAllString(text, `"score":0.5`))
	for i, id := range ids {
		text = strings.ReplaceAll(text, string(id), "message-"+string(rune('A'+i)))
	}
	return text
}

// diary fills an agent's conversations and archive for the goldens.
func (h *home) diary() (ids []core.MessageID, passages []core.PassageID) {
	h.t.Helper()
	day := func(d int) time.Time { return h.env.Now.AddDate(0, 0, -d) }
	ids = h.talk(newConversation(), "Pets", day(30),
		"My cat is called <Turing> & sleeps a lot.", "A fine name. How old is he?", "He is nine.", "A good age.")
	ids = append(ids, h.talk(h.env.Conversation, "", day(3),
		"What do cats eat?", "Let me think.\nA cat eats meat above all: "+strings.Repeat(fish, 60)+
			"Turing may like tuna.", "The bus was late.", "Buses are.")...)
	archive := core.Archive{ID: core.NewArchiveID(), Name: "mine", CreatedAt: h.env.Now, UpdatedAt: h.env.Now}
	h.must(h.store.Archives().Create(h.t.Context(), &archive))
	h.must(h.store.Archives().Attach(h.t.Context(), h.env.Agent.ID, archive.ID))
	for i, text := range []string{
		"The cat Turing was vaccinated.", "The ferry leaves at nine.",
		strings.Repeat(vet, 300) + "Turing's cat food is tuna.",
	} {
		p := core.Passage{ID: core.NewPassageID(), Archive: archive.ID, Text: text, CreatedAt: day(20 - i), UpdatedAt: day(20 - i)}
		if i == 0 {
			p.Tags = []string{"pets", "health"}
		}
		h.must(h.store.Passages().Insert(h.t.Context(), &p))
		passages = append(passages, p.ID)
	}
	return ids, passages
}

// answers are the returns of the two searches, with their ids named.
func (h *home) answers(calls ...map[string]any) string {
	ids, passages := h.diary()
	var b strings.Builder
	for _, args := range calls {
		name := "conversation_search"
		if _, ok := args["top_k"]; ok {
			name = "archival_memory_search"
		}
		text, err := json.Marshal(args)
		h.must(err)
		got := fixed(h.do(name, args).Text, ids...)
		for i, id := range passages {
			got = strings.ReplaceAll(got, string(id), "passage-"+string(rune('A'+i)))
		}
		b.WriteString(name + " " + string(text) + "\n" + got + "\n\n")
	}
	return strings.TrimSpace(b.String())
}

// spec writes what a model is told of a tool.
func (h *home) spec(name string) string {
	tool, ok, err := h.tools.Find(h.t.Context(), name)
	if err != nil || !ok {
		h.t.Fatalf("no tool %s: %v", name, err)
	}
	text, err := json.MarshalIndent(tool.Info.SpecFor(&h.env.Agent), "", " ")
	h.must(err)
	return string(text)
}

// The goldens of the contract were written by the version before the terminal's agents had more arguments.
func TestAnAgentOfTheAPIKeepsTheContractsSearches(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	golden.Equal(t, "search_contract_tools", h.spec("conversation_search")+"\n"+h.spec("archival_memory_search"))
	golden.Equal(t, "search_contract", h.answers(
		map[string]any{"query": "cat Turing", "limit": 2},
		map[string]any{"limit": 2},
		map[string]any{"query": "How old is the cat?", "roles": []string{"assistant"}, "limit": 1},
		map[string]any{"query": "bus", "start_date": "2026-11-20"},
		map[string]any{"query": "zeppelin"},
		map[string]any{"query": "cat Turing", "top_k": 1},
		map[string]any{"query": "tuna", "top_k": 5},
		map[string]any{"query": "zeppelin", "top_k": 5},
	))
	for _, argument := range []string{"order", "around"} {
		got := h.do("conversation_search", map[string]any{"query": "cat", argument: "time"})
		if !got.IsError || !strings.Contains(got.Text, "unexpected argument") {
			t.Errorf("%s: %+v", argument, got)
		}
	}
}

func TestTheTerminalsAgentReadsWholeExchanges(t *testing.T) {
	t.Parallel()
	h := terminalHome(t)
	golden.Equal(t, "search_terminal_tools", h.spec("conversation_search")+"\n"+h.spec("archival_memory_search"))
	golden.Equal(t, "search_terminal", h.answers(
		map[string]any{"query": "cat Turing", "limit": 2},
		map[string]any{"query": "cat Turing", "limit": 2, "order": "time"},
		map[string]any{"query": "How old is the cat?", "roles": []string{"assistant"}, "limit": 1},
		map[string]any{"query": "bus", "start_date": "2026-11-20", "limit": 2},
		map[string]any{"limit": 50, "order": "time"},
		map[string]any{"limit": 3},
		map[string]any{"query": "zeppelin"},
		map[string]any{"query": "tuna", "top_k": 5},
		map[string]any{"query": "cat", "top_k": 2, "order": "time"},
		map[string]any{"query": "zeppelin", "top_k": 5},
	))
}
