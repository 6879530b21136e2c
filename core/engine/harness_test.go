package engine_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
	"loci/core/engine"
	"loci/core/past"
	"loci/storage"
	"loci/storage/storagetest"
	"loci/tools"
	"loci/tools/workspace"
)

// script is a model whose answers a test writes. It keeps every request.
type script struct {
	mu       sync.Mutex
	answer   func(n int, req core.ChatRequest) turn
	requests []core.ChatRequest
	infos    map[core.Handle]core.ModelInfo
	listed   []core.ModelInfo
	missing  map[string]string // provider → the variable its key must come from
	refused  int               // how often it was missing
	asked    []string          // the addresses at which a model was asked for
}

// turn is one scripted answer.
type turn struct {
	deltas []core.Delta
	err    error
	gate   <-chan struct{} // waited for after the deltas and before the end
	finish core.Finish
	usage  *core.Usage
}

func say(text string) turn {
	var ds []core.Delta
	for _, w := range strings.SplitAfter(text, " ") {
		ds = append(ds, core.Delta{Text: w})
	}
	return turn{deltas: ds}
}

func calling(name string, args any, more ...turn) turn {
	raw, _ := json.Marshal(args)
	t := turn{deltas: []core.Delta{{Call: &core.CallDelta{ID: "call_" + name, Name: name}}}}
	half := len(raw) / 2
	t.deltas = append(
		t.deltas,
		core.Delta{Call: &core.CallDelta{Arguments: string(raw[:half])}},
		core.Delta{Call: &core.CallDelta{Arguments: string(raw[half:])}},
	)
	for i, m := range more {
		for _, d := range m.deltas {
			c := *d.Call
			c.Index = i + 1
			if c.ID != "" {
				c.ID += "_" + string(rune('a'+i))
			}
			t.deltas = append(t.deltas, core.Delta{Call: &c})
		}
	}
	return t
}

func (s *script) Chat(_ context.Context, h core.Handle, env core.Env) (core.ChatModel, core.ModelInfo, error) {
	provider, name, _ := h.Split()
	s.reached(env)
	if v := s.missing[provider]; v != "" {
		if _, ok := env(v); !ok {
			s.mu.Lock()
			s.refused++
			s.mu.Unlock()
			return nil, core.ModelInfo{}, core.E(core.Unauthenticated, "%w for %s, which is %s", core.ErrNoKey, provider, v)
		}
	}
	info, ok := s.infos[h]
	if !ok {
		info = core.ModelInfo{ContextWindow: 100_000, Tools: true, ForcedTools: true, CacheTTL: 5 * time.Minute}
	}
	info.Handle, info.Name, info.Provider = h, name, provider
	return s, info, nil
}

func (s *script) List(context.Context, core.Env, core.ModelQuery) ([]core.ModelInfo, error) {
	return s.listed, nil
}

func (s *script) Unbuilt(core.Env) []string { return nil }

func (s *script) Silent(context.Context, core.Env) []string { return nil }

func (s *script) Moved(env core.Env) map[string]string {
	if at, ok := env("OPENAI_BASE_URL"); ok {
		return map[string]string{"openai": at.Reveal()}
	}
	return nil
}

// reached notes at which address a model is asked for.
func (s *script) reached(env core.Env) {
	if env == nil {
		return
	}
	at, _ := env("OPENAI_BASE_URL")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, at.Reveal())
}

// at are the addresses at which a model was asked for since the last call.
func (s *script) at() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	slices.Sort(asked)
	return slices.Compact(asked)
}

func (s *script) First(_ context.Context, env core.Env) core.Reach {
	s.reached(env)
	key, ok := env("OPENAI_API_KEY")
	if key.Reveal() == "refused" {
		return core.Reach{Failed: []string{"OPENAI_API_KEY is set, but OpenAI refused it"}}
	}
	return core.Reach{Info: core.ModelInfo{Handle: "openai/gpt-test"}, OK: ok, Because: "OPENAI_API_KEY is set"}
}

func (s *script) Stream(ctx context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, req)
	answer := s.answer
	s.mu.Unlock()
	return func(yield func(core.Delta, error) bool) {
		t := answer(n, req)
		for _, d := range t.deltas {
			if ctx.Err() != nil {
				yield(core.Delta{}, ctx.Err())
				return
			}
			if !yield(d, nil) {
				return
			}
		}
		if t.gate != nil {
			select {
			case <-t.gate:
			case <-ctx.Done():
				yield(core.Delta{}, ctx.Err())
				return
			}
		}
		if t.err != nil {
			yield(core.Delta{}, t.err)
			return
		}
		if t.finish == "" {
			t.finish = core.FinishStop
		}
		yield(core.Delta{End: true, Finish: t.finish, Usage: t.usage}, nil)
	}
}

// without is how often a model was asked for without its key.
func (s *script) without() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

func (s *script) sent() []core.ChatRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]core.ChatRequest(nil), s.requests...)
}

// patience is how long a test waits for what must happen, on however busy a machine.
const patience = 2 * time.Minute

// house is an engine on a real store with a scripted model.
type house struct {
	t      testing.TB
	store  *storage.Store
	model  *script
	engine *engine.Engine
	cfg    engine.Config
	mu     sync.Mutex
	now    time.Time
}

func open(tb testing.TB, answer func(n int, req core.ChatRequest) turn, change ...func(*engine.Config)) *house {
	tb.Helper()
	h := &house{
		t:     tb,
		store: storagetest.OpenTest(tb),
		model: &script{answer: answer, infos: map[core.Handle]core.ModelInfo{}},
		now:   time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC),
	}
	h.cfg = engine.Config{
		Store:      h.store,
		Search:     storagetest.Search(h.store),
		Log:        h.store.Events(),
		Models:     h.model,
		Tools:      tools.New(),
		Clock:      h.clock,
		Grace:      time.Millisecond,
		RecallWait: time.Minute,
		Rest:       time.Hour, // tests of what happens between turns say less
	}
	for _, c := range change {
		c(&h.cfg)
	}
	h.engine = engine.New(h.cfg)
	tb.Cleanup(func() { h.stop() })
	return h
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(time.Millisecond)
	return h.now
}

func (h *house) later(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func (h *house) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.engine.Shutdown(ctx); err != nil {
		h.t.Errorf("shutdown: %v", err)
	}
}

// restart stops the engine as a shutdown does and recovers with a new one.
func (h *house) restart() {
	h.t.Helper()
	h.stop()
	h.engine = engine.New(h.cfg)
	if err := h.engine.Recover(h.t.Context()); err != nil {
		h.t.Fatalf("recover: %v", err)
	}
}

// agent makes an agent with a human and a persona block and these tools.
func (h *house) agent(change func(*core.Agent), toolNames ...string) core.Agent {
	h.t.Helper()
	if len(toolNames) == 0 {
		toolNames = []string{"memory_insert", "memory_replace", "archival_memory_insert", "archival_memory_search", "conversation_search"}
	}
	a := core.Agent{
		ID:        core.NewAgentID(),
		Name:      "Ada",
		Type:      core.AgentLettaV1,
		System:    "You are a test.",
		Model:     "openai/gpt-test",
		Timezone:  "UTC",
		CreatedAt: h.clock(),
	}
	for _, n := range toolNames {
		a.Tools = append(a.Tools, core.BuiltinToolID(n))
	}
	if change != nil {
		change(&a)
	}
	err := h.store.Tx(h.t.Context(), func(ctx context.Context, tx core.Store) error {
		a := a
		if err := tx.Agents().Create(ctx, &a); err != nil {
			return err
		}
		for _, label := range []string{"human", "persona"} {
			b := core.Block{ID: core.NewBlockID(), Label: label, Value: label + " value", Limit: 5000, CreatedAt: h.clock()}
			if err := tx.Blocks().Create(ctx, &b, core.Author{Kind: core.AuthorUser}); err != nil {
				return err
			}
			if err := tx.Blocks().Attach(ctx, a.ID, b.ID); err != nil {
				return err
			}
		}
		return h.engine.Prompts().Begin(ctx, tx, &core.Conversation{ID: core.DefaultConversation(a.ID), Agent: a.ID}, nil)
	})
	if err != nil {
		h.t.Fatalf("make agent: %v", err)
	}
	return a
}

func (h *house) request(a core.Agent, text string) engine.Request {
	return engine.Request{
		Agent:  a.ID,
		Queue:  true,
		Input:  []engine.Input{{Role: core.RoleUser, Text: text}},
		Client: core.Client{Kind: core.ClientAPI},
		Config: core.RunConfig{Speak: core.DefaultSpeak},
	}
}

// past goes back to what was.
func (h *house) past() *past.Past {
	return past.New(h.store, h.engine.Prompts(), h.engine, workspace.Restorer{Contents: h.cfg.Contents}, h.clock)
}

// reset empties a conversation.
func (h *house) reset(conv core.ConversationID, boot bool) error {
	return h.engine.Exclusive(h.t.Context(), conv, func(ctx context.Context, tx core.Store) error {
		return h.engine.Prompts().Reset(ctx, tx, conv, boot)
	})
}

// send submits a message and returns the finished run with its events.
func (h *house) send(a core.Agent, text string) (core.Run, []core.Event) {
	h.t.Helper()
	return h.submit(h.request(a, text))
}

func (h *house) submit(req engine.Request) (core.Run, []core.Event) {
	h.t.Helper()
	run, err := h.engine.Submit(h.t.Context(), req)
	if err != nil {
		h.t.Fatalf("submit: %v", err)
	}
	return h.follow(run.ID)
}

func (h *house) follow(id core.RunID) (core.Run, []core.Event) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	var events []core.Event
	for ev, err := range h.engine.Follow(ctx, id, 0) {
		if err != nil {
			h.t.Fatalf("follow: %v", err)
		}
		events = append(events, ev)
	}
	run, err := h.store.Runs().Get(ctx, id)
	if err != nil {
		h.t.Fatalf("get run: %v", err)
	}
	return run, events
}

// log returns everything that the run log has of a run.
func (h *house) log(id core.RunID) []core.Event {
	h.t.Helper()
	events, err := h.store.Events().Read(h.t.Context(), id, 0, 100_000)
	if err != nil {
		h.t.Fatalf("read the log: %v", err)
	}
	return events
}

// list returns the visible messages of the agent's default conversation, oldest first.
func (h *house) list(a core.Agent) []core.Message {
	h.t.Helper()
	msgs, err := h.store.Messages().
		List(h.t.Context(), core.MessageFilter{Agent: a.ID, Conversation: core.DefaultConversation(a.ID)}, core.Page{Limit: 10_000})
	if err != nil {
		h.t.Fatalf("list: %v", err)
	}
	return msgs
}

func (h *house) block(a core.Agent, label string) core.Block {
	h.t.Helper()
	b, err := h.store.Blocks().ByLabel(h.t.Context(), a.ID, label)
	if err != nil {
		h.t.Fatalf("block %s: %v", label, err)
	}
	return b
}

func said(events []core.Event) string {
	var b strings.Builder
	for _, ev := range events {
		if s, ok := ev.Body.(core.Said); ok {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

func roles(msgs []core.Message) []core.Role {
	var out []core.Role
	for _, m := range msgs {
		out = append(out, m.Role)
	}
	return out
}

// longRun is how long a test of many turns is: the race detector, which makes each ten times slower, needs fewer of them.
func longRun(turns int) int {
	if testing.Short() {
		return max(turns/4, 1)
	}
	return turns
}
