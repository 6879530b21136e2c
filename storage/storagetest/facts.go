package storagetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"loci/core"
)

func (h *home) everyField() {
	a := filled(core.Agent{ID: core.NewAgentID(), Hidden: true})
	h.ok(h.s.Agents().Create(h.ctx, &a))
	a.MessageCount, a.PassageCount = 0, 0 // counters belong to the store
	equal(h, a, must[core.Agent](h)(h.s.Agents().Get(h.ctx, a.ID)))
	a.Name, a.Tags, a.Settings = "other", []string{"b", "a"}, core.ModelSettings{}
	h.ok(h.s.Agents().Update(h.ctx, &a))
	equal(h, a, must[core.Agent](h)(h.s.Agents().Get(h.ctx, a.ID)))

	b := filled(core.Block{ID: core.NewBlockID()})
	h.ok(h.s.Blocks().Create(h.ctx, &b, core.Author{}))
	equal(h, b, must[core.Block](h)(h.s.Blocks().Get(h.ctx, b.ID)))

	c := filled(core.Conversation{ID: core.NewConversationID(), Agent: a.ID})
	h.ok(h.s.Conversations().Create(h.ctx, &c))
	c.MessageCount = 0
	equal(h, c, must[core.Conversation](h)(h.s.Conversations().Get(h.ctx, c.ID)))
	c.Rev, c.Stale, c.Shown = 9, false, map[core.BlockID]int{b.ID: 3}
	h.ok(h.s.Conversations().Update(h.ctx, &c))
	equal(h, c, must[core.Conversation](h)(h.s.Conversations().Get(h.ctx, c.ID)))

	m := filled(core.Message{ID: core.NewMessageID(), Agent: a.ID, Conversation: c.ID, Role: core.RoleAssistant})
	h.ok(h.s.Messages().Insert(h.ctx, &m))
	equal(h, m, must[core.Message](h)(h.s.Messages().Get(h.ctx, m.ID)))

	r := filled(core.Run{ID: core.NewRunID(), Agent: a.ID, Conversation: c.ID, Input: []core.Message{m}})
	h.ok(h.s.Runs().Create(h.ctx, &r))
	r.Input[0].Seq = 0 // an input has no place among the messages yet
	equal(h, r, must[core.Run](h)(h.s.Runs().Get(h.ctx, r.ID)))
	r.Status, r.StopReason, r.Error = core.RunCompleted, core.StopEndTurn, nil
	h.ok(h.s.Runs().Update(h.ctx, &r))
	equal(h, r, must[core.Run](h)(h.s.Runs().Get(h.ctx, r.ID)))

	st := filled(core.Step{ID: core.NewStepID(), Run: r.ID, Agent: a.ID, Conversation: c.ID})
	h.ok(h.s.Steps().Create(h.ctx, &st))
	equal(h, st, must[core.Step](h)(h.s.Steps().Get(h.ctx, st.ID)))
	st.Status, st.Usage, st.SystemHash = core.StepSuccess, nil, "other"
	h.ok(h.s.Steps().Update(h.ctx, &st))
	equal(h, st, must[core.Step](h)(h.s.Steps().Get(h.ctx, st.ID)))

	ar := filled(core.Archive{ID: core.NewArchiveID()})
	h.ok(h.s.Archives().Create(h.ctx, &ar))
	ar.Passages = 0
	equal(h, ar, must[core.Archive](h)(h.s.Archives().Get(h.ctx, ar.ID)))
	p := filled(core.Passage{ID: core.NewPassageID(), Archive: ar.ID})
	h.ok(h.s.Passages().Insert(h.ctx, &p))
	equal(h, p, must[core.Passage](h)(h.s.Passages().Get(h.ctx, p.ID)))

	rw := filled(core.Rewind{ID: core.NewRewindID(), Agent: a.ID, Conversation: c.ID, Taken: []core.PassageID{p.ID}})
	h.ok(h.s.Rewinds().Create(h.ctx, &rw))
	equal(h, rw, must[core.Rewind](h)(h.s.Rewinds().Get(h.ctx, rw.ID)))
	equal(h, []core.Rewind{rw}, must[[]core.Rewind](h)(h.s.Rewinds().List(h.ctx, c.ID, core.Page{})))
}

func (h *home) agentLists() {
	a, b, c := h.agent("Ada", "x", "y"), h.agent("Bob", "x"), h.agent("Cy", "y")
	list := func(f core.AgentFilter, p core.Page) []string {
		h.Helper()
		return names(must[[]core.Agent](h)(h.s.Agents().List(h.ctx, f, p)))
	}
	equal(h, []string{"Ada", "Bob", "Cy"}, list(core.AgentFilter{}, core.Page{}))
	equal(h, []string{"Cy", "Bob"}, list(core.AgentFilter{}, core.Page{Desc: true, Limit: 2}))
	equal(h, []string{"Bob", "Cy"}, list(core.AgentFilter{}, core.Page{After: string(a.ID)}))
	equal(h, []string{"Bob", "Ada"}, list(core.AgentFilter{}, core.Page{After: string(c.ID), Desc: true}))
	equal(h, []string{"Ada"}, list(core.AgentFilter{}, core.Page{Before: string(b.ID)}))
	equal(h, []string{"Ada", "Bob"}, list(core.AgentFilter{Tags: []string{"x"}}, core.Page{}))
	equal(h, []string{"Ada"}, list(core.AgentFilter{Tags: []string{"x", "y"}, MatchAllTags: true}, core.Page{}))
	equal(h, []string{"Ada", "Bob", "Cy"}, list(core.AgentFilter{Tags: []string{"x", "y"}}, core.Page{}))
	equal(h, []string{"Bob"}, list(core.AgentFilter{Query: "OB"}, core.Page{}))
	equal(h, []string{}, list(core.AgentFilter{Query: "%"}, core.Page{}))
	equal(h, []string{"Cy"}, list(core.AgentFilter{Name: "Cy"}, core.Page{}))
	h.ok(h.s.Agents().Finished(h.ctx, b.ID, core.StopEndTurn, h.tick(), 1500*time.Millisecond))
	equal(h, []string{"Bob"}, list(core.AgentFilter{LastStop: core.StopEndTurn}, core.Page{}))
	equal(h, []string{"Bob"}, list(core.AgentFilter{}, core.Page{OrderBy: "last_run_completion", Desc: true, Limit: 1}))
	got := must[core.Agent](h)(h.s.Agents().Get(h.ctx, b.ID))
	equal(h, 1500, int(got.LastRunMillis))
	got.Hidden = true
	h.ok(h.s.Agents().Update(h.ctx, &got))
	equal(h, []string{"Ada", "Cy"}, list(core.AgentFilter{}, core.Page{}))
	equal(h, 3, must[int](h)(h.s.Agents().Count(h.ctx, core.AgentFilter{Hidden: true})))
	equal(h, []string{"x", "y"}, must[[]string](h)(h.s.Agents().Tags(h.ctx, "", core.Page{})))
	equal(h, []string{"y"}, must[[]string](h)(h.s.Agents().Tags(h.ctx, "", core.Page{After: "x"})))
	_, err := h.s.Agents().List(h.ctx, core.AgentFilter{}, core.Page{OrderBy: "name; DROP TABLE agents"})
	h.kind(core.Invalid, err)
}

func (h *home) stableCursors() {
	want := map[core.AgentID]bool{}
	for range 25 {
		a := core.Agent{ID: core.NewAgentID(), Name: "same", Type: core.AgentLettaV1, CreatedAt: h.now, UpdatedAt: h.now}
		h.ok(h.s.Agents().Create(h.ctx, &a))
		want[a.ID] = true
	}
	for _, desc := range []bool{false, true} {
		seen, after := map[core.AgentID]bool{}, ""
		for {
			page := must[[]core.Agent](h)(h.s.Agents().List(h.ctx, core.AgentFilter{}, core.Page{After: after, Limit: 4, Desc: desc}))
			if len(page) == 0 {
				break
			}
			for _, a := range page {
				if seen[a.ID] {
					h.Fatalf("agent %s came twice", a.ID)
				}
				seen[a.ID] = true
			}
			after = string(page[len(page)-1].ID)
		}
		equal(h, want, seen)
	}
}

func (h *home) unknownCursor() {
	p := core.Page{After: "agent-none"}
	_, err := h.s.Agents().List(h.ctx, core.AgentFilter{}, p)
	h.kind(core.NotFound, err)
	_, err = h.s.Messages().List(h.ctx, core.MessageFilter{}, p)
	h.kind(core.NotFound, err)
	a := h.agent("a")
	_, err = h.s.Messages().List(h.ctx, core.MessageFilter{Conversation: core.DefaultConversation(a.ID)}, core.Page{Before: "none"})
	h.kind(core.NotFound, err)
	_, err = h.s.Runs().List(h.ctx, core.RunFilter{}, p)
	h.kind(core.NotFound, err)
	_, err = h.s.Passages().List(h.ctx, core.PassageFilter{}, p)
	h.kind(core.NotFound, err)
}

func (h *home) missing() {
	_, err := h.s.Agents().Get(h.ctx, core.NewAgentID())
	h.kind(core.NotFound, err)
	h.kind(core.NotFound, h.s.Agents().Update(h.ctx, &core.Agent{ID: core.NewAgentID()}))
	h.kind(core.NotFound, h.s.Agents().Delete(h.ctx, core.NewAgentID()))
	_, err = h.s.Blocks().Get(h.ctx, core.NewBlockID())
	h.kind(core.NotFound, err)
	_, err = h.s.Messages().Get(h.ctx, core.NewMessageID())
	h.kind(core.NotFound, err)
	_, err = h.s.Conversations().Get(h.ctx, core.NewConversationID())
	h.kind(core.NotFound, err)
	h.kind(core.NotFound, h.s.Runs().Delete(h.ctx, core.NewRunID()))
	_, err = h.s.Runs().Get(h.ctx, core.NewRunID())
	h.kind(core.NotFound, err)
	_, err = h.s.Steps().Get(h.ctx, core.NewStepID())
	h.kind(core.NotFound, err)
	_, _, err = h.s.Snapshots().Get(h.ctx, "none")
	h.kind(core.NotFound, err)
	a := h.agent("a")
	h.kind(core.Conflict, h.s.Agents().Create(h.ctx, &a))
	m := h.newMessage(a.ID, core.NewConversationID(), core.RoleUser, "x")
	h.kind(core.NotFound, h.s.Messages().Insert(h.ctx, &m))
}

func (h *home) deletedAgent() {
	a, other := h.agent("a", "tag"), h.agent("other")
	msgs := h.say(a.ID, core.DefaultConversation(a.ID), "one", "two")
	r := h.run(a.ID, "")
	b := h.block("human", "v")
	h.ok(h.s.Blocks().Attach(h.ctx, a.ID, b.ID))
	h.ok(
		h.s.Workspaces().
			Put(h.ctx, core.Workspace{Path: "/x", Agent: a.ID, Conversation: core.DefaultConversation(a.ID), UsedAt: h.tick()}),
	)
	h.ok(h.s.Agents().Delete(h.ctx, a.ID))
	_, err := h.s.Agents().Get(h.ctx, a.ID)
	h.kind(core.NotFound, err)
	h.kind(core.NotFound, h.s.Agents().Delete(h.ctx, a.ID))
	_, err = h.s.Messages().Get(h.ctx, msgs[0].ID)
	h.kind(core.NotFound, err)
	_, err = h.s.Conversations().Get(h.ctx, core.DefaultConversation(a.ID))
	h.kind(core.NotFound, err)
	_, err = h.s.Runs().Get(h.ctx, r.ID)
	h.kind(core.NotFound, err)
	equal(h, []string{"other"}, names(must[[]core.Agent](h)(h.s.Agents().List(h.ctx, core.AgentFilter{}, core.Page{}))))
	equal(h, []string{}, texts(must[[]core.Message](h)(h.s.Messages().List(h.ctx, core.MessageFilter{}, core.Page{}))))
	equal(h, 0, len(must[[]core.Run](h)(h.s.Runs().Unfinished(h.ctx))))
	equal(h, []string{}, must[[]string](h)(h.s.Agents().Tags(h.ctx, "", core.Page{})))
	equal(h, []core.AgentID{}, must[[]core.AgentID](h)(h.s.Blocks().AgentsOf(h.ctx, b.ID)))
	if _, ok, err := h.s.Workspaces().Find(h.ctx, "/x"); err != nil || ok {
		h.Fatalf("the folder still names the agent: %v %v", ok, err)
	}
	must[core.Block](h)(h.s.Blocks().Get(h.ctx, b.ID)) // blocks stay
	equal(
		h,
		[]string{"other"},
		names(must[[]core.Agent](h)(h.s.Agents().List(h.ctx, core.AgentFilter{}, core.Page{Before: string(a.ID), Desc: true}))),
	)
	must[core.Agent](h)(h.s.Agents().Get(h.ctx, other.ID))
}

func (h *home) blockVersions() {
	b := h.block("human", "one")
	first := b
	author := core.Author{Kind: core.AuthorAgent, ID: "agent-x", Step: "step-x"}
	b.Value, b.UpdatedAt = "two", h.tick()
	h.ok(h.s.Blocks().Update(h.ctx, &b, author))
	equal(h, 2, b.Version)
	first.Value = "stale"
	h.kind(core.Conflict, h.s.Blocks().Update(h.ctx, &first, author))
	b.ReadOnly = true
	h.ok(h.s.Blocks().Update(h.ctx, &b, author))
	equal(h, 2, b.Version) // what the model sees did not change
	equal(h, b, must[core.Block](h)(h.s.Blocks().Get(h.ctx, b.ID)))
	v := must[core.BlockVersion](h)(h.s.Blocks().Version(h.ctx, b.ID, 2))
	equal(h, core.BlockVersion{Block: b.ID, Version: 2, Value: "two", Label: "human", Limit: 1000, Author: author, At: b.UpdatedAt}, v)
	all := must[[]core.BlockVersion](h)(h.s.Blocks().Versions(h.ctx, b.ID, core.Page{}))
	if len(all) != 2 || all[0].Version != 2 || all[1].Value != "one" {
		h.Fatalf("versions %+v", all)
	}
	_, err := h.s.Blocks().Version(h.ctx, b.ID, 3)
	h.kind(core.NotFound, err)
}

func (h *home) labels() {
	a := h.agent("a")
	human, again, persona := h.block("human", "1"), h.block("human", "2"), h.block("persona", "3")
	rev := must[core.Agent](h)(h.s.Agents().Get(h.ctx, a.ID)).Rev
	h.ok(h.s.Blocks().Attach(h.ctx, a.ID, persona.ID))
	h.ok(h.s.Blocks().Attach(h.ctx, a.ID, human.ID))
	h.ok(h.s.Blocks().Attach(h.ctx, a.ID, human.ID))
	h.kind(core.Conflict, h.s.Blocks().Attach(h.ctx, a.ID, again.ID))
	equal(h, rev+2, must[core.Agent](h)(h.s.Agents().Get(h.ctx, a.ID)).Rev)
	of := must[[]core.Block](h)(h.s.Blocks().OfAgent(h.ctx, a.ID))
	equal(h, []core.Block{persona, human}, of)
	equal(h, human, must[core.Block](h)(h.s.Blocks().ByLabel(h.ctx, a.ID, "human")))
	persona.Label = "human"
	h.kind(core.Conflict, h.s.Blocks().Update(h.ctx, &persona, core.Author{}))
	equal(h, "persona", must[core.Block](h)(h.s.Blocks().Get(h.ctx, persona.ID)).Label)
	h.ok(h.s.Blocks().Detach(h.ctx, a.ID, human.ID))
	h.kind(core.NotFound, h.s.Blocks().Detach(h.ctx, a.ID, human.ID))
	h.ok(h.s.Blocks().Attach(h.ctx, a.ID, again.ID))
	h.ok(h.s.Blocks().Delete(h.ctx, again.ID))
	_, err := h.s.Blocks().ByLabel(h.ctx, a.ID, "human")
	h.kind(core.NotFound, err)
	h.ok(h.s.Blocks().Attach(h.ctx, a.ID, human.ID))
	equal(h, []core.AgentID{a.ID}, must[[]core.AgentID](h)(h.s.Blocks().AgentsOf(h.ctx, human.ID)))
}

func (h *home) blockLists() {
	at := h.tick()
	mk := func(label, value, name string, tags ...string) core.Block {
		b := core.Block{
			ID:          core.NewBlockID(),
			Label:       label,
			Value:       value,
			Description: "about " + label,
			Limit:       9,
			Tags:        tags,
			CreatedAt:   at,
			UpdatedAt:   at,
		}
		if name != "" {
			b.Extra = map[string]any{"template_name": name}
		}
		h.ok(h.s.Blocks().Create(h.ctx, &b, core.Author{}))
		return b
	}
	a := mk("human", "Ada likes 100% wool", "tmpl", "t")
	mk("persona", "kind", "", "t", "u")
	one, two := h.agent("one"), h.agent("two")
	for _, agent := range []core.Agent{one, two} {
		h.ok(h.s.Blocks().Attach(h.ctx, agent.ID, a.ID))
	}
	for name, f := range map[string]core.BlockFilter{
		"label": {Label: "human"}, "name": {Name: "tmpl"}, "value": {ValueSearch: "100% WOOL"}, "label part": {LabelSearch: "uma"},
		"description": {DescriptionSearch: "about h"}, "ids": {IDs: []core.BlockID{a.ID}},
		"sharers": {SharersOver: core.Some(1)}, "number of sharers": {Sharers: []int{3, 2}},
		"sharers between": {SharersOver: core.Some(0), SharersUnder: core.Some(3)},
	} {
		got := must[[]core.Block](h)(h.s.Blocks().List(h.ctx, f, core.Page{}))
		if len(got) != 1 || got[0].ID != a.ID {
			h.Errorf("filter by %s: %d blocks", name, len(got))
		}
		equal(h, 1, must[int](h)(h.s.Blocks().Count(h.ctx, f)))
	}
	equal(h, 2, must[int](h)(h.s.Blocks().Count(h.ctx, core.BlockFilter{Tags: []string{"t", "u"}})))
	equal(h, 1, must[int](h)(h.s.Blocks().Count(h.ctx, core.BlockFilter{Tags: []string{"t", "u"}, MatchAllTags: true})))
}

func (h *home) snapshots() {
	body := strings.Repeat("the prompt, as sent · ", 500)
	hash := must[string](h)(h.s.Snapshots().Put(h.ctx, core.SnapshotSystem, body))
	equal(h, hash, must[string](h)(h.s.Snapshots().Put(h.ctx, core.SnapshotSystem, body)))
	other := must[string](h)(h.s.Snapshots().Put(h.ctx, core.SnapshotTools, body))
	if other == hash {
		h.Fatal("the kind is no part of the hash")
	}
	kind, got, err := h.s.Snapshots().Get(h.ctx, hash)
	h.ok(err)
	if kind != core.SnapshotSystem || got != body {
		h.Fatalf("kind %q, %d bytes", kind, len(got))
	}
	equal(h, "", func() string {
		hash := must[string](h)(h.s.Snapshots().Put(h.ctx, core.SnapshotAgent, ""))
		_, body, err := h.s.Snapshots().Get(h.ctx, hash)
		h.ok(err)
		return body
	}())
}

func (h *home) archives() {
	a, b := h.agent("a"), h.agent("b")
	one, two := h.archive("one"), h.archive("two")
	if _, ok, err := h.s.Archives().OfAgent(h.ctx, a.ID); ok || err != nil {
		h.Fatal("an archive before any was attached")
	}
	h.ok(h.s.Archives().Attach(h.ctx, a.ID, one.ID))
	h.ok(h.s.Archives().Attach(h.ctx, a.ID, one.ID))
	h.ok(h.s.Archives().Attach(h.ctx, b.ID, one.ID))
	h.kind(core.Conflict, h.s.Archives().Attach(h.ctx, a.ID, two.ID))
	equal(h, []core.AgentID{a.ID, b.ID}, must[[]core.AgentID](h)(h.s.Archives().AgentsOf(h.ctx, one.ID)))
	equal(h, []core.Archive{one}, must[[]core.Archive](h)(h.s.Archives().List(h.ctx, "", a.ID, core.Page{})))
	equal(h, []core.Archive{two}, must[[]core.Archive](h)(h.s.Archives().List(h.ctx, "two", "", core.Page{})))
	p := h.passage(one.ID, "text")
	equal(h, 1, must[core.Agent](h)(h.s.Agents().Get(h.ctx, a.ID)).PassageCount)
	h.ok(h.s.Archives().Delete(h.ctx, one.ID))
	_, err := h.s.Passages().Get(h.ctx, p.ID)
	h.kind(core.NotFound, err)
	equal(h, 0, must[core.Agent](h)(h.s.Agents().Get(h.ctx, a.ID)).PassageCount)
	h.ok(h.s.Archives().Attach(h.ctx, a.ID, two.ID))
	h.ok(h.s.Archives().Detach(h.ctx, a.ID, two.ID))
	h.kind(core.NotFound, h.s.Archives().Detach(h.ctx, a.ID, two.ID))
}

func (h *home) passages() {
	a, other := h.archive("a"), h.archive("other")
	p1, p2, p3 := h.passage(a.ID, "First", "x", "x", "y"), h.passage(a.ID, "Second", "x"), h.passage(other.ID, "Third")
	list := func(f core.PassageFilter, p core.Page) []string {
		h.Helper()
		out := []string{}
		for _, p := range must[[]core.Passage](h)(h.s.Passages().List(h.ctx, f, p)) {
			out = append(out, p.Text)
		}
		return out
	}
	in := []core.ArchiveID{a.ID}
	equal(h, []string{"First", "Second"}, list(core.PassageFilter{Archives: in}, core.Page{}))
	equal(h, []string{"Third", "Second"}, list(core.PassageFilter{}, core.Page{Desc: true, Limit: 2}))
	equal(h, []string{"Second"}, list(core.PassageFilter{Archives: in}, core.Page{After: string(p1.ID)}))
	equal(h, []string{"Second"}, list(core.PassageFilter{Contains: "sEC"}, core.Page{}))
	equal(h, []string{"First"}, list(core.PassageFilter{Tags: []string{"x", "y"}, AllTags: true}, core.Page{}))
	equal(h, []string{"First"}, list(core.PassageFilter{From: p1.CreatedAt, Until: p2.CreatedAt}, core.Page{}))
	equal(h, []core.TagCount{{Tag: "x", Count: 2}, {Tag: "y", Count: 1}}, must[[]core.TagCount](h)(h.s.Passages().TopTags(h.ctx, a.ID, 5)))
	p1.Tags, p1.Text = []string{"z"}, "Changed"
	h.ok(h.s.Passages().Update(h.ctx, &p1, core.Author{}))
	equal(h, []core.TagCount{{Tag: "x", Count: 1}, {Tag: "z", Count: 1}}, must[[]core.TagCount](h)(h.s.Passages().TopTags(h.ctx, a.ID, 5)))
	h.ok(h.s.Passages().Delete(h.ctx, p2.ID))
	equal(h, []core.TagCount{{Tag: "z", Count: 1}}, must[[]core.TagCount](h)(h.s.Passages().TopTags(h.ctx, a.ID, 5)))
	equal(h, 1, must[core.Archive](h)(h.s.Archives().Get(h.ctx, a.ID)).Passages)
	h.kind(core.NotFound, h.s.Passages().Delete(h.ctx, p2.ID))
	broken := core.Passage{ID: core.NewPassageID(), Archive: a.ID, Text: "new", CreatedAt: h.tick()}
	twice := p3
	h.kind(core.Conflict, h.s.Passages().Insert(h.ctx, &broken, &twice))
	equal(h, 1, must[core.Archive](h)(h.s.Archives().Get(h.ctx, a.ID)).Passages)
}

func (h *home) transactions() {
	boom := errors.New("boom")
	var a core.Agent
	err := h.s.Tx(h.ctx, func(ctx context.Context, tx core.Store) error {
		a = core.Agent{ID: core.NewAgentID(), Name: "a", Type: core.AgentLettaV1, CreatedAt: h.now}
		if err := tx.Agents().Create(ctx, &a); err != nil {
			return err
		}
		if _, err := tx.Agents().Get(ctx, a.ID); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		h.Fatalf("error %v, want the function's own", err)
	}
	_, err = h.s.Agents().Get(h.ctx, a.ID)
	h.kind(core.NotFound, err)
	h.ok(h.s.Tx(h.ctx, func(ctx context.Context, tx core.Store) error {
		if err := tx.Agents().Create(ctx, &a); err != nil {
			return err
		}
		nested := tx.Tx(ctx, func(ctx context.Context, tx core.Store) error {
			if err := tx.Meta().Put(ctx, "k", "v"); err != nil {
				return err
			}
			if err := tx.Tx(ctx, func(ctx context.Context, tx core.Store) error { return tx.Agents().Delete(ctx, a.ID) }); err != nil {
				return err
			}
			return boom
		})
		if !errors.Is(nested, boom) {
			h.Errorf("nested error %v", nested)
		}
		// A method that fails takes back only itself.
		if err := tx.Agents().Create(ctx, &a); core.KindOf(err) != core.Conflict {
			h.Errorf("second create: %v", err)
		}
		return nil
	}))
	must[core.Agent](h)(h.s.Agents().Get(h.ctx, a.ID))
	if _, ok, err := h.s.Meta().Get(h.ctx, "k"); ok || err != nil {
		h.Fatal("the nested transaction was not taken back")
	}
}
