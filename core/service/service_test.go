package service

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
	"loci/core/engine"
	"loci/core/session"
	"loci/storage"
	"loci/storage/storagetest"
	"loci/tools"
)

// reach is what models can be reached: the handles it holds, the first one first.
type reach []core.Handle

func (r reach) Chat(_ context.Context, h core.Handle, env core.Env) (core.ChatModel, core.ModelInfo, error) {
	if h == "keyed/model" {
		if _, ok := env("KEYED_API_KEY"); !ok {
			return nil, core.ModelInfo{}, core.E(core.Unauthenticated, "no key")
		}
		return r, core.ModelInfo{Handle: h, Name: "model"}, nil
	}
	for _, have := range append(r, core.OfflineHandle) {
		if have == h || h == "real/unlisted" {
			return r, core.ModelInfo{Handle: h, Name: "model", ContextWindow: 1000, Offline: h == core.OfflineHandle}, nil
		}
	}
	return nil, core.ModelInfo{}, core.E(core.NotFound, "no model %s", h)
}

func (r reach) List(context.Context, core.Env, core.ModelQuery) ([]core.ModelInfo, error) {
	var out []core.ModelInfo
	for _, h := range r {
		out = append(out, core.ModelInfo{Handle: h})
	}
	return out, nil
}

func (r reach) Unbuilt(env core.Env) []string {
	if _, set := env("GEMINI_API_KEY"); set {
		return []string{"GEMINI_API_KEY"}
	}
	return nil
}

func (r reach) Silent(context.Context, core.Env) []string { return nil }

func (r reach) Moved(core.Env) map[string]string { return nil }

func (r reach) First(context.Context, core.Env) core.Reach {
	if len(r) == 0 {
		return core.Reach{}
	}
	return core.Reach{Info: core.ModelInfo{Handle: r[0], Name: "model"}, OK: true, Because: "REAL_API_KEY is set"}
}

func (reach) Stream(context.Context, core.ChatRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) { yield(core.Delta{}, errors.New("nobody asks this model")) }
}

func newServices(t *testing.T, models reach, change ...func(*Config)) *Services {
	t.Helper()
	return newServicesOn(t, storage.Config{}, models, change...)
}

func newServicesOn(t *testing.T, on storage.Config, models reach, change ...func(*Config)) *Services {
	t.Helper()
	on.Dir = t.TempDir()
	store, err := storage.Open(context.Background(), on)
	if err != nil {
		t.Fatal(err)
	}
	box := tools.New()
	eng := engine.New(engine.Config{Store: store, Search: storagetest.Search(store), Log: store.Events(), Models: models, Tools: box})
	cfg := Config{Store: store, Search: storagetest.Search(store), Engine: eng, Models: models, Tools: box, RegisterWithin: time.Minute}
	for _, c := range change {
		c(&cfg)
	}
	s := New(cfg)
	t.Cleanup(func() {
		s.Close()
		if err := errors.Join(eng.Shutdown(context.Background()), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func register(t *testing.T, s *Services, in session.Hello) core.Client {
	t.Helper()
	c, err := s.Clients.Register(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTwoFirstStartsMakeOneAgent(t *testing.T) {
	t.Parallel()
	s := newServices(t, nil)
	const starts = 8
	opened := make([]OpenResult, starts)
	errs := make([]error, starts)
	var wg sync.WaitGroup
	for i := range starts {
		c := register(t, s, session.Hello{Kind: core.ClientChat, Folder: "/home/ada"})
		wg.Go(func() { opened[i], errs[i] = s.Clients.Open(t.Context(), c, Open{}) })
	}
	wg.Wait()
	made := 0
	for i, o := range opened {
		if errs[i] != nil || o.Agent.ID != opened[0].Agent.ID {
			t.Errorf("start %d opened %s: %v", i, o.Agent.ID, errs[i])
		}
		if o.AgentNew {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d agents were made", made)
	}
}

func TestTheTerminalsAgentIsOfflineOnlyWhereNothingElseIsReachable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		models reach
		fixed  core.Handle
		want   core.Handle
	}{
		{nil, "", core.OfflineHandle},
		{reach{"real/one"}, "", "real/one"},
		{reach{"real/one", "real/two"}, "real/two", "real/two"},
	} {
		s := newServices(t, c.models, func(cfg *Config) { cfg.DefaultModel = c.fixed })
		o, err := s.Clients.Open(t.Context(), register(t, s, session.Hello{Kind: core.ClientChat}), Open{})
		if err != nil || o.Agent.Model != c.want || !o.Agent.ModelAuto {
			t.Errorf("%v %q: model %s, auto %v: %v", c.models, c.fixed, o.Agent.Model, o.Agent.ModelAuto, err)
		}
	}
}

func TestAKeyThatCannotBeUsedYetIsNamedWhateverAnswers(t *testing.T) {
	t.Parallel()
	for name, models := range map[string]reach{"offline": nil, "a real model": {"real/one"}} {
		s := newServices(t, models)
		for start := range 2 { // the agent is made by the first
			for want, vars := range map[string]map[string]string{"": nil, "GEMINI_API_KEY": {"GEMINI_API_KEY": "k"}} {
				o, err := s.Clients.Open(t.Context(), register(t, s, session.Hello{Kind: core.ClientScript, Variables: vars}), Open{})
				if got := strings.Join(o.Unbuilt, " "); err != nil || got != want {
					t.Errorf("%s, start %d: named %q (%v), want %q", name, start, got, err, want)
				}
			}
		}
	}
}

func TestAnAgentOfTheAPINeedsAModel(t *testing.T) {
	t.Parallel()
	s := newServices(t, nil)
	if _, err := s.Agents.Create(t.Context(), NewAgent{}, nil); core.KindOf(err) != core.Invalid || core.HintOf(err) == "" {
		t.Errorf("without any model: %v", err)
	}
	for handle, want := range map[core.Handle]core.Kind{
		"none/none": core.NotFound, "bare": core.Invalid, "keyed/model": "", core.OfflineHandle: "",
	} {
		if _, err := s.Agents.Create(t.Context(), NewAgent{Model: handle}, nil); core.KindOf(err) != want {
			t.Errorf("%s: %v, want kind %q", handle, err, want)
		}
	}
	real := newServices(t, reach{"real/one"})
	if a, err := real.Agents.Create(t.Context(), NewAgent{}, nil); err != nil || a.Model != "real/one" || a.ModelAuto {
		t.Errorf("with a reachable model: %s %v", a.Model, err)
	}
	a, err := real.Agents.Create(t.Context(), NewAgent{Model: "real/unlisted"}, nil)
	if said := real.Models.Info(
		t.Context(),
		a.Model,
		nil,
	).Notice; err != nil || a.Model != "real/unlisted" ||
		!strings.Contains(said, `real does not list "unlisted"`) {
		t.Errorf("a model that is not listed: %s %v, warned %q", a.Model, err, said)
	}
	if _, err := real.Agents.Create(t.Context(), NewAgent{Model: "real/nope"}, nil); core.KindOf(err) != core.NotFound {
		t.Errorf("a model that the server says it does not have: %v", err)
	}
}

func TestAnEditedBlockMarksEveryAgentThatShowsItStale(t *testing.T) {
	t.Parallel()
	s := newServices(t, reach{"real/one"})
	b, err := s.Blocks.Create(t.Context(), core.Block{Label: "shared"})
	if err != nil {
		t.Fatal(err)
	}
	var agents []core.AgentID
	for range 2 {
		a, err := s.Agents.Create(t.Context(), NewAgent{BlockIDs: []core.BlockID{b.ID}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, a.ID)
	}
	edited, err := s.Blocks.Update(t.Context(), b.ID, BlockPatch{Value: core.Some("new")}, b.Version, "")
	if err != nil || edited.Version != b.Version+1 {
		t.Fatalf("%+v %v", edited, err)
	}
	for _, id := range agents {
		conv, err := s.Conversations.Get(t.Context(), core.DefaultConversation(id))
		if err != nil || !conv.Stale {
			t.Errorf("%s: stale %v, %v", id, conv.Stale, err)
		}
	}
	_, err = s.Blocks.Update(t.Context(), b.ID, BlockPatch{Value: core.Some("lost?")}, b.Version, "")
	var e *core.Error
	if !errors.As(err, &e) || e.Kind != core.Conflict {
		t.Fatalf("a stale overwrite: %v", err)
	}
	if stale, ok := e.Detail.(*StaleBlockError); !ok || stale.Newest.Value != "new" {
		t.Errorf("detail = %+v", e.Detail)
	}
	versions, err := s.Blocks.Versions(t.Context(), b.ID, core.Page{})
	if err != nil || len(versions) != 2 || versions[0].Author.Kind != core.AuthorUser {
		t.Errorf("versions = %+v %v", versions, err)
	}
	if _, err := s.Agents.AttachBlock(t.Context(), agents[0], core.NewBlockID()); core.KindOf(err) != core.NotFound {
		t.Errorf("attach of nothing: %v", err)
	}
	twin, err := s.Blocks.Create(t.Context(), core.Block{Label: "twin"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Agents.AttachBlock(t.Context(), agents[0], twin.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Blocks.Update(t.Context(), twin.ID, BlockPatch{Label: core.Some("shared")}, 0, ""); core.KindOf(err) != core.Conflict {
		t.Errorf("a label that the agent has already: %v", err)
	}
}

func TestAttachmentsRaiseTheRevisionOnce(t *testing.T) {
	t.Parallel()
	s := newServices(t, reach{"real/one"})
	a, err := s.Agents.Create(t.Context(), NewAgent{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tool := core.BuiltinToolID("archival_memory_search")
	first, err := s.Agents.AttachTool(t.Context(), a.ID, tool)
	if err != nil || first.Rev != a.Rev+1 || len(first.Tools) != len(a.Tools)+1 {
		t.Fatalf("%+v %v", first, err)
	}
	if again, err := s.Agents.AttachTool(t.Context(), a.ID, tool); err != nil || again.Rev != first.Rev {
		t.Errorf("the same again: rev %d, %v", again.Rev, err)
	}
	if gone, err := s.Agents.DetachTool(t.Context(), a.ID, tool); err != nil || gone.Rev != first.Rev+1 {
		t.Errorf("detached: rev %d, %v", gone.Rev, err)
	}
	if _, err := s.Agents.DetachTool(t.Context(), a.ID, tool); core.KindOf(err) != core.NotFound {
		t.Errorf("detached twice: %v", err)
	}
	if _, err := s.Agents.AttachTool(t.Context(), a.ID, "tool-none"); core.KindOf(err) != core.NotFound {
		t.Errorf("attach of nothing: %v", err)
	}
}

func TestBaseRulesAreLeftOutForModelsThatDoWithoutThem(t *testing.T) {
	t.Parallel()
	for handle, want := range map[core.Handle]bool{
		"openai/gpt-5": true, "openai/gpt-5-mini": false, "google_ai/gemini-2.5-pro": true, "openai/gpt-4o": false,
		"anthropic/claude-3-5-sonnet-20241022": true,
	} {
		if got := lacksBaseRules(handle); got != want {
			t.Errorf("%s: %v", handle, got)
		}
	}
}

func TestARuleThatCannotBeObeyedIsRefused(t *testing.T) {
	t.Parallel()
	s := newServices(t, reach{"real/one"})
	rule := core.ToolRule{Type: core.RuleConstrainChild, Tool: "archival_memory_search"} // by nothing at all
	if _, err := s.Agents.Create(
		t.Context(),
		NewAgent{Model: "real/one", ToolRules: []core.ToolRule{rule}},
		nil,
	); core.KindOf(
		err,
	) != core.Invalid {
		t.Errorf("of a new agent: %v", err)
	}
	agent, err := s.Agents.Create(t.Context(), NewAgent{Model: "real/one"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Agents.Update(
		t.Context(),
		agent.ID,
		AgentPatch{ToolRules: core.Some([]core.ToolRule{rule})},
		nil,
	); core.KindOf(
		err,
	) != core.Invalid {
		t.Errorf("of an agent: %v", err)
	}
}

func TestNamesThatSeveralAgentsHaveAreAConflict(t *testing.T) {
	t.Parallel()
	s := newServices(t, reach{"real/one"})
	for range 2 {
		if _, err := s.Agents.Create(t.Context(), NewAgent{Name: "Twin"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	only, err := s.Agents.Create(t.Context(), NewAgent{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]core.Kind{"Twin": core.Conflict, "Nobody": core.NotFound, only.Name: "", string(only.ID): ""} {
		if _, err := s.Agents.ByName(t.Context(), name); core.KindOf(err) != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if err := s.Agents.Delete(t.Context(), only.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Agents.Get(t.Context(), only.ID); core.KindOf(err) != core.NotFound {
		t.Errorf("a deleted agent: %v", err)
	}
}
