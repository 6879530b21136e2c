package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/daemon/api"
)

const absentArchive = "/v1/archives/archive-123e4567-e89b-42d3-8456-426614174000"

func TestAnArchiveIsMadeChangedSharedAndDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	one, other := f.agent(nil), f.agent(map[string]any{"name": "other"})
	made := as[api.Archive](f.call("POST", "/v1/archives/", map[string]any{"name": "travel", "description": "where we were"}))
	if made.Name != "travel" || api.Val(made.Description) != "where we were" || api.Val(made.EmbeddingConfig.Handle) != "builtin/words" {
		t.Errorf("made %+v", made)
	}
	path := "/v1/archives/" + made.ID
	if got := as[api.Archive](
		f.call("PATCH", path, map[string]any{"name": "journeys", "description": nil}),
	); got.Name != "journeys" ||
		api.Val(got.Description) != "where we were" {
		t.Errorf("changed to %+v", got)
	}
	for _, a := range []api.AgentState{one, other} {
		f.call("PATCH", "/v1/agents/"+a.ID+"/archives/attach/"+made.ID, nil).want(http.StatusOK)
		f.call("PATCH", "/v1/agents/"+a.ID+"/archives/attach/"+made.ID, nil).want(http.StatusOK) // again: no effect
	}
	sharing := as[[]api.AgentState](f.call("GET", path+"/agents?order=asc", nil))
	if len(sharing) != 2 || sharing[0].ID != one.ID || sharing[1].ID != other.ID {
		t.Errorf("shared by %d agents", len(sharing))
	}
	if got := as[[]api.AgentState](
		f.call("GET", path+"/agents?order=asc&limit=1&after="+one.ID, nil),
	); len(got) != 1 ||
		got[0].ID != other.ID {
		t.Errorf("the second page of the agents has %d", len(got))
	}
	f.call("POST", "/v1/agents/"+one.ID+"/archival-memory", map[string]any{"text": "Lisbon was warm"})
	if got := as[[]api.Passage](f.call("GET", "/v1/agents/"+other.ID+"/archival-memory", nil)); len(got) != 1 {
		t.Errorf("the other agent sees %d passages of the shared archive", len(got))
	}
	second := as[api.Archive](f.call("POST", "/v1/archives/", map[string]any{"name": "second"}))
	f.call("PATCH", "/v1/agents/"+one.ID+"/archives/attach/"+second.ID, nil).want(http.StatusConflict)
	f.call("PATCH", "/v1/agents/"+one.ID+"/archives/detach/"+made.ID, nil).want(http.StatusOK)
	f.call("PATCH", "/v1/agents/"+one.ID+"/archives/detach/"+made.ID, nil).want(http.StatusNotFound)
	if got := as[[]api.Passage](f.call("GET", "/v1/agents/"+one.ID+"/archival-memory", nil)); len(got) != 0 {
		t.Errorf("an agent without the archive still sees %d passages", len(got))
	}
	f.call("DELETE", path, nil).want(http.StatusNoContent)
	f.call("GET", path, nil).want(http.StatusNotFound)
	f.call("DELETE", path, nil).want(http.StatusNotFound)
	if got := as[[]api.Passage](f.call("GET", "/v1/agents/"+other.ID+"/archival-memory", nil)); len(got) != 0 {
		t.Errorf("a deleted archive still shows %d passages", len(got))
	}
	f.call("GET", absentArchive+"/agents", nil).want(http.StatusNotFound)
	f.call("POST", "/v1/archives/", map[string]any{"name": ""}).want(http.StatusBadRequest)
	f.call("POST", "/v1/archives/", map[string]any{"name": "x", "embedding": "no handle"}).want(http.StatusBadRequest)
}

func TestAPassageIsMendedInPlace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	archive := as[api.Archive](f.call("POST", "/v1/archives/", map[string]any{"name": "notes"}))
	made := as[api.Passage](f.call("POST", "/v1/archives/"+archive.ID+"/passages", map[string]any{
		"text":       "the regatta starts on Tuesday",
		"tags":       []string{"sailing"},
		"metadata":   map[string]any{"page": 3},
		"created_at": "2024-05-01T10:00:00Z",
	}))
	path := "/loci/v1/passages/" + made.ID
	found := func(query string) (texts []string) {
		for _, r := range as[[]api.PassageResult](f.call("POST", "/v1/passages/search", map[string]any{
			"archive_id": archive.ID, "query": query,
		})) {
			texts = append(texts, r.Passage.Text)
		}
		return texts
	}
	got := as[api.Passage](f.call("PATCH", path, map[string]any{"text": "the race begins on Friday"}))
	want := made
	want.Text, want.UpdatedAt = "the race begins on Friday", got.UpdatedAt
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the text alone is new, want the rest as it was (-want +got):\n%s", diff)
	}
	if old, now := found("regatta"), found("race Friday"); len(old) != 0 || len(now) != 1 {
		t.Errorf("found by the old text %q, by the new one %q", old, now)
	}
	got = as[api.Passage](f.call("PATCH", path, map[string]any{"tags": []string{"race", "race"}, "metadata": map[string]any{}}))
	if !slices.Equal(got.Tags, []string{"race"}) || len(got.Metadata) != 0 || got.Text != "the race begins on Friday" {
		t.Errorf("changed to %+v", got)
	}
	for _, bad := range []map[string]any{
		{"text": ""}, {"text": nil}, {"text": " \n"}, {"text": strings.Repeat("x", core.MaxPassageChars+1)}, {"tags": []string{""}},
	} {
		f.call("PATCH", path, bad).want(http.StatusBadRequest)
	}
	f.call("DELETE", "/v1/archives/"+archive.ID+"/passages/"+made.ID, nil).want(http.StatusNoContent)
	f.call("PATCH", path, map[string]any{"text": "back from the dead"}).want(http.StatusNotFound)
}

func TestABatchOfPassagesIsKeptWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	archive := as[api.Archive](f.call("POST", "/v1/archives/", map[string]any{"name": "notes"}))
	path := "/v1/archives/" + archive.ID + "/passages"
	one := as[api.Passage](
		f.call(
			"POST",
			path,
			map[string]any{"text": "bread needs salt", "metadata": map[string]any{"page": 3}, "created_at": "2024-05-01T10:00:00Z"},
		),
	)
	if one.Metadata["page"] != 3.0 || one.CreatedAt.Year() != 2024 || api.Val(one.ArchiveID) != archive.ID {
		t.Errorf("inserted %+v", one)
	}
	batch := as[[]api.Passage](f.call("POST", path+"/batch", map[string]any{"passages": []map[string]any{
		{"text": "soup needs time", "tags": []string{"kitchen"}}, {"text": "rice needs water", "tags": []string{"kitchen", "grain"}},
	}}))
	if len(batch) != 2 || batch[0].Text != "soup needs time" {
		t.Errorf("the batch is %+v", batch)
	}
	f.call("POST", path+"/batch", map[string]any{"passages": []map[string]any{{"text": "tea needs leaves"}, {"text": ""}}}).
		want(http.StatusBadRequest)
	f.call("POST", path+"/batch", map[string]any{"passages": []map[string]any{}}).want(http.StatusBadRequest)
	f.call("POST", path, map[string]any{"text": " \t\n "}).want(http.StatusBadRequest)
	f.call("POST", absentArchive+"/passages", map[string]any{"text": "lost"}).want(http.StatusNotFound)
	search := func(body map[string]any) []api.PassageResult {
		body["archive_id"] = archive.ID
		return as[[]api.PassageResult](f.call("POST", "/v1/passages/search", body))
	}
	if got := search(map[string]any{"query": "leaves"}); len(got) != 0 {
		t.Errorf("a refused batch left %d passages", len(got))
	}
	if got := search(
		map[string]any{"tags": []string{"kitchen", "grain"}, "tag_match_mode": "all"},
	); len(got) != 1 ||
		got[0].Passage.ID != batch[1].ID {
		t.Errorf("by tags alone %+v are found", got)
	}
	f.call("DELETE", path+"/"+one.ID, nil).want(http.StatusNoContent)
	f.call("DELETE", path+"/"+one.ID, nil).want(http.StatusNotFound)
	f.call("DELETE", absentArchive+"/passages/"+batch[0].ID, nil).want(http.StatusNotFound)
	if got := search(map[string]any{}); len(got) != 2 {
		t.Errorf("a search without words has %d of the two that are left", len(got))
	}
}

func TestMessagesOfAllAgentsAreSearchedWithRolesAndWhy(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("The harbour lies in the fog."))
	a := f.agent(nil)
	f.call("POST", "/v1/agents/"+a.ID+"/messages", map[string]any{
		"messages": []map[string]any{{"role": "user", "content": "How is the harbour?"}},
	}).
		want(http.StatusOK)
	ask := func(body map[string]any) []api.AgentMessageResult {
		return as[[]api.AgentMessageResult](f.call("POST", "/v1/agents/messages/search", body))
	}
	both := ask(map[string]any{"query": "harbour"})
	if len(both) != 2 || both[0].RRFScore < both[1].RRFScore || both[0].Metadata["words"] == nil {
		t.Fatalf("found %+v", both)
	}
	said := ask(map[string]any{"query": "harbour", "roles": []string{"assistant"}, "agent_id": a.ID})
	if len(said) != 1 || said[0].Message.Role != "assistant" || said[0].EmbeddedText != "The harbour lies in the fog." {
		t.Errorf("with a role %+v is found", said)
	}
	if got := ask(map[string]any{"query": "harbour", "end_date": "2001-01-01T00:00:00Z"}); len(got) != 0 {
		t.Errorf("before there was anything %d are found", len(got))
	}
	f.call("POST", "/v1/agents/messages/search", map[string]any{"query": "harbour", "roles": []string{"assistant", "captain"}}).
		want(http.StatusUnprocessableEntity)
	f.call("POST", "/v1/agents/messages/search", map[string]any{"query": "harbour", "end_date": "soon"}).
		want(http.StatusUnprocessableEntity)
}

func TestADateThatEndsASearchCountsWholeWhereTheAgentIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("The harbour lies in the fog."))
	for _, zone := range []string{"UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"} { // at most times, two of them have not one date
		at, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().In(at)
		a := f.agent(map[string]any{"timezone": zone})
		f.call("POST", "/v1/agents/"+a.ID+"/messages", map[string]any{
			"messages": []map[string]any{{"role": "user", "content": "How is the harbour?"}},
		}).
			want(http.StatusOK)
		f.call("POST", "/v1/agents/"+a.ID+"/archival-memory", map[string]any{"text": "The harbour freezes in winter."}).want(http.StatusOK)
		for _, path := range []string{"/v1/messages/search", "/v1/agents/messages/search", "/v1/passages/search"} {
			found := func(from, until string) int {
				return len(
					as[[]any](
						f.call("POST", path, map[string]any{"query": "harbour", "agent_id": a.ID, "start_date": from, "end_date": until}),
					),
				)
			}
			if found("2001-01-01", now.Format(time.DateOnly)) == 0 && time.Now().In(at).Day() == now.Day() { // midnight may have passed
				t.Errorf("%s in %s: nothing is found of today", path, zone)
			}
			if n := found("2001-01-01", now.AddDate(0, 0, -1).Format(time.DateOnly)); n != 0 {
				t.Errorf("%s in %s: %d of today are found until yesterday", path, zone, n)
			}
		}
	}
}
