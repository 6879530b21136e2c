package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"loci/daemon/api"
)

func TestAnAnswerOfAWrongShapeIsNoticed(t *testing.T) {
	t.Parallel()
	as := func(body string) reply {
		return reply{t: t, status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, body: []byte(body)}
	}
	for name, c := range map[string]struct{ path, body, wrong string }{
		"whole":             {"/v1/agents/x/messages", `[{"id":"m","date":"d","message_type":"user_message","content":"hi"}]`, ""},
		"a key is missing":  {"/v1/agents/x/messages", `[{"id":"m","message_type":"user_message","content":"hi"}]`, "lacks date"},
		"a null":            {"/v1/agents/x/messages", `[{"id":"m","date":null,"message_type":"user_message","content":"hi"}]`, "date is"},
		"deep inside":       {"/v1/runs/x/usage", `{"prompt_tokens_details":{"cached_tokens":"5"}}`, "details.cached_tokens"},
		"no member":         {"/v1/runs", `[{"agent_id":"a","status":"asleep"}]`, "status is asleep"},
		"no list":           {"/v1/tags", `{}`, "no list"},
		"a plain value":     {"/v1/agents/count", `"3"`, "not integer"},
		"what has no shape": {"/v1/unheard/of", `5`, ""},
	} {
		got := wrongShape(httptest.NewRequest(http.MethodGet, c.path, nil), as(c.body))
		if c.wrong == "" && got != "" || !strings.Contains(got, c.wrong) {
			t.Errorf("%s: %q, want %q", name, got, c.wrong)
		}
	}
}

// served is a list that the walk goes through, in a house that has some of everything.
type served struct {
	path   string
	query  string // of the walk, what narrows it to what was made
	want   int    // how many entries there are; 0: at least five
	barren string // a filter that nothing matches; empty: there is none
	window bool   // after is newer and before older, whatever the order
	single bool   // only after, without before
}

// furnished is a house with at least five of everything that is listed.
func furnished(t *testing.T) (*shelf, []served) {
	t.Helper()
	s := newShelf(t)
	block := as[api.Block](s.call("POST", "/v1/blocks", map[string]any{"label": "shared", "value": "v"}))
	archive := as[api.Archive](s.call("POST", "/v1/archives", map[string]any{"name": "all", "embedding": "builtin/words"}))
	agent := ""
	for i := range 5 {
		a := s.agent(map[string]any{
			"block_ids": []string{block.ID}, "folder_ids": []string{s.folder.ID}, "tags": []string{fmt.Sprint("tag", i)},
			"tools": []string{"archival_memory_insert", "archival_memory_search"},
			"memory_blocks": []map[string]any{
				{"label": "a", "value": ""}, {"label": "b", "value": ""}, {"label": "c", "value": ""}, {"label": "d", "value": ""},
			},
		})
		s.call("PATCH", "/v1/agents/"+a.ID+"/archives/attach/"+archive.ID, nil).want(http.StatusOK)
		agent = a.ID
	}
	for i := range 5 {
		s.call("POST", "/v1/agents/"+agent+"/messages", text(fmt.Sprint("message ", i))).want(http.StatusOK)
		s.call("POST", "/v1/agents/"+agent+"/archival-memory", map[string]any{"text": fmt.Sprint("fact ", i)}).want(http.StatusOK)
		s.call("POST", "/v1/archives", map[string]any{"name": fmt.Sprint("archive", i)}).want(http.StatusOK)
		s.call("POST", "/v1/conversations?agent_id="+agent, map[string]any{"summary": "s"}).want(http.StatusOK)
		folder := as[api.Folder](s.call("POST", "/v1/folders", map[string]any{"name": fmt.Sprint("folder", i)}))
		s.call("PATCH", "/v1/agents/"+agent+"/folders/attach/"+folder.ID, nil).want(http.StatusOK)
		provider := map[string]any{"name": fmt.Sprint("p", i), "provider_type": "openai", "api_key": "k"}
		source := fmt.Sprintf("def tool%d():\n  '''Does nothing.'''\n", i)
		s.call("POST", "/v1/tools", map[string]any{"source_code": source}).want(http.StatusOK)
		s.call("POST", "/v1/providers", provider).want(http.StatusOK)
		s.done(s.put(fmt.Sprint("file", i, ".txt"), "Some words.\n").ID)
	}
	conv := as[[]api.Conversation](s.call("GET", "/v1/conversations?agent_id="+agent, nil))[0].ID
	for i := range 3 {
		s.call("POST", "/v1/conversations/"+conv+"/messages", with(text(fmt.Sprint("aside ", i)), "streaming", false)).want(http.StatusOK)
	}
	run := as[[]api.Run](s.call("GET", "/v1/runs?limit=1", nil))[0].ID
	step := as[[]api.Step](s.call("GET", "/v1/steps?limit=1", nil))[0].ID
	own := "/v1/agents/" + agent
	few := []string{"assistant_message"}
	s.call("POST", own+"/messages", with(text("narrow"), "include_return_message_types", few)).want(http.StatusOK)
	narrow := as[[]api.Run](s.call("GET", "/v1/runs?limit=1", nil))[0].ID
	const rare = "include_return_message_types=system_message"
	return s, []served{
		{path: "/v1/agents", barren: "name=nobody"},
		{path: own + "/tools"},
		{path: own + "/core-memory/blocks"},
		{path: own + "/folders"},
		{path: own + "/sources"},
		{path: own + "/messages", window: true, barren: "include_return_message_types=event_message"},
		{path: own + "/messages", query: rare, want: 1, window: true},
		{path: own + "/messages", query: "include_return_message_types=user_message", window: true},
		{path: own + "/archival-memory", barren: "search=zebra"},
		{path: "/v1/archives", barren: "name=nothing"},
		{path: "/v1/archives/" + archive.ID + "/agents"},
		{path: "/v1/blocks", barren: "label=nothing"},
		{path: "/v1/blocks/" + block.ID + "/agents"},
		{path: "/v1/conversations", query: "agent_id=" + agent, barren: "summary_search=zebra", single: true},
		{path: "/v1/conversations/" + conv + "/messages", barren: "include_return_message_types=event_message"},
		{path: "/v1/conversations/" + conv + "/messages", query: rare, want: 1},
		{path: "/v1/conversations/" + agent + "/messages", window: true},
		{path: "/v1/conversations/" + agent + "/messages", query: rare, want: 1, window: true},
		{path: "/v1/folders", barren: "name=nothing"},
		{path: "/v1/folders/" + s.folder.ID + "/agents"},
		{path: "/v1/folders/" + s.folder.ID + "/files"},
		{path: "/v1/folders/" + s.folder.ID + "/passages"},
		{path: "/v1/sources/" + s.folder.ID + "/agents"},
		{path: "/v1/sources/" + s.folder.ID + "/files"},
		{path: "/v1/sources/" + s.folder.ID + "/passages"},
		{path: "/v1/messages", window: true, barren: "include_return_message_types=event_message"},
		{path: "/v1/messages", query: rare, window: true},
		{path: "/v1/providers", barren: "name=nobody"},
		{path: "/v1/runs", barren: "statuses=failed"},
		{path: "/v1/runs/" + run + "/messages", want: 2},
		{path: "/v1/runs/" + narrow + "/messages", want: 1},
		{path: "/v1/runs/" + run + "/steps", want: 1},
		{path: "/v1/steps", barren: "model=none"},
		{path: "/v1/steps/" + step + "/messages", want: 2},
		{path: "/v1/tags", barren: "query_text=zebra"},
		{path: "/v1/tools", query: "tool_types=custom", barren: "name=nothing"},
		{path: "/v1/tools", barren: "name=nothing"},
	}
}

// TestEveryListIsWalkedByItsCursors goes through all lists as the SDKs do, page by page, in both orders and back.
func TestEveryListIsWalkedByItsCursors(t *testing.T) {
	t.Parallel()
	s, lists := furnished(t)
	for _, l := range lists {
		t.Run(strings.TrimPrefix(l.path, "/v1/"), func(t *testing.T) {
			t.Parallel()
			w := walker{t: t, s: s, served: l}
			all := w.page("limit=1000")
			if l.want == 0 && len(all) < 5 || l.want > 0 && len(all) != l.want {
				t.Fatalf("there are %d entries", len(all))
			}
			if l.window {
				w.windows(all)
			} else {
				w.orders()
			}
			if l.barren != "" {
				if got := w.page(l.barren); len(got) != 0 {
					t.Errorf("%s finds %v", l.barren, got)
				}
			}
		})
	}
	w := walker{t: t, s: s}
	for path := range w.withLimit() {
		if !slices.ContainsFunc(lists, func(l served) bool { return sameTemplate(path, l.path) }) {
			t.Errorf("%s is walked by nobody", path)
		}
	}
}

// walker reads one list.
type walker struct {
	t *testing.T
	s *shelf
	served
}

// page reads a page and returns the ids of its entries, each once.
func (w walker) page(query string) []string {
	w.t.Helper()
	if w.query != "" {
		query = w.query + "&" + query
	}
	var raw []any
	r := w.s.call("GET", w.path+"?"+query, nil)
	r.t = w.t
	r.want(http.StatusOK)
	if err := json.Unmarshal(r.body, &raw); err != nil || r.body[0] != '[' {
		w.t.Fatalf("%s answers with %s: %v", query, r.body, err)
	}
	var out []string
	for _, entry := range raw {
		id := fmt.Sprint(entry)
		if m, ok := entry.(map[string]any); ok {
			id = fmt.Sprint(m["id"])
		}
		if len(out) == 0 || out[len(out)-1] != id { // the parts of a message have its id
			out = append(out, id)
		}
	}
	return out
}

// through follows a cursor with pages of two until one is empty.
func (w walker) through(cursor, order string) (all []string) {
	w.t.Helper()
	at := ""
	for range 1000 {
		query := url.Values{"limit": {"2"}}
		for key, values := range w.ordered(order) {
			query[key] = values
		}
		if at != "" {
			query.Set(cursor, at)
		}
		got := w.page(query.Encode())
		if len(got) == 0 {
			return all
		}
		if len(got) > 2 {
			w.t.Fatalf("a page of two has %d", len(got))
		}
		all = append(all, got...)
		at = got[len(got)-1]
	}
	w.t.Fatalf("after %s %s there is no end", cursor, order)
	return nil
}

// ordered asks for an order, by the older parameter where there is only that.
func (w walker) ordered(order string) url.Values {
	if strings.HasSuffix(w.path, "/archival-memory") {
		return url.Values{"ascending": {fmt.Sprint(order == "asc")}}
	}
	return url.Values{"order": {order}}
}

// orders checks a list whose after and before follow the order that was asked for.
func (w walker) orders() {
	w.t.Helper()
	asc, desc := w.through("after", "asc"), w.through("after", "desc")
	slices.Reverse(desc)
	if !slices.Equal(asc, desc) || len(asc) == 0 {
		w.t.Errorf("oldest first there are\n%v\nnewest first, turned round,\n%v", asc, desc)
	}
	if seen := slices.Compact(slices.Sorted(slices.Values(asc))); len(seen) != len(asc) {
		w.t.Errorf("%d entries come %d times", len(seen), len(asc))
	}
	if w.single || len(asc) < 3 {
		return
	}
	query := w.ordered("asc")
	query.Set("before", asc[2])
	if got := w.page(query.Encode()); !slices.Equal(got, asc[:2]) {
		w.t.Errorf("before %s there are %v, want %v", asc[2], got, asc[:2])
	}
}

// windows checks a list of messages, whose pages are oldest first and whose after is newer in either order.
func (w walker) windows(all []string) {
	w.t.Helper()
	if got := w.through("after", "asc"); !slices.Equal(got, all) {
		w.t.Errorf("onward there are\n%v, want\n%v", got, all)
	}
	var back []string
	for at := ""; ; {
		query := "limit=2&before=" + at
		got := w.page(query)
		if len(got) == 0 || len(back) > len(all) {
			break
		}
		back, at = append(slices.Clone(got), back...), got[0]
	}
	if !slices.Equal(back, all) {
		w.t.Errorf("backward there are\n%v, want\n%v", back, all)
	}
}

// withLimit are the paths of lists, as the server describes itself.
func (w walker) withLimit() map[string]bool {
	w.t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name string }
		}
	}
	if err := json.Unmarshal(w.s.call("GET", "/openapi.json", nil).want(http.StatusOK).body, &doc); err != nil {
		w.t.Fatal(err)
	}
	out := map[string]bool{}
	for path, methods := range doc.Paths {
		op, ok := methods["get"]
		if !ok || !strings.HasPrefix(path, "/v1/") || strings.HasSuffix(path, "/count") ||
			path == "/v1/agents/{agent_id}/files" { // has pages of its own, see TestAgentFiles
			continue
		}
		for _, p := range op.Parameters {
			out[path] = out[path] || p.Name == "limit"
		}
		if !out[path] {
			delete(out, path)
		}
	}
	return out
}

func sameTemplate(template, path string) bool {
	return slices.EqualFunc(strings.Split(template, "/"), strings.Split(path, "/"), func(want, part string) bool {
		return part == want || strings.HasPrefix(want, "{")
	})
}
