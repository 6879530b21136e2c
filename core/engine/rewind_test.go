package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"loci/core"
	"loci/core/compact"
	"loci/core/past"
)

// history is a house with a random history: agents that share blocks, two conversations, edits by everybody.
type history struct {
	*house
	rng    *rand.Rand
	a, b   core.Agent
	conv   core.ConversationID
	second core.ConversationID
	sent   map[core.StepID]core.ChatRequest
	steps  []core.Step // of conv, those that came to a request
	spare  core.Block  // attached and detached
	mine   core.Block  // the same, and of no other agent
	docs   core.Folder // the same, with three files
	papers core.Folder
	files  []core.File
}

func newPast(t *testing.T, seed uint64) *history {
	t.Helper()
	p := &history{rng: rand.New(rand.NewPCG(seed, 11)), sent: map[core.StepID]core.ChatRequest{}}
	p.house = open(t, func(n int, req core.ChatRequest) turn {
		if strings.HasSuffix(req.CacheKey, "-summary") {
			return say(fmt.Sprint("They spoke. Summary ", n))
		}
		last := req.Messages[len(req.Messages)-1]
		has := func(name string) bool {
			return slices.ContainsFunc(req.Tools, func(s core.ToolSpec) bool { return s.Name == name })
		}
		switch {
		case last.Role != core.ChatTool && strings.Contains(lastAsked(req), "fail now"):
			e := core.E(core.Unavailable, "down")
			e.Provider = true
			return turn{err: e}
		case last.Role == core.ChatTool && n%2 == 0:
			return say(strings.Repeat(fmt.Sprint("words ", n, " "), 60))
		case n%4 < 2 && n%8 > 3 && has("open_files"):
			name := fmt.Sprintf("docs/%c.md", 'a'+rune(n/8%3))
			return calling("open_files", map[string]any{"file_requests": []any{map[string]any{"file_name": name, "offset": n % 5}}})
		case n%4 == 1 && has("memory_insert"):
			return calling("memory_insert", map[string]any{"label": "human", "new_string": fmt.Sprint("fact ", n)})
		case n%4 >= 2 && n%8 < 6 && has("archival_memory_insert"):
			return calling("archival_memory_insert", map[string]any{"content": fmt.Sprint("note ", n), "tags": []string{"t"}})
		case n%4 == 3 && has("conversation_search"):
			return calling("conversation_search", map[string]any{"query": "words"})
		}
		return say(strings.Repeat(fmt.Sprint("words ", n, " "), 40))
	})
	for _, name := range []core.Handle{"openai/gpt-test", "openai/gpt-other", "other/plain"} {
		p.model.infos[name] = core.ModelInfo{
			ContextWindow: 5000,
			Tools:         name != "other/plain",
			BindsPrefix:   true,
			CacheTTL:      5 * time.Minute,
		}
	}
	p.a = p.agent(func(a *core.Agent) {
		a.Recall = 400
		a.ToolRules = []core.ToolRule{
			{Type: core.RuleConstrainChild, Tool: "memory_insert", Children: []string{"conversation_search", "memory_insert"}},
		}
		if seed%3 == 2 {
			a.Extra = map[string]any{compact.ExtraKey: map[string]any{"mode": string(compact.StaticBuffer), "message_buffer_limit": 12}}
		}
	})
	p.b = p.agent(func(b *core.Agent) { b.Name = "Bob" })
	p.conv = core.DefaultConversation(p.a.ID)
	p.do(func(ctx context.Context, tx core.Store) error {
		own, err := tx.Blocks().ByLabel(ctx, p.b.ID, "persona")
		if err != nil {
			return err
		}
		shared, err := tx.Blocks().ByLabel(ctx, p.a.ID, "persona")
		if err != nil {
			return err
		}
		second := core.Conversation{ID: core.NewConversationID(), Agent: p.a.ID}
		p.second = second.ID
		for label, b := range map[string]*core.Block{"spare": &p.spare, "mine": &p.mine} {
			*b = core.Block{ID: core.NewBlockID(), Label: label, Value: "spare value", Limit: 5000, CreatedAt: p.clock()}
			if err := tx.Blocks().Create(ctx, b, core.BlockAuthor{Kind: core.AuthorUser}); err != nil {
				return err
			}
		}
		archive := core.Archive{ID: core.NewArchiveID(), Name: "notes", CreatedAt: p.clock()}
		for _, err := range []error{
			tx.Archives().Create(ctx, &archive), tx.Archives().Attach(ctx, p.a.ID, archive.ID),
			tx.Blocks().Detach(ctx, p.b.ID, own.ID), tx.Blocks().Attach(ctx, p.b.ID, shared.ID),
			tx.Blocks().Attach(ctx, p.b.ID, p.spare.ID),
			p.engine.Prompts().Begin(ctx, tx, &second, nil),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	p.docs, p.papers = p.folder("docs"), p.folder("papers")
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		p.files = append(p.files, p.file(p.docs, name, name))
	}
	p.file(p.papers, "a.md", "of paper")
	return p
}

func (p *history) do(fn func(ctx context.Context, tx core.Store) error) {
	p.t.Helper()
	if err := p.store.Tx(p.t.Context(), fn); err != nil {
		p.t.Fatal(err)
	}
}

// say sends a message and notes what each step sent.
func (p *history) say(a core.Agent, conv core.ConversationID, text string) {
	p.t.Helper()
	before := len(p.model.sent())
	req := p.request(a, text)
	req.Conversation = conv
	run, _ := p.submit(req)
	var reqs []core.ChatRequest
	for _, r := range p.model.sent()[before:] {
		if !strings.HasSuffix(r.CacheKey, "-summary") {
			reqs = append(reqs, r)
		}
	}
	steps, err := p.store.Steps().List(p.t.Context(), core.StepFilter{Run: run.ID}, core.Page{Limit: 100})
	if err != nil {
		p.t.Fatal(err)
	}
	if len(steps) != len(reqs) {
		p.t.Fatalf("%d steps sent %d requests: %+v", len(steps), len(reqs), run.Error)
	}
	for i, s := range steps {
		if s.WithInput { // built without input, it is what was sent less the input
			reqs[i].Messages = reqs[i].Messages[:len(reqs[i].Messages)-len(run.Input)]
			if len(reqs[i].Messages) == 0 {
				reqs[i].Messages = nil
			}
		}
		p.sent[s.ID] = reqs[i]
		if conv == p.conv {
			p.steps = append(p.steps, s)
		}
	}
}

func (p *history) edit(id core.BlockID, text string) {
	p.t.Helper()
	p.do(func(ctx context.Context, tx core.Store) error {
		b, err := tx.Blocks().Get(ctx, id)
		if err != nil {
			return err
		}
		b.Value = b.Value[max(0, len(b.Value)-200):] + text
		if err := tx.Blocks().Update(ctx, &b, core.BlockAuthor{Kind: core.AuthorUser}); err != nil {
			return err
		}
		agents, err := tx.Blocks().AgentsOf(ctx, id)
		if err != nil {
			return err
		}
		return tx.Conversations().MarkStale(ctx, agents...)
	})
}

func (p *history) change(fn func(a *core.Agent)) {
	p.t.Helper()
	p.do(func(ctx context.Context, tx core.Store) error {
		a, err := tx.Agents().Get(ctx, p.a.ID)
		if err != nil {
			return err
		}
		fn(&a)
		a.Rev++
		if err := tx.Agents().Update(ctx, &a); err != nil {
			return err
		}
		return tx.Conversations().MarkStale(ctx, a.ID)
	})
}

// toggle attaches a block that is not attached, and detaches one that is.
func (p *history) toggle(id core.BlockID) {
	p.t.Helper()
	p.do(func(ctx context.Context, tx core.Store) error {
		err := tx.Blocks().Detach(ctx, p.a.ID, id)
		if core.KindOf(err) == core.NotFound {
			err = tx.Blocks().Attach(ctx, p.a.ID, id)
		}
		if err != nil {
			return err
		}
		return tx.Conversations().MarkStale(ctx, p.a.ID)
	})
}

// lend attaches a folder that is not attached, with the tools, and detaches one that is.
func (p *history) lend(f core.Folder) {
	p.t.Helper()
	p.do(func(ctx context.Context, tx core.Store) error {
		err := tx.Folders().Detach(ctx, p.a.ID, f.ID)
		if core.KindOf(err) == core.NotFound {
			err = tx.Folders().Attach(ctx, p.a.ID, f.ID)
		}
		return err
	})
	has, err := p.store.Folders().OfAgent(p.t.Context(), p.a.ID)
	if err != nil {
		p.t.Fatal(err)
	}
	tool := core.BuiltinToolID("open_files")
	p.change(func(a *core.Agent) {
		a.Tools = slices.DeleteFunc(a.Tools, func(id core.ToolID) bool { return id == tool })
		if len(has) > 0 {
			a.Tools = append(a.Tools, tool)
		}
	})
}

// browse opens a file by hand, closes one, or changes what one says.
func (p *history) browse(i int) {
	p.t.Helper()
	f := &p.files[p.rng.IntN(len(p.files))]
	p.do(func(ctx context.Context, tx core.Store) error {
		switch p.rng.IntN(3) {
		case 0:
			return tx.Files().Open(ctx, p.a.ID, core.OpenFile{File: f.ID, Open: true, Start: 2, End: 3 + i%4, UsedAt: p.clock()})
		case 1:
			return tx.Files().Close(ctx, p.a.ID, f.ID)
		default:
			return p.fill(ctx, tx, f, fmt.Sprint("changed ", i))
		}
	})
}

// live does one random thing.
func (p *history) live(i int) {
	p.t.Helper()
	ctx := p.t.Context()
	p.later(time.Duration(p.rng.IntN(8)) * time.Minute)
	human := p.block(p.a, "human").ID
	shared, err := p.store.Blocks().ByLabel(ctx, p.b.ID, "persona")
	if err != nil {
		p.t.Fatal(err)
	}
	note := fmt.Sprint("\nedit ", i)
	what := p.rng.IntN(20)
	if sure, ok := map[int]int{1: 12, 3: 15, 5: 11, 6: 10, 8: 8, 10: 11, 13: 8}[i]; ok { // what every history has, whatever its seed
		what = sure
	}
	switch what {
	case 0:
		p.edit(human, note)
	case 1:
		p.edit(shared.ID, note)
	case 2:
		p.edit(p.spare.ID, note)
	case 3:
		p.edit(p.mine.ID, note)
	case 4:
		p.toggle(p.spare.ID)
	case 5:
		p.toggle(p.mine.ID)
	case 6:
		tool := core.BuiltinToolID("archival_memory_search")
		p.change(func(a *core.Agent) {
			if i := slices.Index(a.Tools, tool); i >= 0 {
				a.Tools = slices.Delete(a.Tools, i, i+1)
			} else {
				a.Tools = append(a.Tools, tool)
			}
		})
	case 7:
		models := []core.Handle{"openai/gpt-test", "openai/gpt-other", "other/plain"}
		p.change(func(a *core.Agent) { a.Model = models[p.rng.IntN(len(models))] })
	case 8:
		p.change(func(a *core.Agent) {
			a.System, a.Settings.MaxOutputTokens, a.Recall = fmt.Sprint("You are test ", i), 100+i, i%2*400
			modes := []compact.Mode{compact.All, compact.SlidingWindow, compact.Evict, compact.StaticBuffer, compact.PartialEvict}
			a.Extra = map[string]any{compact.ExtraKey: map[string]any{"mode": modes[i%len(modes)], "message_buffer_limit": 12}}
		})
	case 9:
		p.say(p.a, p.second, fmt.Sprint("in the other conversation ", i))
	case 10:
		p.say(p.a, p.conv, "fail now")
	case 11:
		p.do(func(ctx context.Context, tx core.Store) error { // somebody reads what is stale, or overrides the model
			c, err := tx.Conversations().Get(ctx, p.conv)
			if err != nil {
				return err
			}
			c.Model, c.Settings = "", nil
			if i%2 == 0 {
				c.Settings = &core.ModelSettings{MaxOutputTokens: i}
			} else {
				c.Model = "openai/gpt-other"
			}
			return tx.Conversations().Update(ctx, &c)
		})
		if err := p.engine.Prompts().Refresh(ctx, p.conv); err != nil {
			p.t.Fatal(err)
		}
	case 12, 13:
		p.lend(p.docs)
	case 14:
		p.lend(p.papers)
	case 15, 16:
		p.browse(i)
	}
	if p.rng.IntN(25) == 0 {
		if err := p.reset(p.conv, false); err != nil {
			p.t.Fatal(err)
		}
	}
	p.say(p.a, p.conv, fmt.Sprint("message ", i, strings.Repeat(" and words", p.rng.IntN(60))))
}

// whole is everything of an agent and a conversation that a rewind may touch.
type whole struct {
	Window  []core.ContextRow
	Listed  []core.Message
	Blocks  []core.Block
	Stale   map[core.BlockID]string // what the window shows of blocks that moved on since
	Agent   core.Agent
	Conv    core.Conversation
	Archive core.ArchiveID
	Notes   []core.PassageID
	Tags    []core.TagCount
	Folders []core.FolderID
	Open    []core.OpenFile
}

func (p *history) whole() whole {
	p.t.Helper()
	ctx, s := p.t.Context(), p.store
	w := whole{Listed: p.list(p.a), Stale: map[core.BlockID]string{}}
	rows, err := s.Messages().Context(ctx, p.conv)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, r := range rows {
		r.Row.Entered = 0
		w.Window = append(w.Window, r.Row)
	}
	if w.Blocks, err = s.Blocks().OfAgent(ctx, p.a.ID); err != nil {
		p.t.Fatal(err)
	}
	if w.Agent, err = s.Agents().Get(ctx, p.a.ID); err != nil {
		p.t.Fatal(err)
	}
	w.Folders, w.Open = p.openFiles(p.a)
	if w.Conv, err = s.Conversations().Get(ctx, p.conv); err != nil {
		p.t.Fatal(err)
	}
	for i, b := range w.Blocks {
		if v := w.Conv.Shown[b.ID]; v > 0 && v != b.Version {
			kept, err := s.Blocks().Version(ctx, b.ID, v)
			if err != nil {
				p.t.Fatal(err)
			}
			if kept.Value != b.Value {
				w.Stale[b.ID] = kept.Value
			}
		}
		w.Blocks[i].Version = 0
	}
	if a, ok, err := s.Archives().OfAgent(ctx, p.a.ID); err != nil {
		p.t.Fatal(err)
	} else if ok {
		w.Archive = a.ID
		notes, err := s.Passages().List(ctx, core.PassageFilter{Archives: []core.ArchiveID{a.ID}}, core.Page{Limit: 10_000})
		if err != nil {
			p.t.Fatal(err)
		}
		for _, n := range notes {
			w.Notes = append(w.Notes, n.ID)
		}
		if w.Tags, err = s.Passages().TopTags(ctx, a.ID, 10); err != nil {
			p.t.Fatal(err)
		}
		if a.Passages != len(w.Notes) {
			p.t.Errorf("the archive counts %d passages and has %d", a.Passages, len(w.Notes))
		}
	}
	return w
}

func (p *history) same(what string, want, got whole) {
	p.t.Helper()
	moved := cmp.Options{
		cmpopts.IgnoreFields(core.Block{}, "UpdatedAt"),
		cmpopts.IgnoreFields(core.Agent{}, "Rev", "UpdatedAt"),
		cmpopts.IgnoreFields(
			core.Conversation{},
			"Rev",
			"UpdatedAt",
			"Shown",
			"MessageCount",
		),
		cmpopts.IgnoreFields(core.Agent{}, "MessageCount"),
		cmpopts.IgnoreFields(
			core.Agent{},
			"LastRunAt",
			"LastRunMillis",
			"LastStopReason",
		),
		cmpopts.IgnoreFields(core.Conversation{}, "AskedAt"),
		cmpopts.EquateEmpty(),
	}
	if diff := cmp.Diff(want, got, moved); diff != "" {
		p.t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// back goes to a step and compares what would be sent with what was.
func (p *history) back(step core.Step, o past.RewindOptions) core.Rewind {
	p.t.Helper()
	ctx := p.t.Context()
	r, err := p.past().Rewind(ctx, p.conv, step.ID, o)
	if err != nil {
		p.t.Fatalf("rewind: %v", err)
	}
	got, moves, err := p.engine.NextRequest(ctx, step, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	want, err := json.Marshal(p.sent[step.ID])
	if err != nil {
		p.t.Fatal(err)
	}
	have, err := json.Marshal(got)
	if err != nil {
		p.t.Fatal(err)
	}
	if string(want) != string(have) {
		p.t.Fatalf("step %s, %+v (-sent +restored):\n%s", step.ID, step, cmp.Diff(p.sent[step.ID], got))
	}
	if moves {
		p.t.Errorf("step %s: the pin does not stay", step.ID)
	}
	return r
}

func TestRewindRestoresWhatEveryStepSentAndUndoRestoresAll(t *testing.T) {
	t.Parallel()
	var taken, summaries, failures, blocks, open atomic.Int64
	t.Cleanup(func() { // after all histories
		if taken.Load() == 0 || summaries.Load() == 0 || failures.Load() == 0 || open.Load() == 0 ||
			blocks.Load() == 0 && !testing.Short() {
			t.Errorf(
				"%d passages taken, %d summaries, %d failed steps, %d with a summary block, %d files opened again: "+
					"the test does not cover it",
				taken.Load(),
				summaries.Load(),
				failures.Load(),
				blocks.Load(),
				open.Load(),
			)
		}
	})
	for seed := range uint64(longRun(3)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := newPast(t, seed)
			for i := range 20 {
				p.live(i)
				if i%5 == 4 {
					taken.Add(int64(p.wander(i)))
				}
			}
			for _, step := range p.steps { // every one, from wherever the one before has led to
				p.back(step, past.RewindOptions{})
				_, files := p.openFiles(p.a)
				open.Add(int64(len(files)))
				if step.WithInput {
					failures.Add(1)
				}
			}
			for _, r := range p.model.sent() {
				if strings.HasSuffix(r.CacheKey, "-summary") {
					summaries.Add(1)
				} else if strings.Contains(r.System, compact.BlockDescription) {
					blocks.Add(1)
				}
			}
			p.told()
		})
	}
}

// wander goes back to a random step, and from there on, or back where it came from.
func (p *history) wander(i int) (taken int) {
	p.t.Helper()
	before := p.whole()
	r := p.back(p.steps[p.rng.IntN(len(p.steps))], past.RewindOptions{Shared: p.rng.IntN(2) == 0})
	way := p.rng.IntN(4)
	if way < 2 {
		p.say(p.a, p.conv, fmt.Sprint("another way ", i))
	}
	if way == 0 {
		return len(r.Taken)
	}
	undone, err := p.past().UndoRewind(p.t.Context(), r.ID, "")
	if err != nil {
		p.t.Fatal(err)
	}
	p.same("undone", before, p.whole())
	if way == 3 { // once more, and back again
		after, err := p.past().UndoRewind(p.t.Context(), undone.ID, "")
		if err == nil {
			_, err = p.past().UndoRewind(p.t.Context(), after.ID, "")
		}
		if err != nil {
			p.t.Fatal(err)
		}
		p.same("undone twice", before, p.whole())
	}
	return len(r.Taken)
}

// told compares what every step sent with what is told of it now.
func (p *history) told() {
	p.t.Helper()
	for id, req := range p.sent {
		step, err := p.store.Steps().Get(p.t.Context(), id)
		if err != nil {
			p.t.Fatal(err)
		}
		again, err := p.past().Reproduce(p.t.Context(), id)
		if err != nil {
			p.t.Fatal(err)
		}
		if step.WithInput {
			again.Messages = again.Messages[:len(req.Messages)]
		}
		if diff := cmp.Diff(req, again, cmpopts.EquateEmpty()); diff != "" {
			p.t.Fatalf("step %s (-sent +reproduced):\n%s", id, diff)
		}
	}
}

// firstStep returns the first step of a run.
func (h *house) firstStep(run core.Run) core.Step {
	h.t.Helper()
	steps, err := h.store.Steps().List(h.t.Context(), core.StepFilter{Run: run.ID}, core.Page{Limit: 1})
	if err != nil || len(steps) != 1 {
		h.t.Fatalf("steps %v, %v", steps, err)
	}
	return steps[0]
}

func (h *house) edit(a core.Agent, label, value string) core.Block {
	h.t.Helper()
	b := h.block(a, label)
	b.Value = value
	if err := h.store.Blocks().Update(h.t.Context(), &b, core.BlockAuthor{Kind: core.AuthorUser}); err != nil {
		h.t.Fatal(err)
	}
	return b
}

func TestARewindBeforeTheInputTakesItAndItsAnnouncementBack(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.agent(nil)
	conv := core.DefaultConversation(a.ID)
	h.send(a, "one")
	h.edit(a, "human", "a person's edit")
	run, _ := h.send(a, "two")
	h.send(a, "three")
	if _, err := h.past().Rewind(t.Context(), conv, h.firstStep(run).ID, past.RewindOptions{Before: true}); err != nil {
		t.Fatal(err)
	}
	if got := roles(h.list(a)); len(got) != 3 {
		t.Errorf("after it are listed %v", got)
	}
	h.send(a, "two again")
	reqs := h.model.sent()
	last := reqs[len(reqs)-1]
	if len(last.Messages) != 4 || countReminders(last, "a person's edit") != 1 || last.System != reqs[0].System {
		t.Errorf("sent %+v", last.Messages)
	}
	found, err := h.cfg.Search.Messages(t.Context(), core.SearchQuery{Text: "three"}, core.MessageFilter{Agent: a.ID})
	if err != nil || len(found.Hits) != 0 {
		t.Errorf("search finds what was taken back: %v, %v", found.Hits, err)
	}
}

func TestTheRunAfterARewindGoesOnBehindTheSamePrefix(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, req core.ChatRequest) turn {
		if n == 1 {
			return calling("memory_insert", map[string]any{"label": "human", "new_string": "her cat is Turing"})
		}
		return say("ok")
	})
	a := h.agent(nil)
	h.send(a, "one")
	run, _ := h.send(a, "two")
	h.edit(a, "human", "something else")
	h.later(time.Hour)
	h.send(a, "three") // the cache is cold: the pin moves
	if _, err := h.past().Rewind(t.Context(), core.DefaultConversation(a.ID), h.firstStep(run).ID, past.RewindOptions{}); err != nil {
		t.Fatal(err)
	}
	h.later(time.Hour)
	h.send(a, "another two")
	reqs := h.model.sent()
	prefixHolds(t, len(reqs)-1, reqs[1], reqs[len(reqs)-1])
	if got := h.block(a, "human").Value; got != "human value" {
		t.Errorf("the block holds %q", got)
	}
	if n := countReminders(reqs[len(reqs)-1], ""); n != 0 {
		t.Errorf("%d reminders: the window shows every block as it is", n)
	}
}

func TestASharedBlockIsTakenBackOnRequestOnly(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
		a, b := h.agent(nil), h.agent(nil)
		block := h.block(a, "persona")
		if err := h.store.Blocks().Detach(t.Context(), b.ID, h.block(b, "persona").ID); err != nil {
			t.Fatal(err)
		}
		if err := h.store.Blocks().Attach(t.Context(), b.ID, block.ID); err != nil {
			t.Fatal(err)
		}
		run, _ := h.send(a, "one")
		h.edit(b, "persona", "by the other")
		r, err := h.past().Rewind(t.Context(), core.DefaultConversation(a.ID), h.firstStep(run).ID, past.RewindOptions{Shared: shared})
		if err != nil {
			t.Fatal(err)
		}
		if got := h.block(b, "persona").Value == "persona value"; got != shared {
			t.Errorf("shared %v: taken back %v", shared, got)
		}
		h.send(a, "two")
		reqs := h.model.sent()
		if told := countReminders(reqs[len(reqs)-1], "by the other") == 1; told == shared {
			t.Errorf("shared %v: told of the newer text %v", shared, told)
		}
		if _, err := h.past().UndoRewind(t.Context(), r.ID, ""); err != nil {
			t.Fatal(err)
		}
		if got := h.block(b, "persona").Value; got != "by the other" {
			t.Errorf("undone, the block holds %q", got)
		}
	}
}

func TestADeletedBlockComesBackWithARewindAndGoesWithItsUndo(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a := h.agent(nil)
	run, _ := h.send(a, "one")
	block := h.block(a, "human")
	if err := h.store.Blocks().Delete(t.Context(), block.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := h.past().Rewind(t.Context(), core.DefaultConversation(a.ID), h.firstStep(run).ID, past.RewindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := h.block(a, "human"); got.ID != block.ID || got.Value != block.Value {
		t.Errorf("got %+v", got)
	}
	undone, err := h.past().UndoRewind(t.Context(), r.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Blocks().Get(t.Context(), block.ID); core.KindOf(err) != core.NotFound {
		t.Errorf("after the undo: %v", err)
	}
	if _, err := h.past().UndoRewind(t.Context(), undone.ID, ""); err != nil {
		t.Fatal(err)
	}
	h.block(a, "human")
}

func TestARewindThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, func(n int, _ core.ChatRequest) turn {
		switch n {
		case 0:
			return calling("conversation_search", map[string]any{"query": "x"})
		case 2:
			return turn{deltas: []core.Delta{{Text: "slow"}}, gate: gate}
		}
		return say("ok")
	})
	a, other := h.agent(nil), h.agent(nil)
	run, _ := h.send(a, "one")
	steps, err := h.store.Steps().List(t.Context(), core.StepFilter{Run: run.ID}, core.Page{})
	if err != nil {
		t.Fatal(err)
	}
	conv := core.DefaultConversation(a.ID)
	for _, c := range []struct {
		conv core.ConversationID
		step core.StepID
		o    past.RewindOptions
		want core.Kind
	}{
		{conv, core.NewStepID(), past.RewindOptions{}, core.NotFound},
		{core.DefaultConversation(other.ID), steps[0].ID, past.RewindOptions{}, core.Invalid},
		{conv, steps[1].ID, past.RewindOptions{Before: true}, core.Invalid},
	} {
		if _, err := h.past().Rewind(t.Context(), c.conv, c.step, c.o); core.KindOf(err) != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	slow, err := h.engine.Submit(t.Context(), h.request(a, "two"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.past().Rewind(t.Context(), conv, steps[0].ID, past.RewindOptions{}); core.KindOf(err) != core.Busy {
		t.Errorf("during a run: %v", err)
	}
	close(gate)
	h.follow(slow.ID)
	if _, err := h.past().UndoRewind(t.Context(), core.NewRewindID(), ""); core.KindOf(err) != core.NotFound {
		t.Errorf("an unknown rewind: %v", err)
	}
}

func TestArchivesGoBackAsTheyWereAttached(t *testing.T) {
	t.Parallel()
	h := open(t, func(n int, req core.ChatRequest) turn {
		if strings.Contains(req.Messages[len(req.Messages)-1].Text, "note") {
			return calling("archival_memory_insert", map[string]any{"content": fmt.Sprint("note ", n)})
		}
		return say("ok")
	})
	a, other := h.agent(nil), h.agent(nil)
	ctx, archives := t.Context(), h.store.Archives()
	none, _ := h.send(a, "hello")
	h.send(a, "a note")
	own, _ := h.notes(a)
	one, _ := h.send(a, "hello again")
	h.send(a, "another note")
	shared := core.Archive{ID: core.NewArchiveID(), Name: "shared"}
	for _, err := range []error{
		archives.Create(ctx, &shared), archives.Attach(ctx, other.ID, shared.ID), archives.Detach(ctx, a.ID, own),
		archives.Attach(ctx, a.ID, shared.ID),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	h.send(a, "a note for all")
	has := func(want core.ArchiveID, notes int) {
		t.Helper()
		if got, list := h.notes(a); got != want || len(list) != notes {
			t.Errorf("archive %s with %d notes, want %s with %d", got, len(list), want, notes)
		}
	}
	back := func(run core.Run) core.Rewind {
		t.Helper()
		r, err := h.past().Rewind(ctx, core.DefaultConversation(a.ID), h.firstStep(run).ID, past.RewindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	undo := func(r core.Rewind) {
		t.Helper()
		if _, err := h.past().UndoRewind(ctx, r.ID, ""); err != nil {
			t.Fatal(err)
		}
	}
	has(shared.ID, 1)
	r := back(one)
	has(own, 1) // the second is set aside, and what is shared keeps all it has
	undo(r)
	has(shared.ID, 1)
	r = back(none)
	if _, found, err := archives.OfAgent(ctx, a.ID); found || err != nil {
		t.Errorf("the shared archive is still attached: %v", err)
	}
	undo(r)
	has(shared.ID, 1)
	back(one)
	r = back(none) // the agent's own archive stays, without what the agent put into it
	has(own, 0)
	undo(r)
	has(own, 1)
}
