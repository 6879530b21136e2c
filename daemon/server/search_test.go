package server

import (
	"net/http"
	"testing"

	"loci/daemon/api"
)

func TestAPassageSearchSaysWhyItFoundWhat(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	for _, text := range []string{
		"(1:56 pm on 8 May, 2023) Ann: Which instrument do you practise?", "(1:56 pm on 8 May, 2023) Bob: The oboe.", "(1:56 pm on 9 May, 2023) Bob: It rains.",
	} {
		f.call("POST", "/v1/agents/"+a.ID+"/archival-memory", map[string]any{"text": text})
	}
	found := as[[]api.PassageResult](f.call("POST", "/v1/passages/search", map[string]any{"query": "Which instrument does Bob practise on 8 May 2023?", "agent_id": a.ID}))
	if len(found) < 2 || found[0].Passage.Text != "(1:56 pm on 8 May, 2023) Bob: The oboe." || found[0].Score <= found[1].Score {
		t.Fatalf("%+v", found)
	}
	why := found[0].Metadata
	inherited, _ := why["inherited"].([]any)
	if why["speaker"] != true || why["date"] != true || why["words"] != nil || len(inherited) != 1 {
		t.Fatalf("why %+v", why)
	}
	if from, _ := inherited[0].(map[string]any); from["from"] != found[1].Passage.ID {
		t.Errorf("inherited from %v, not from %s", from["from"], found[1].Passage.ID)
	}
	if words, _ := found[1].Metadata["words"].([]any); len(words) != 2 {
		t.Errorf("words of the question: %v", words)
	}
}

func TestASearchGivesNoMoreResultsThanItsClientsKnowOf(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	for limit, status := range map[int]int{api.SearchMost: http.StatusOK, api.SearchMost + 1: http.StatusBadRequest} {
		f.call("POST", "/v1/messages/search", map[string]any{"query": "tea", "limit": limit}).want(status)
	}
}
