package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"loci/core"
	"loci/core/past"
)

// talkative is an agent with a past: edits, a note in its archive, a summary.
func talkative(t *testing.T) (*house, core.Agent) {
	t.Helper()
	h := open(t, func(n int, req core.ChatRequest) turn {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case strings.HasSuffix(req.CacheKey, "-summary"):
			return say("They spoke of herons.")
		case last.Role == core.ChatTool:
			return say(strings.Repeat(fmt.Sprint("words ", n, " "), 40))
		case strings.Contains(last.Text, "note"):
			return calling("archival_memory_insert", map[string]any{"content": fmt.Sprint("note ", n)})
		case strings.Contains(last.Text, "fact"):
			return calling("memory_insert", map[string]any{"label": "human", "new_string": fmt.Sprint("fact ", n)})
		}
		return say(strings.Repeat(fmt.Sprint("words ", n, " "), 40))
	})
	small(h, 4000)
	a := h.agent(nil)
	for i := range 24 {
		h.send(a, []string{"hello", "a fact", "a note", "more"}[i%4]+fmt.Sprint(" ", i))
	}
	return h, a
}

// bytesOf is everything stored of an agent, as it may not change when it is copied.
func (h *house) bytesOf(a core.Agent) string {
	h.t.Helper()
	ctx := h.t.Context()
	var b strings.Builder
	add := func(v any, err error) {
		h.t.Helper()
		raw, jerr := json.Marshal(v)
		if err != nil || jerr != nil {
			h.t.Fatal(err, jerr)
		}
		b.Write(raw)
	}
	agent, err := h.store.Agents().Get(ctx, a.ID)
	agent.MessageCount = 0 // of all its conversations, a fork's message 0 too
	add(agent, err)
	blocks, err := h.store.Blocks().OfAgent(ctx, a.ID)
	add(blocks, err)
	conv, err := h.store.Conversations().Get(ctx, core.DefaultConversation(a.ID))
	add(conv, err)
	for rev := range conv.Rev + 1 {
		rows, err := h.store.Messages().ContextAt(ctx, conv.ID, rev)
		add(rows, err)
	}
	add(h.list(a), nil)
	archive, notes := h.notes(a)
	add(archive, nil)
	add(notes, nil)
	return b.String()
}

func (h *house) context(conv core.ConversationID) []core.InContext {
	h.t.Helper()
	rows, err := h.store.Messages().Context(h.t.Context(), conv)
	if err != nil {
		h.t.Fatal(err)
	}
	return rows
}

func TestAForkSharesTheWindowAndGoesItsOwnWay(t *testing.T) {
	t.Parallel()
	h, a := talkative(t)
	conv := core.DefaultConversation(a.ID)
	before, window := h.bytesOf(a), h.context(conv)
	fork, err := h.past().Fork(t.Context(), conv, "")
	if err != nil {
		t.Fatal(err)
	}
	shared := h.context(fork.ID)
	if len(shared) != len(window) || shared[0].Message.ID == window[0].Message.ID || shared[0].Message.Role != core.RoleSystem {
		t.Fatalf("%d rows, want %d and a message 0 of its own", len(shared), len(window))
	}
	for i := range window[1:] {
		if shared[i+1].Message.ID != window[i+1].Message.ID || shared[i+1].Row.CutTo != window[i+1].Row.CutTo {
			t.Errorf("row %d: %+v, want %+v", i+1, shared[i+1].Row, window[i+1].Row)
		}
	}
	if h.bytesOf(a) != before {
		t.Error("the fork changed what it was forked from")
	}
	req := h.request(a, "in the fork")
	req.Conversation = fork.ID
	h.submit(req)
	if got := h.context(conv); len(got) != len(window) {
		t.Errorf("what was said in the fork is in the other: %d rows", len(got))
	}
	reqs := h.model.sent()
	if n := len(reqs[len(reqs)-1].Messages); n != len(window) {
		t.Errorf("the fork sent %d messages, want the %d shared ones and its own", n, len(window)-1)
	}
}

func TestAForkAtAStepBeginsWithWhatThatStepWasSent(t *testing.T) {
	t.Parallel()
	h, a := talkative(t)
	run, _ := h.send(a, "here")
	step := h.firstStep(run)
	sent, err := h.store.Messages().ContextAt(t.Context(), core.DefaultConversation(a.ID), step.SentRev)
	if err != nil {
		t.Fatal(err)
	}
	h.send(a, "later")
	fork, err := h.past().Fork(t.Context(), core.DefaultConversation(a.ID), step.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := h.context(fork.ID); len(got) != len(sent) || got[len(got)-1].Message.PlainText() != "here" {
		t.Errorf("%d rows, want %d, the last of them the input", len(got), len(sent))
	}
}

func TestACopyHoldsEqualContentsUnderNewIDs(t *testing.T) {
	t.Parallel()
	for _, history := range []bool{false, true} {
		t.Run(fmt.Sprint("history ", history), func(t *testing.T) {
			t.Parallel()
			h, a := talkative(t)
			ctx := t.Context()
			before, window := h.bytesOf(a), h.context(core.DefaultConversation(a.ID))
			made, err := h.past().CopyAgent(ctx, a.ID, past.CopyOptions{History: history})
			if err != nil {
				t.Fatal(err)
			}
			own := cmpopts.IgnoreFields(
				core.Agent{},
				"ID",
				"Name",
				"Rev",
				"CreatedAt",
				"UpdatedAt",
				"MessageCount",
				"LastStopReason",
				"LastRunAt",
				"LastRunMillis",
			)
			from, err := h.store.Agents().Get(ctx, a.ID)
			if diff := cmp.Diff(from, made, own, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("agent (-from +copy): %v\n%s", err, diff)
			}
			h.sameBlocks(a, made)
			h.sameNotes(a, made)
			copied := h.context(core.DefaultConversation(made.ID))
			if want := map[bool]int{false: 1, true: len(window)}[history]; len(copied) != want {
				t.Errorf("%d messages, want %d", len(copied), want)
			}
			for i := range copied[1:] {
				from, to := window[i+1].Message, copied[i+1].Message
				ids := cmpopts.IgnoreFields(core.Message{}, "ID", "Agent", "Conversation", "Run", "Step", "OTID", "Seq")
				if from.Role == core.RoleSummary {
					ids = cmp.Options{ids, cmpopts.IgnoreFields(core.Message{}, "Content", "Tokens")}
				}
				if diff := cmp.Diff(from, to, ids); diff != "" || from.ID == to.ID || to.Agent != made.ID {
					t.Errorf("message %d (-from +copy):\n%s", i+1, diff)
				}
			}
			h.send(made, "a fact of the copy")
			h.send(made, "a note of the copy")
			if h.bytesOf(a) != before {
				t.Error("the copy changed what it was copied from")
			}
			again, err := h.past().CopyAgent(ctx, a.ID, past.CopyOptions{History: history})
			if err != nil || again.Name == made.Name {
				t.Errorf("another copy is named %q like the first, %v", again.Name, err)
			}
		})
	}
}

func (h *house) sameBlocks(a, b core.Agent) {
	h.t.Helper()
	from, err := h.store.Blocks().OfAgent(h.t.Context(), a.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	to, err := h.store.Blocks().OfAgent(h.t.Context(), b.ID)
	if diff := cmp.Diff(from, to, cmpopts.IgnoreFields(core.Block{}, "ID", "Version", "CreatedAt", "UpdatedAt")); diff != "" || err != nil {
		h.t.Errorf("blocks (-from +copy): %v\n%s", err, diff)
	}
	for i := range to {
		if to[i].ID == from[i].ID {
			h.t.Errorf("block %s is shared", to[i].Label)
		}
	}
}

func (h *house) notes(a core.Agent) (core.ArchiveID, []core.Passage) {
	h.t.Helper()
	archive, ok, err := h.store.Archives().OfAgent(h.t.Context(), a.ID)
	if err != nil || !ok {
		h.t.Fatalf("archive of %s: %v, %v", a.Name, ok, err)
	}
	list, err := h.store.Passages().
		List(h.t.Context(), core.PassageFilter{Archives: []core.ArchiveID{archive.ID}}, core.Page{Limit: 10_000})
	if err != nil || len(list) != archive.Passages {
		h.t.Fatalf("%d passages, %d counted, %v", len(list), archive.Passages, err)
	}
	return archive.ID, list
}

func (h *house) sameNotes(a, b core.Agent) {
	h.t.Helper()
	one, from := h.notes(a)
	other, to := h.notes(b)
	if diff := cmp.Diff(
		from,
		to,
		cmpopts.IgnoreFields(core.Passage{}, "ID", "Archive", "Agent", "Step", "Seq"),
	); diff != "" ||
		one == other {
		h.t.Errorf("passages (-from +copy), archives %s and %s:\n%s", one, other, diff)
	}
}

func TestASharedArchiveIsSharedByTheCopyToo(t *testing.T) {
	t.Parallel()
	h, a := talkative(t)
	other := h.agent(nil)
	archive, _ := h.notes(a)
	if err := h.store.Archives().Attach(t.Context(), other.ID, archive); err != nil {
		t.Fatal(err)
	}
	made, err := h.past().CopyAgent(t.Context(), a.ID, past.CopyOptions{Name: "Third"})
	if err != nil || made.Name != "Third" {
		t.Fatal(err)
	}
	if got, _ := h.notes(made); got != archive {
		t.Errorf("the copy has the archive %s, want the shared %s", got, archive)
	}
}

func TestAnAgentIsForkedAsItWasAtAStep(t *testing.T) {
	t.Parallel()
	h, a := talkative(t)
	run, _ := h.send(a, "here")
	value, tools := h.block(a, "human").Value, len(a.Tools)
	_, notes := h.notes(a)
	h.send(a, "a fact")
	h.send(a, "a note")
	h.edit(a, "persona", "another")
	if err := h.store.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
		agent, err := tx.Agents().Get(ctx, a.ID)
		if err != nil {
			return err
		}
		agent.Tools, agent.System = agent.Tools[:2], "You are changed."
		return tx.Agents().Update(ctx, &agent)
	}); err != nil {
		t.Fatal(err)
	}
	before := h.bytesOf(a)
	made, err := h.past().CopyAgent(t.Context(), a.ID, past.CopyOptions{History: true, Step: h.firstStep(run).ID})
	if err != nil {
		t.Fatal(err)
	}
	if made.System != a.System || len(made.Tools) != tools || h.block(made, "human").Value != value ||
		h.block(made, "persona").Value != "persona value" {
		t.Errorf("made %+v with %+v", made, h.block(made, "human"))
	}
	if _, got := h.notes(made); len(got) != len(notes) {
		t.Errorf("%d notes, want the %d of then", len(got), len(notes))
	}
	rows := h.context(core.DefaultConversation(made.ID))
	if last := rows[len(rows)-1].Message.PlainText(); last != "here" {
		t.Errorf("the window ends with %q", last)
	}
	if h.bytesOf(a) != before {
		t.Error("the fork changed what it was forked from")
	}
	if run, events := h.send(made, "go on"); run.Status != core.RunCompleted || said(events) == "" {
		t.Errorf("the fork does not go on: %+v", run.Error)
	}
	req := h.model.sent()[len(h.model.sent())-1]
	if !strings.HasPrefix(req.System, "You are a test.") ||
		!slices.ContainsFunc(req.Messages, func(m core.ChatMessage) bool { return strings.HasSuffix(m.Text, "here") }) {
		t.Errorf("it sent %q and %d messages", req.System, len(req.Messages))
	}
}

func TestCopiesOfWhatIsNotThereAreRefused(t *testing.T) {
	t.Parallel()
	h := open(t, func(int, core.ChatRequest) turn { return say("ok") })
	a, b := h.agent(nil), h.agent(nil)
	run, _ := h.send(b, "hi")
	for name, o := range map[string]past.CopyOptions{
		"a step of another agent":         {Step: h.firstStep(run).ID},
		"a conversation of another agent": {History: true, Conversation: core.DefaultConversation(b.ID)},
		"a name that is none":             {Name: "a/b"},
	} {
		if _, err := h.past().CopyAgent(t.Context(), a.ID, o); core.KindOf(err) != core.Invalid && core.KindOf(err) != core.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.past().CopyAgent(t.Context(), core.NewAgentID(), past.CopyOptions{}); core.KindOf(err) != core.NotFound {
		t.Errorf("an unknown agent: %v", err)
	}
	if _, err := h.past().Fork(t.Context(), core.NewConversationID(), ""); core.KindOf(err) != core.NotFound {
		t.Errorf("an unknown conversation: %v", err)
	}
	if n, err := h.store.Agents().Count(t.Context(), core.AgentFilter{}); err != nil || n != 2 {
		t.Errorf("%d agents, %v", n, err)
	}
}
