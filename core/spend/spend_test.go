package spend

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
	"loci/storage"
)

// house is a ledger over a store, with a model that answers as it is told.
type house struct {
	t     *testing.T
	dir   string
	store *storage.Store
	*Ledger
	now time.Time

	patience time.Duration // of calls for those under way

	mu    sync.Mutex
	info  core.ModelInfo
	limit int // of the last answer that was asked for
	most  int // that it may have with its thoughts
	calls int
	reply func(yield func(core.Delta, error) bool)
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir(), now: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), patience: time.Millisecond}
	h.info = core.ModelInfo{
		Handle: "vendor/m", ContextWindow: 100_000, MaxOutput: 10_000,
		Price: &core.Price{Input: 1_000_000, Output: 10_000_000, CacheRead: 100_000, CacheWrite: 1_000_000}, // $1 and $10
	}
	h.reply = func(yield func(core.Delta, error) bool) {
		if yield(core.Delta{Text: "Hello."}, nil) {
			yield(core.Delta{End: true, Usage: &core.Usage{Prompt: 1000, Completion: 1000}}, nil) // $0.011
		}
	}
	h.open()
	return h
}

func (h *house) open() {
	h.t.Helper()
	var err error
	if h.store, err = storage.Open(h.t.Context(), storage.Config{Dir: h.dir}); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = h.store.Close() })
	h.Ledger = New(Config{Store: h.store.Expenses(), Zone: time.UTC, Clock: func() time.Time { return h.now }, Patience: h.patience})
	h.ok(h.Load(h.t.Context()))
}

func (h *house) ok(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) budget(b core.Budget) { h.t.Helper(); h.ok(h.SetBudget(h.t.Context(), b)) }

func (h *house) agent() core.AgentID {
	h.t.Helper()
	a := core.Agent{ID: core.NewAgentID(), Name: "scout", Type: core.AgentLettaV1, CreatedAt: h.now, UpdatedAt: h.now}
	h.ok(h.store.Agents().Create(h.t.Context(), &a))
	return a.ID
}

// Chat implements core.Models.
func (h *house) Chat(context.Context, core.Handle, core.Env) (core.ChatModel, core.ModelInfo, error) {
	return h, h.info, nil
}

// Stream implements core.ChatModel.
func (h *house) Stream(_ context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	h.limit, h.most = req.Settings.MaxOutputTokens, req.Most
	return h.reply
}

type justChat struct {
	core.Models
	h *house
}

func (j justChat) Chat(ctx context.Context, handle core.Handle, env core.Env) (core.ChatModel, core.ModelInfo, error) {
	return j.h.Chat(ctx, handle, env)
}

// ask asks the model once, with about so many tokens, and returns what a person is told and how it failed.
func (h *house) ask(charge core.Charge, tokens int) (notices []string, err error) {
	h.t.Helper()
	chat, _, failed := h.Models(justChat{h: h}).Chat(h.t.Context(), "vendor/m", nil)
	h.ok(failed)
	text := strings.Repeat("word", tokens*5/6)
	for d, e := range chat.Stream(core.WithCharge(h.t.Context(), charge), core.ChatRequest{System: text}) {
		if d.Notice != nil {
			notices = append(notices, d.Notice.Text)
		}
		err = errors.Join(err, e)
	}
	return notices, err
}

func (h *house) spent(q core.ExpenseQuery) core.Spent {
	h.t.Helper()
	sums, err := h.Sum(h.t.Context(), q)
	h.ok(err)
	if len(sums) != 1 {
		h.t.Fatalf("there are %d sums", len(sums))
	}
	return sums[0]
}

func TestWhatACallUsedIsKeptForItsStepRunAgentAndDay(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, err := h.ask(core.Charge{Agent: "agent-1", Conversation: "conv-1", Run: "run-1", Step: "step-1", For: core.ForStep}, 10)
	h.ok(err)
	_, err = h.ask(core.Charge{Agent: "agent-1", Run: "run-1", For: core.ForCompaction}, 10)
	h.ok(err)
	for name, c := range map[string]struct {
		q     core.ExpenseQuery
		calls int
	}{
		"step": {core.ExpenseQuery{Step: "step-1"}, 1}, "run": {core.ExpenseQuery{Runs: []core.RunID{"run-1"}}, 2},
		"agent": {core.ExpenseQuery{Agent: "agent-1"}, 2}, "conversation": {core.ExpenseQuery{Conversation: "conv-1"}, 1},
		"day": {core.ExpenseQuery{By: core.ByDay, Since: h.Today(), Until: h.now.Add(time.Hour)}, 2},
	} {
		if s := h.spent(c.q); s.Calls != c.calls || s.Cost != core.Money(c.calls)*core.Dollar*11/1000 || s.Prompt != 1000*c.calls {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestAnUnknownPriceIsUnknownAndNotNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.info.Price = nil
	_, err := h.ask(core.Charge{}, 10)
	h.ok(err)
	if s := h.spent(core.ExpenseQuery{}); s.Unpriced != 1 || s.Calls != 1 || s.Cost != 0 {
		t.Errorf("%+v", s)
	}
	h.budget(core.Budget{Money: core.Dollar})
	if _, err := h.ask(core.Charge{}, 10); core.KindOf(err) != core.NoCredit || !strings.Contains(core.HintOf(err), "--tokens") {
		t.Errorf("under a budget in money it is %v (%s)", err, core.HintOf(err))
	}
	h.budget(core.Budget{Money: core.Dollar, Tokens: 1_000_000})
	if _, err := h.ask(core.Charge{}, 10); err != nil {
		t.Errorf("with a budget in tokens it is %v", err)
	}
}

func TestAnAnswerIsMadeShorterBeforeACallIsRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.budget(core.Budget{Money: core.Dollar * 5 / 100})
	_, err := h.ask(core.Charge{}, 10_000) // a cent to ask, four for the answer
	h.ok(err)
	if h.limit < 3_900 || h.limit > 4_000 {
		t.Errorf("the answer may have %d tokens", h.limit)
	}
	h.budget(core.Budget{Money: core.Dollar * 25 / 1000}) // of which 1.1 is spent
	if _, err := h.ask(core.Charge{}, 10_000); core.KindOf(err) != core.NoCredit || h.calls != 1 {
		t.Errorf("what leaves 400 tokens for an answer is %v after %d calls", err, h.calls)
	}
	h.budget(core.Budget{Tokens: 2000 + 2600})
	_, err = h.ask(core.Charge{}, 2000)
	h.ok(err)
	if h.limit < 500 || h.limit > 700 {
		t.Errorf("of a budget in tokens the answer may have %d", h.limit)
	}
}

func TestAnAgentsBudgetIsItsOwnAndTheHomesIsEverybodys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	scout := h.agent()
	h.budget(core.Budget{Agent: scout, Tokens: 3000})
	_, err := h.ask(core.Charge{Agent: scout}, 10)
	h.ok(err)
	_, err = h.ask(core.Charge{Agent: scout}, 900)
	if core.KindOf(err) != core.NoCredit || !strings.Contains(core.HintOf(err), string(scout)) {
		t.Errorf("%v", err)
	}
	_, err = h.ask(core.Charge{Agent: "agent-other"}, 900)
	h.ok(err)
	h.budget(core.Budget{Tokens: 4000})
	if _, err := h.ask(core.Charge{Agent: "agent-third"}, 900); core.KindOf(err) != core.NoCredit {
		t.Errorf("%v", err)
	}
	h.now = h.now.Add(12 * time.Hour)
	_, err = h.ask(core.Charge{Agent: scout}, 900)
	h.ok(err)
	h.budget(core.Budget{})
	if s, err := h.States(t.Context()); err != nil || len(s) != 1 {
		t.Errorf("%v %v", s, err)
	}
}

func TestMostOfABudgetIsToldOnceADayToWhoeverIsShownIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	scout := h.agent()
	h.budget(core.Budget{Tokens: 30_000})
	h.budget(core.Budget{Agent: scout, Tokens: 10})
	warned := 0
	for range 13 {
		notices, err := h.ask(core.Charge{For: core.ForCompaction}, 10)
		h.ok(err)
		warned += len(notices)
	}
	if _, err := h.ask(core.Charge{Agent: scout, For: core.ForStep}, 10); core.KindOf(err) != core.NoCredit {
		t.Errorf("a call that an agent's budget doesn't pay is %v", err)
	}
	if warned != 0 {
		t.Errorf("of a summary, which shows nothing, somebody is warned %d times", warned)
	}
	for range 2 {
		notices, err := h.ask(core.Charge{For: core.ForStep}, 10)
		h.ok(err)
		warned += len(notices)
	}
	if warned != 1 {
		t.Errorf("somebody is warned %d times", warned)
	}
}

func TestWhatIsReservedCountsWhileACallIsUnderWay(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.budget(core.Budget{Tokens: 12_000})
	var inner error
	h.reply = func(yield func(core.Delta, error) bool) {
		h.reply = func(func(core.Delta, error) bool) {}
		_, inner = h.ask(core.Charge{}, 2_000)
		yield(core.Delta{End: true, Usage: &core.Usage{Prompt: 1, Completion: 1}}, nil)
	}
	_, err := h.ask(core.Charge{}, 1_000)
	h.ok(err)
	if core.KindOf(inner) != core.NoCredit {
		t.Errorf("a second call beside one that may use all is %v", inner)
	}
	if s := h.spent(core.ExpenseQuery{}); s.Tokens() != 2 {
		t.Errorf("afterwards %d tokens count", s.Tokens())
	}
}

func TestNothingStaysReservedHoweverACallEnds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.budget(core.Budget{Money: core.Dollar})
	for name, c := range map[string]struct {
		reply func(yield func(core.Delta, error) bool)
		calls int
	}{
		"refused": {func(yield func(core.Delta, error) bool) { yield(core.Delta{}, core.E(core.Invalid, "no")) }, 0},
		"broke off": {func(yield func(core.Delta, error) bool) {
			_ = yield(core.Delta{Text: "Hi"}, nil) && yield(core.Delta{}, core.E(core.Unavailable, "gone"))
		}, 1},
		"silent": {func(func(core.Delta, error) bool) {}, 0},
	} {
		h.reply = c.reply
		before := h.spent(core.ExpenseQuery{}).Calls
		_, _ = h.ask(core.Charge{}, 100)
		after := h.spent(core.ExpenseQuery{})
		if after.Calls-before != c.calls || after.Completion > 10 {
			t.Errorf("%s: %+v", name, after)
		}
	}
	if open := h.spent(core.ExpenseQuery{}).Calls - h.spent(core.ExpenseQuery{Settled: true}).Calls; open != 0 {
		t.Errorf("%d calls are still under way", open)
	}
}

func TestACallThatAKilledProcessWasMakingCountsWithWhatItAsked(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.budget(core.Budget{Tokens: 100_000})
	g, err := h.reserve(t.Context(), call{model: "vendor/m", price: h.info.Price, prompt: 1_000, answer: 9_000})
	h.ok(err)
	if s := h.spent(core.ExpenseQuery{}); !g.reserved || s.Tokens() != 10_000 {
		t.Fatalf("%+v", s)
	}
	h.ok(h.store.Close())
	h.open()
	s := h.spent(core.ExpenseQuery{})
	if s.Tokens() != 1_000 || s.Cost != core.Dollar/1000 || s.Estimated != 1 {
		t.Errorf("after a restart it is %+v", s)
	}
	if b, err := h.States(t.Context()); err != nil || len(b) != 1 || b[0].Tokens != 100_000 {
		t.Errorf("the budget is %+v, %v", b, err)
	}
}

// texts are embedded by nobody.
type texts struct{ core.Embedders }

// Embedder implements core.Embedders.
func (texts) Embedder(context.Context, core.Handle, core.Env) (core.Embedder, core.EmbeddingInfo, error) {
	return texts{}, core.EmbeddingInfo{Handle: "vendor/e", Endpoint: "http://h"}, nil
}

// Embed implements core.Embedder.
func (texts) Embed(context.Context, []string) ([][]float32, error) { return nil, nil }

func TestEmbeddingsCountToo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.budget(core.Budget{Tokens: 100})
	e, _, err := h.Embedders(texts{}).Embedder(t.Context(), "vendor/e", nil)
	h.ok(err)
	_, err = e.Embed(t.Context(), []string{strings.Repeat("word", 80)})
	h.ok(err)
	if s := h.spent(core.ExpenseQuery{By: core.ByPurpose}); s.Key != string(core.ForEmbedding) || s.Prompt != 80 || s.Unpriced != 1 {
		t.Errorf("%+v", s)
	}
	if _, err = e.Embed(t.Context(), []string{strings.Repeat("word", 80)}); core.KindOf(err) != core.NoCredit {
		t.Errorf("%v", err)
	}
}

func TestCallsAtOnceStayWithinABudget(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.budget(core.Budget{Money: core.Dollar / 10})
	h.info.MaxOutput = 1_000
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			chat, _, _ := h.Models(justChat{h: h}).Chat(t.Context(), "vendor/m", nil)
			for range chat.Stream(t.Context(), core.ChatRequest{System: "hello"}) {
			}
		})
	}
	wg.Wait()
	s := h.spent(core.ExpenseQuery{})
	if s.Cost > core.Dollar/10 || s.Calls < 5 {
		t.Errorf("%d calls cost %s of $0.10", s.Calls, s.Cost)
	}
}
