package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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
	rng     *rand.Rand
	a, b    core.Agent
	conv    core.ConversationID
	second  core.ConversationID
	sent    map[core.StepID]core.ChatRequest
	notesAt map[core.StepID][]string // what was kept when the first step of a run was sent
	steps   []core.Step              // of conv, those that came to a request
	spare   core.Block               // attached and detached
	mine    core.Block               // the same, and of no other agent
	docs    core.Folder              // the same, with three files
	papers  core.Folder
	files   []core.File
}

func newPast(t *testing.T, seed uint64) *history {
	t.Helper()
	p := &history{rng: rand.New(rand.NewPCG(seed, 11)), sent: map[core.StepID]core.ChatRequest{}, notesAt: map[core.StepID][]string{}}
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
		case n%8 == 6 && has("archival_memory_replace") && keptIn(req) != "":
			if n%3 == 0 {
				return calling("archival_memory_delete", map[string]any{"id": keptIn(req)})
			}
			return calling("archival_memory_replace", map[string]any{"id": keptIn(req), "content": fmt.Sprint("mended ", n)})
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
		a.Recall, a.Terminal = 400, true
		a.ToolRules = []core.ToolRule{
			{Type: core.RuleConstrainChild, Tool: "memory_insert", Children: []string{"conversation_search", "memory_insert"}},
		}
		if seed%3 == 2 {
			a.Extra = map[string]any{compact.ExtraKey: map[string]any{"mode": string(compact.StaticBuffer), "message_buffer_limit": 12}}
		}
	}, "memory_insert", "memory_replace", "archival_memory_insert", "archival_memory_replace", "archival_memory_delete",
		"archival_memory_search", "conversation_search")
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
			if err := tx.Blocks().Create(ctx, b, core.Author{Kind: core.AuthorUser}); err != nil {
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

// keptIn returns the id of the newest passage that a return in a request names; empty: there is none.
func keptIn(req core.ChatRequest) string {
	for _, m := range slices.Backward(req.Messages) {
		for _, r := range m.Returns {
			if _, id, ok := strings.Cut(r.Text, "Kept as "); ok {
				return id[:len(core.NewPassageID())]
			}
		}
	}
	return ""
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
	before, notes := len(p.model.sent()), p.noted()
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
		if i == 0 {
			p.notesAt[s.ID] = notes
		}
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
		if err := tx.Blocks().Update(ctx, &b, core.Author{Kind: core.AuthorUser}); err != nil {
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
	if notes, first := p.notesAt[step.ID]; first {
		if diff := cmp.Diff(notes, p.noted()); diff != "" {
			p.t.Fatalf("step %s: passages (-then +restored):\n%s", step.ID, diff)
		}
	}
	return r
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
