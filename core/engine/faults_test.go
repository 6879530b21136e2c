package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/compact"
	"loci/core/engine"
	"loci/storage"
)

var errFault = errors.New("the disk is full")

// faults makes one use of the store or of the run log fail, when it is told.
type faults struct {
	t      *testing.T
	closed core.Store // all of its calls fail
	until  atomic.Int64
}

// plan makes the n-th use from now on fail.
func (f *faults) plan(n int) { f.until.Store(int64(n)) }

// over ends the plan and reports whether it came to a failure.
func (f *faults) over() bool { return f.until.Swap(0) <= 0 }

func (f *faults) fails() bool { return f.until.Load() > 0 && f.until.Add(-1) == 0 }

// faultyStore is a store one use of which fails, in a transaction or outside.
type faultyStore struct {
	core.Store
	faults *faults
	inside bool // of a transaction
	failed bool // in this transaction
}

func (s *faultyStore) use() core.Store {
	if s.faults.fails() {
		s.failed = true
		return s.faults.closed
	}
	return s.Store
}

func (s *faultyStore) Agents() core.AgentStore               { return s.use().Agents() }
func (s *faultyStore) Blocks() core.BlockStore               { return s.use().Blocks() }
func (s *faultyStore) Messages() core.MessageStore           { return s.use().Messages() }
func (s *faultyStore) Conversations() core.ConversationStore { return s.use().Conversations() }
func (s *faultyStore) Runs() core.RunStore                   { return s.use().Runs() }
func (s *faultyStore) Steps() core.StepStore                 { return s.use().Steps() }
func (s *faultyStore) Snapshots() core.SnapshotStore         { return s.use().Snapshots() }
func (s *faultyStore) Archives() core.ArchiveStore           { return s.use().Archives() }
func (s *faultyStore) Passages() core.PassageStore           { return s.use().Passages() }
func (s *faultyStore) Workspaces() core.WorkspaceStore       { return s.use().Workspaces() }
func (s *faultyStore) Meta() core.MetaStore                  { return s.use().Meta() }
func (s *faultyStore) Folders() core.FolderStore             { return s.use().Folders() }
func (s *faultyStore) Files() core.FileStore                 { return s.use().Files() }

func (s *faultyStore) Tx(ctx context.Context, fn func(context.Context, core.Store) error) error {
	return s.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		in := &faultyStore{Store: tx, faults: s.faults, inside: true}
		err := fn(ctx, in)
		if err == nil && in.failed && !s.inside { // a tool is handed more than it uses, in a savepoint
			s.faults.t.Errorf("a transaction is committed although a part of it failed:\n%s", debug.Stack())
		}
		return err
	})
}

// faultyLog is the run log, of which a read fails.
type faultyLog struct {
	core.EventLog
	faults *faults
}

func (l *faultyLog) Read(ctx context.Context, run core.RunID, after int64, limit int) ([]core.Event, error) {
	if l.faults.fails() {
		return nil, errFault
	}
	return l.EventLog.Read(ctx, run, after, limit)
}

func (l *faultyLog) ReadBack(ctx context.Context, run core.RunID, upTo int64, limit int) ([]core.Event, error) {
	if l.faults.fails() {
		return nil, errFault
	}
	return l.EventLog.ReadBack(ctx, run, upTo, limit)
}

func (l *faultyLog) Last(ctx context.Context, run core.RunID) (int64, bool, error) {
	if l.faults.fails() {
		return 0, false, errFault
	}
	return l.EventLog.Last(ctx, run)
}

// faulty is a house whose store and log can be made to fail, with a tool that acts outside.
func faulty(t *testing.T, answer func(int, core.ChatRequest) turn) (*house, *faults, *outside) {
	t.Helper()
	s, err := storage.Open(t.Context(), storage.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f := &faults{t: t, closed: s}
	tool := &outside{started: make(chan struct{}, 1000), release: make(chan struct{})}
	return open(t, answer, withOutside(tool), func(c *engine.Config) {
		c.Store, c.Log = &faultyStore{Store: c.Store, faults: f}, &faultyLog{c.Log, f}
	}), f, tool
}

// never is a plan of which no use fails.
const never = 1 << 30

// everyFault does something with every one of its uses of the store failing, and wants an error, or the outcome that it
// has without a failure.
func everyFault(t *testing.T, f *faults, do func(n int) (outcome any, err error)) {
	t.Helper()
	want, err := do(never)
	if err != nil {
		t.Fatalf("without a failure: %v", err)
	}
	for n := 1; ; n++ {
		got, err := do(n)
		if !f.over() {
			if n < 3 {
				t.Errorf("only %d uses of the store", n-1)
			}
			return
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Errorf("use %d of the store failed, which is taken for a success (-without +with):\n%s", n, diff)
		}
	}
}

// kinds says of events what they are.
func kinds(events []core.Event) []string {
	var out []string
	for _, ev := range events {
		if _, piece := ev.Body.(core.Said); !piece {
			out = append(out, fmt.Sprintf("%T", ev.Body))
		}
	}
	return append(out, said(events))
}

// collect reads a stream to its end or its first error.
func collect(events func(func(core.Event, error) bool)) (all []core.Event, failed error) {
	for ev, err := range events {
		if err != nil {
			return all, err
		}
		all = append(all, ev)
	}
	return all, nil
}

// standing is what the facts hold of a thread after a run, but for ids and times.
func (h *house) standing(a core.Agent, run core.Run) map[string]any {
	h.t.Helper()
	ctx, out := h.t.Context(), map[string]any{"run": run.Status, "stop": run.StopReason, "block": h.block(a, "human").Value}
	steps, err := h.store.Steps().List(ctx, core.StepFilter{Run: run.ID}, core.Page{Limit: 100})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, s := range steps {
		out[fmt.Sprint("step ", s.Number)] = fmt.Sprint(s.Status, " ", s.StopReason)
	}
	rows, err := h.store.Messages().Context(ctx, core.DefaultConversation(a.ID))
	if err != nil {
		h.t.Fatal(err)
	}
	var window []core.Message
	for _, r := range rows {
		window = append(window, r.Message)
	}
	out["window"], out["messages"] = roles(window), roles(h.list(a))
	return out
}

// foreground makes a run one whose client waits for it.
func (h *house) foreground(id core.RunID) {
	h.t.Helper()
	err := h.store.Tx(h.t.Context(), func(ctx context.Context, tx core.Store) error {
		run, err := tx.Runs().Get(ctx, id)
		if err != nil {
			return err
		}
		run.Background = false
		return tx.Runs().Update(ctx, &run)
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestNoFailureOfTheStoreIsTakenForASuccess: whichever use of the store fails, what was asked for fails or is done whole.
func TestNoFailureOfTheStoreIsTakenForASuccess(t *testing.T) {
	t.Parallel()
	calls := func(_ int, req core.ChatRequest) turn {
		switch {
		case asksForSummary(req):
			return say("They spoke of herons.")
		case req.Messages[len(req.Messages)-1].Role != core.ChatUser:
			return say("done")
		}
		return calling("launch", map[string]any{}, calling("memory_insert", map[string]any{
			"label": "human", "new_string": "Likes herons.",
		}))
	}
	names := []string{"launch", "memory_insert"}
	t.Run("a turn", func(t *testing.T) {
		t.Parallel()
		h, f, tool := faulty(t, calls)
		close(tool.release)
		everyFault(t, f, func(n int) (any, error) {
			a := h.agent(nil, names...)
			tool.calls = 0
			f.plan(n)
			run, err := h.engine.Submit(t.Context(), h.request(a, "go"))
			if err != nil {
				return nil, err
			}
			_, _ = collect(h.engine.Follow(t.Context(), run.ID, 0)) // it may fail, and the run does not with it
			left := f.until.Swap(0)
			defer f.until.Store(left)
			if run, err = h.store.Runs().Get(t.Context(), run.ID); err == nil && !run.Status.Final() {
				h.restart()
				run, err = h.store.Runs().Get(t.Context(), run.ID)
			}
			if err != nil || !run.Status.Final() {
				t.Fatalf("use %d: the run is %s, %v", n, run.Status, err)
			}
			msgs := h.list(a)
			saved := slices.ContainsFunc(msgs, func(m core.Message) bool { return len(m.Calls()) > 0 })
			if tool.calls > 1 || tool.calls == 1 && !saved {
				t.Errorf("use %d: launched %d times, the call is saved: %t", n, tool.calls, saved)
			}
			if run.Status != core.RunCompleted {
				if again, _ := h.send(a, "go"); again.Status != core.RunCompleted {
					t.Errorf("use %d: the next run is %s, %+v", n, again.Status, again.Error)
				}
				return nil, errFault
			}
			return h.standing(a, run), nil
		})
	})
	t.Run("a compaction", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			mode  compact.Mode
			again bool // it is not the first
			moved bool // what it is pinned to has changed
		}{{compact.PartialEvict, false, false}, {compact.PartialEvict, true, false}, {compact.All, true, true}} {
			h, f, _ := faulty(t, func(n int, req core.ChatRequest) turn {
				if asksForSummary(req) {
					return say("They spoke of herons.")
				}
				return say("ok")
			})
			everyFault(t, f, func(n int) (any, error) {
				a := h.agent(func(a *core.Agent) {
					a.Extra = map[string]any{compact.ExtraKey: map[string]any{"mode": string(c.mode)}}
				})
				conv := core.DefaultConversation(a.ID)
				for i := range 8 {
					if i == 6 && c.again {
						if _, err := h.engine.Compact(t.Context(), conv, nil, nil); err != nil {
							t.Fatal(err)
						}
					}
					h.send(a, "hello")
				}
				if c.moved {
					a.System = "You are another."
					if err := h.store.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
						return tx.Agents().Update(ctx, &a)
					}); err != nil {
						t.Fatal(err)
					}
				}
				f.plan(n)
				done, err := h.engine.Compact(t.Context(), conv, nil, nil)
				if err != nil {
					return nil, err
				}
				left := f.until.Swap(0)
				defer f.until.Store(left)
				out := h.standing(a, core.Run{})
				run, _ := h.send(a, "hello")
				reqs := h.model.sent()
				out["summary"], out["next"], out["sent"] = done.Summary, run.Status, len(reqs[len(reqs)-1].Messages)
				if c.mode == compact.PartialEvict {
					out["kept"] = h.block(a, compact.BlockLabel).Value
				}
				return out, nil
			})
		}
	})
	t.Run("what only reads", func(t *testing.T) {
		t.Parallel()
		h, f, tool := faulty(t, calls)
		close(tool.release)
		a := h.agent(nil, names...)
		run, events := h.send(a, "go")
		last := events[len(events)-1].Seq
		for name, read := range map[string]func() (any, error){
			"overview": func() (any, error) {
				o, err := h.engine.Overview(t.Context(), core.DefaultConversation(a.ID), nil, core.ModelInfo{})
				return []any{o.Current, o.System, o.Messages, o.MessageCount, o.PassageCount, len(o.Context), len(o.ToolSpecs)}, err
			},
			"the events again": func() (any, error) {
				all, err := collect(h.engine.Follow(t.Context(), run.ID, 0))
				return kinds(all), err
			},
			"the events from a cursor": func() (any, error) {
				all, err := collect(h.engine.FollowFrom(t.Context(), run.ID, last-1))
				return kinds(all), err
			},
			"the facts": func() (any, error) {
				all, err := h.engine.Facts(t.Context(), run.ID)
				return kinds(all), err
			},
			"a log that was lost": func() (any, error) {
				left := f.until.Swap(0)
				if err := h.store.Events().DeleteRun(t.Context(), run.ID); err != nil {
					t.Fatal(err)
				}
				f.until.Store(left)
				all, err := collect(h.engine.Follow(t.Context(), run.ID, 0))
				return kinds(all), err
			},
		} {
			t.Run(name, func(t *testing.T) { //nolint:paralleltest // they share the plan of what fails
				everyFault(t, f, func(n int) (any, error) {
					f.plan(n)
					return read()
				})
			})
		}
	})
	t.Run("a recovery", func(t *testing.T) {
		t.Parallel()
		for _, lost := range []string{"a call", "half an answer", "a client"} {
			var again atomic.Bool
			h, f, tool := faulty(t, func(n int, req core.ChatRequest) turn {
				if lost == "half an answer" {
					if !again.Load() {
						return turn{deltas: []core.Delta{{Text: "half an ans"}}, gate: make(chan struct{})}
					}
					return say("the whole answer")
				}
				return calls(n, req)
			})
			everyFault(t, f, func(n int) (any, error) {
				a := h.agent(nil, names...)
				again.Store(false)
				req := h.request(a, "go")
				req.Background = true
				run, err := h.engine.Submit(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				if lost == "half an answer" {
					h.waitFor(run.ID, isSaid)
				} else {
					<-tool.started
				}
				h.stop()
				again.Store(true)
				if lost == "a client" { // as it is where the power fails
					h.foreground(run.ID)
				}
				h.engine = engine.New(h.cfg)
				f.plan(n)
				err = h.engine.Recover(t.Context())
				left := f.until.Swap(0)
				defer f.until.Store(left)
				if err != nil {
					h.restart()
				}
				got, events := h.follow(run.ID)
				if lost != "a client" && got.Status != core.RunCompleted { // what resumes it failed
					return nil, errFault
				}
				out := h.standing(a, got)
				out["events"] = kinds(events)
				return out, err
			})
		}
	})
}
