package server

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/daemon/api"
)

// reflecting is mirrors that only say what they were asked.
type reflecting struct{ asked []string }

func (r *reflecting) say(what string, agent core.AgentID) (core.MirrorState, error) {
	r.asked = append(r.asked, what)
	return core.MirrorState{
		Mirror: core.MemoryMirror{Agent: agent, Path: "/m", Branch: "main", On: true}, Blocks: 2, Commit: "abc",
		Notes: []core.MirrorNote{{Kind: core.MirrorConflict, Path: "system/a.conflict-1.md", Label: "a", Text: "both"}},
		Err:   core.E(core.Conflict, "a merge").WithHint("finish it"),
	}, nil
}

func (r *reflecting) State(_ context.Context, a core.AgentID) (core.MirrorState, error) {
	return r.say("state", a)
}

func (r *reflecting) On(_ context.Context, a core.AgentID, dir string) (core.MirrorState, error) {
	return r.say("on "+dir, a)
}

func (r *reflecting) Off(_ context.Context, a core.AgentID) (core.MirrorState, error) {
	return r.say("off", a)
}

func (r *reflecting) Sync(_ context.Context, a core.AgentID) (core.MirrorState, error) {
	return r.say("sync", a)
}

func (r *reflecting) Import(_ context.Context, _ core.AgentID, dir string, replace bool) (core.MirrorImport, error) {
	_, err := r.say("import "+dir, "")
	return core.MirrorImport{Made: []string{"a"}, Kept: []string{"b"}}, err
}

func TestOnlyTheSocketNamesFoldersOfAMirror(t *testing.T) {
	t.Parallel()
	mirrors := &reflecting{}
	f := newFixture(t, always("x"), func(c *Config) { c.Parts.Mirrors = mirrors })
	id := string(core.NewAgentID())
	path := api.PathAgents + "/" + id + "/mirror"
	folder := api.SetMemoryMirror{Path: "/m"}
	into := api.PathAgents + "/" + id + "/memory/import"
	f.call(http.MethodPut, path, folder).want(http.StatusForbidden)
	f.call(http.MethodPost, into, api.ImportMemory{Path: "/m"}).want(http.StatusForbidden)
	want := api.MemoryMirror{
		AgentID: id, On: true, Path: "/m", Branch: "main", Blocks: 2, Commit: "abc", Error: "a merge", Hint: "finish it",
		Notes: api.List[api.MemoryNote]{{Kind: api.MemoryMirrorConflict, Path: "system/a.conflict-1.md", Label: "a", Text: "both"}},
	}
	for _, r := range []reply{
		f.socket(http.MethodPut, path, folder, ""), f.call(http.MethodGet, path, nil),
		f.call(http.MethodPost, path+"/sync", nil), f.call(http.MethodDelete, path, nil),
	} {
		if diff := cmp.Diff(want, as[api.MemoryMirror](r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	done := as[api.ImportResult](f.socket(http.MethodPost, into, api.ImportMemory{Path: "/m"}, ""))
	if diff := cmp.Diff(api.ImportResult{
		Made: api.List[string]{
			"a",
		},
		Kept:     api.List[string]{"b"},
		Filled:   api.List[string]{},
		Replaced: api.List[string]{},
		Same:     api.List[string]{},
		Notes:    api.List[api.MemoryNote]{},
	}, done); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"on /m", "state", "sync", "off", "import /m"}, mirrors.asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
