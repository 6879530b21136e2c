package server

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/daemon/api"
)

// edited changes a passage as an agent does in a step.
func (f *fixture) edited(agent, id, text string) {
	f.t.Helper()
	p, err := f.store.Passages().Get(f.t.Context(), core.PassageID(id))
	if err != nil {
		f.t.Fatal(err)
	}
	p.Text = text
	if err := f.store.Passages().Update(f.t.Context(), &p, asAgent(agent)); err != nil {
		f.t.Fatal(err)
	}
}

// retired deletes a passage as an agent does.
func (f *fixture) retired(agent, id string) {
	f.t.Helper()
	if err := f.store.Passages().Retire(f.t.Context(), core.PassageID(id), asAgent(agent)); err != nil {
		f.t.Fatal(err)
	}
}

func asAgent(id string) core.Author {
	return core.Author{Kind: core.AuthorAgent, ID: id, Step: "step-1"}
}

// kept keeps a text in an agent's archival memory.
func (f *fixture) kept(agent, text string) api.Passage {
	f.t.Helper()
	body := map[string]any{"text": text, "tags": []string{"t"}}
	return as[[]api.Passage](f.call("POST", "/v1/agents/"+agent+"/archival-memory", body))[0]
}

// texts are an agent's passages, sorted.
func (f *fixture) texts(agent string) (out []string) {
	f.t.Helper()
	for _, p := range as[[]api.Passage](f.call("GET", "/v1/agents/"+agent+"/archival-memory", nil)) {
		out = append(out, p.Text)
	}
	slices.Sort(out)
	return out
}

func TestAPassagesPastIsListedAndUndone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	p := f.kept(a.ID, "The regatta is in May.")
	path := api.PathArchival + "/" + p.ID
	versions := as[[]api.PassageVersion](f.call("GET", path+"/versions", nil))
	if len(versions) != 1 || versions[0].Version != 1 || versions[0].Text != p.Text || versions[0].Author != "user" {
		t.Errorf("of one that never changed: %+v", versions)
	}
	f.call("POST", path+"/undo", nil).want(http.StatusConflict)
	f.call("POST", path+"/redo", nil).want(http.StatusConflict)
	f.call("PATCH", path, map[string]any{"text": "The regatta is in June."}).want(http.StatusOK)
	f.edited(a.ID, p.ID, "The regatta is in July.")
	f.retired(a.ID, p.ID)
	versions = as[[]api.PassageVersion](f.call("GET", path+"/versions?limit=2", nil))
	if len(versions) != 2 || !versions[0].Deleted || versions[0].Author != "agent" || api.Val(versions[0].AuthorID) != a.ID ||
		api.Val(versions[0].StepID) != "step-1" || versions[1].Text != "The regatta is in July." || versions[0].Seq <= versions[1].Seq {
		t.Errorf("versions %+v", versions)
	}
	undone := as[api.PassageUndone](f.call("POST", path+"/undo?agent_id="+a.ID, nil))
	if !undone.Was.Deleted || undone.Passage.Deleted || undone.Passage.Text != "The regatta is in July." || undone.Restores != 3 ||
		undone.Diff != "@@ -1,0 +1,1 @@\n+The regatta is in July.\n" {
		t.Errorf("undone %+v", undone)
	}
	back := as[[]api.Passage](f.call("GET", "/v1/agents/"+a.ID+"/archival-memory", nil))[0]
	want := p
	want.Text, want.UpdatedAt = "The regatta is in July.", back.UpdatedAt
	if diff := cmp.Diff(want, back); diff != "" {
		t.Errorf("what came back (-want +got):\n%s", diff)
	}
	found := as[[]api.PassageResult](f.call("POST", "/v1/passages/search", map[string]any{"agent_id": a.ID, "query": "regatta July"}))
	if len(found) != 1 || found[0].Passage.ID != p.ID {
		t.Errorf("found %+v", found)
	}
	for _, want := range []string{"The regatta is in June.", "The regatta is in May."} {
		if undone = as[api.PassageUndone](f.call("POST", path+"/undo", nil)); undone.Passage.Text != want {
			t.Errorf("undone to %q, want %q", undone.Passage.Text, want)
		}
	}
	for _, none := range []int{0, -1} { // only what is absent means the last
		f.call("POST", path+"/undo", map[string]any{"version": none}).want(http.StatusUnprocessableEntity)
	}
	f.call("POST", path+"/undo", nil).want(http.StatusConflict)
	if redone := as[api.PassageUndone](f.call("POST", path+"/redo", nil)); redone.Passage.Text != "The regatta is in June." {
		t.Errorf("redone %+v", redone)
	}
	jumped := as[api.PassageUndone](f.call("POST", path+"/undo", map[string]any{"version": 3}))
	if diff := cmp.Diff([]string{"The regatta is in July."}, f.texts(a.ID)); diff != "" || jumped.Restores != 3 {
		t.Errorf("%+v %s", jumped, diff)
	}
	stale := f.request("POST", path+"/undo", nil)
	stale.Header.Set("If-Match", `"3"`)
	f.do(stale).want(http.StatusConflict)
}

func TestWhichPassagesCanBeUndone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a, stranger := f.agent(nil), f.agent(nil)
	p := f.kept(a.ID, "one")
	path := api.PathArchival + "/" + p.ID
	f.edited(a.ID, p.ID, "two")
	f.call("POST", path+"/undo?agent_id="+stranger.ID, nil).want(http.StatusNotFound)
	f.call("GET", path+"/versions?agent_id="+stranger.ID, nil).want(http.StatusNotFound)
	f.call("POST", path+"/undo", map[string]any{"version": 9}).want(http.StatusNotFound)
	f.call("POST", path+"/undo", map[string]any{"version": -1}).want(http.StatusUnprocessableEntity)
	f.call("GET", path+"/versions?limit=5000", nil).want(http.StatusUnprocessableEntity)
	absent := api.PathArchival + "/" + string(core.NewPassageID())
	for _, what := range []string{"/undo", "/redo"} {
		f.call("POST", absent+what, nil).want(http.StatusNotFound)
		f.call("POST", api.PathArchival+"/passage-1"+what, nil).want(http.StatusUnprocessableEntity)
	}
	f.call("GET", absent+"/versions", nil).want(http.StatusNotFound)
	f.call("GET", api.PathArchivalOf(string(core.NewAgentID()))+"/changes", nil).want(http.StatusNotFound)
	f.call("GET", api.PathArchivalOf(string(core.NewAgentID()))+"/last", nil).want(http.StatusNotFound)
	f.call("DELETE", "/v1/agents/"+a.ID+"/archival-memory/"+p.ID, nil).want(http.StatusOK) // for good
	f.call("POST", path+"/undo", nil).want(http.StatusNotFound)
	if got := as[[]api.PassageVersion](f.call("GET", api.PathArchivalOf(a.ID)+"/changes", nil)); len(got) != 0 {
		t.Errorf("of what was deleted for good: %+v", got)
	}
}

func TestTheChangesOfAnArchiveAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	path := api.PathArchivalOf(a.ID) + "/changes"
	if got := as[[]api.PassageVersion](f.call("GET", path, nil)); len(got) != 0 {
		t.Errorf("without an archive: %+v", got)
	}
	one, two := f.kept(a.ID, "one"), f.kept(a.ID, "two")
	f.edited(a.ID, one.ID, "one, mended")
	f.retired(a.ID, two.ID)
	f.call("POST", api.PathArchival+"/"+one.ID+"/undo", nil).want(http.StatusOK)
	listed := func(query string) (out []string) {
		for _, v := range as[[]api.PassageVersion](f.call("GET", path+query, nil)) {
			what := v.Text
			if v.Deleted {
				what += " (deleted)"
			}
			out = append(out, what)
		}
		return out
	}
	if diff := cmp.Diff([]string{"one", "two (deleted)", "one, mended"}, listed("")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"one", "two (deleted)"}, listed("?limit=2")); diff != "" {
		t.Error(diff)
	}
}

func TestTheLastChangeOfAnAgentIsItsOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a, b := f.agent(nil), f.agent(nil)
	one, two := f.kept(a.ID, "one"), f.kept(a.ID, "two")
	f.call("PATCH", "/v1/agents/"+b.ID+"/archives/attach/"+*one.ArchiveID, nil).want(http.StatusOK)
	last := func(agent, query string) string {
		t.Helper()
		l := as[api.LastPassageChange](f.call("GET", api.PathArchivalOf(agent)+"/last"+query, nil))
		if l.Edit == nil {
			return ""
		}
		said := l.From.Text + " → " + l.Edit.Text
		if l.Since != nil {
			said += ", since " + l.Since.Text
		}
		return said
	}
	want := func(agent, query, want string) {
		t.Helper()
		if got := last(agent, query); got != want {
			t.Errorf("the last change is %q, want %q", got, want)
		}
	}
	undo := func(p api.Passage) {
		t.Helper()
		f.call("POST", api.PathArchival+"/"+p.ID+"/undo", nil).want(http.StatusOK)
	}
	want(a.ID, "", "")
	want(a.ID, "?redo=true", "")
	f.edited(a.ID, one.ID, "one, by a")
	f.edited(a.ID, two.ID, "two, by a")
	f.edited(b.ID, two.ID, "two, by b")
	want(a.ID, "", "two → two, by a, since two, by b")
	want(b.ID, "", "two, by a → two, by b")
	undo(two) // b's
	want(a.ID, "", "two → two, by a")
	want(a.ID, "?redo=true", "")
	want(b.ID, "?redo=true", "two, by a → two, by b")
	undo(two) // a's
	want(a.ID, "", "one → one, by a")
	want(a.ID, "?redo=true", "two → two, by a")
	want(b.ID, "?redo=true", "") // first a's is to be done again
	f.retired(a.ID, one.ID)
	want(a.ID, "", "one, by a → ")
	f.call("PATCH", api.PathArchival+"/"+two.ID, map[string]any{"text": "two, by a person"}).want(http.StatusOK)
	want(a.ID, "?redo=true", "")
	undo(one)
	want(a.ID, "", "one → one, by a")
	want(a.ID, "?redo=true", "one, by a → ")
}

func TestWhatCameAfterASourceIsUndoneByIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	p := f.kept(a.ID, "The regatta is in May.")
	id := core.PassageID(p.ID)
	now, err := f.store.Passages().Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	now.Text = "The regatta is in July."
	by := asAgent(a.ID)
	by.Source = "https://evil.example/page"
	if err := f.store.Passages().Update(t.Context(), &now, by); err != nil {
		t.Fatal(err)
	}
	path := api.PathSources(a.ID) + "/undo"
	for _, try := range []bool{true, false} {
		got := as[[]api.SourceUndone](f.call("POST", path, map[string]any{"source": "evil.example", "dry_run": try}))
		if len(got) != 1 || api.Val(got[0].PassageID) != p.ID || got[0].BlockID != nil || got[0].Taken != 1 || got[0].Kept != nil ||
			api.Val(got[0].Restores) != 1 || got[0].Diff != "@@ -1,1 +1,1 @@\n-The regatta is in July.\n+The regatta is in May.\n" {
			t.Errorf("try %v: %+v", try, got)
		}
		if want := map[bool]string{true: "The regatta is in July.", false: "The regatta is in May."}[try]; f.texts(a.ID)[0] != want {
			t.Errorf("try %v: %q", try, f.texts(a.ID))
		}
	}
	f.call("POST", path, map[string]any{"source": "evil.example"}).want(http.StatusNotFound)
	f.call("POST", path, map[string]any{"source": ""}).want(http.StatusUnprocessableEntity)
	f.call("POST", path, nil).want(http.StatusUnprocessableEntity)
}
