package server

import (
	"context"
	"net/http"
	"testing"

	"loci/core"
	"loci/daemon/api"
)

func TestAPassageSearchSaysWhyItFoundWhat(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	for _, text := range []string{
		"(1:56 pm on 8 May, 2023) Ann: Which instrument do you practise?", "(1:56 pm on 8 May, 2023) Bob: The oboe.",
		"(1:56 pm on 9 May, 2023) Bob: It rains.",
	} {
		f.call("POST", "/v1/agents/"+a.ID+"/archival-memory", map[string]any{"text": text})
	}
	found := as[[]api.PassageResult](
		f.call(
			"POST",
			"/v1/passages/search",
			map[string]any{"query": "Which instrument does Bob practise on 8 May 2023?", "agent_id": a.ID},
		),
	)
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
	for limit, status := range map[int]int{api.SearchMost: http.StatusOK, api.SearchMost + 1: http.StatusUnprocessableEntity} {
		f.call("POST", "/v1/messages/search", map[string]any{"query": "tea", "limit": limit}).want(status)
	}
}

func TestASearchSaysInAHeaderThatItIsPartial(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	f.call("POST", "/v1/agents/"+a.ID+"/archival-memory", map[string]any{"text": "tea"})
	f.call("POST", "/v1/folders", map[string]any{"name": "papers"}).want(http.StatusOK)
	for _, tt := range []struct {
		partial, building bool
		want              api.Partial
	}{{}, {true, false, api.PartialBehind}, {true, true, api.PartialBuilding}} {
		f.search.partial, f.search.building = tt.partial, tt.building
		for _, search := range [][2]string{
			{"POST", "/v1/messages/search"},
			{"POST", "/v1/agents/messages/search"},
			{"POST", "/v1/passages/search"},
			{"POST", api.PathFiles + "/search"},
			{"GET", "/v1/agents/" + a.ID + "/archival-memory/search?query=tea"},
		} {
			var body any
			if search[0] == "POST" {
				body = map[string]any{"query": "tea"}
			}
			got := f.call(search[0], search[1], body).want(http.StatusOK).header.Values(api.HeaderPartial)
			if want := string(tt.want); len(got) > 1 || len(got) == 0 != (want == "") || want != "" && got[0] != want {
				t.Errorf("%s: the header is %q, want %q", search[1], got, want)
			}
		}
	}
}

// searcher finds what there is, and says of it what a test wants.
type searcher struct {
	core.Searcher
	partial, building bool
}

func (s *searcher) Messages(ctx context.Context, q core.SearchQuery, m core.MessageFilter) (core.Results[core.MessageHit], error) {
	found, err := s.Searcher.Messages(ctx, q, m)
	found.Partial, found.Building = s.partial, s.building
	return found, err
}

func (s *searcher) Passages(ctx context.Context, q core.SearchQuery, p core.PassageFilter) (core.Results[core.PassageHit], error) {
	found, err := s.Searcher.Passages(ctx, q, p)
	found.Partial, found.Building = s.partial, s.building
	return found, err
}
