package storagetest

import (
	"math/rand/v2"

	"loci/core"
)

// contextView is what a context and its list show.
type contextView struct {
	Window []core.ContextRow
	Listed []string
}

func (h *home) view(conv core.ConversationID) contextView {
	h.Helper()
	v := contextView{}
	for _, c := range must[[]core.InContext](h)(h.s.Messages().Context(h.ctx, conv)) {
		c.Row.Entered = 0 // a row that opened again is another one
		v.Window = append(v.Window, c.Row)
	}
	v.Listed = texts(must[[]core.Message](h)(h.s.Messages().List(h.ctx, core.MessageFilter{Conversation: conv}, core.Page{Limit: 1000})))
	return v
}

// restoredContext goes back to revs of a random history, restores among them.
func (h *home) restoredContext() {
	rng := rand.New(rand.NewPCG(3, 5)) //nolint:gosec // a history need not be secret
	a := h.agent("a")
	conv := core.DefaultConversation(a.ID)
	zero := h.newMessage(a.ID, conv, core.RoleSystem, "system")
	h.ok(h.s.Messages().Insert(h.ctx, &zero))
	h.ok(h.s.Messages().EnterFirst(h.ctx, conv, 1, zero.ID))
	was := []contextView{{}, h.view(conv)} // by rev
	whys := []core.LeftWhy{core.LeftEviction, core.LeftCompaction, core.LeftReset}
	for rev := 2; rev < 120; rev++ {
		switch open := must[[]core.InContext](h)(h.s.Messages().Context(h.ctx, conv)); {
		case rng.IntN(6) == 0:
			to := 1 + rng.IntN(rev-1)
			h.ok(h.s.Messages().Restore(h.ctx, conv, rev, to))
			equal(h, was[to], h.view(conv))
		case len(open) > 3 && rng.IntN(3) == 0:
			var ids []core.MessageID
			for _, c := range open[1 : 1+rng.IntN(len(open)-1)] {
				ids = append(ids, c.Row.Message)
			}
			h.ok(h.s.Messages().Leave(h.ctx, conv, rev, whys[rng.IntN(len(whys))], ids))
		default:
			m := h.newMessage(a.ID, conv, core.RoleUser, core.NewID[string]("word"))
			h.ok(h.s.Messages().Insert(h.ctx, &m))
			h.ok(h.s.Messages().Enter(h.ctx, conv, rev, []core.MessageID{m.ID}, map[core.MessageID]int{m.ID: rng.IntN(3)}))
		}
		was = append(was, h.view(conv))
	}
	for rev := range was[1:] { // nothing of the past was changed by going back to it
		var window []core.ContextRow
		for _, c := range must[[]core.InContext](h)(h.s.Messages().ContextAt(h.ctx, conv, rev+1)) {
			equal(h, c.Row.Left == 0, c.Row.Why == "")
			c.Row.Entered, c.Row.Left, c.Row.Why = 0, 0, ""
			window = append(window, c.Row)
		}
		equal(h, was[rev+1].Window, window)
	}
	h.ok(h.s.Messages().Restore(h.ctx, conv, len(was), 1))
	equal(h, 0, len(h.match("word", core.MessageFilter{Agent: a.ID})))
}

func (h *home) forkedMessages() {
	a := h.agent("a")
	parent, fork := h.conversation(a.ID, core.NewConversationID()), h.conversation(a.ID, core.NewConversationID())
	m := h.say(a.ID, parent.ID, "shared")[0]
	h.ok(h.s.Messages().Leave(h.ctx, parent.ID, 2, core.LeftRewind, []core.MessageID{m.ID}))
	equal(h, 0, len(h.match("shared", core.MessageFilter{Agent: a.ID})))
	h.ok(h.s.Messages().Enter(h.ctx, fork.ID, 1, []core.MessageID{m.ID}, nil))
	equal(h, 1, len(h.match("shared", core.MessageFilter{Agent: a.ID}))) // the fork shows it
	h.ok(h.s.Conversations().Delete(h.ctx, parent.ID))
	list := func(c core.ConversationID) []string {
		h.Helper()
		return texts(must[[]core.Message](h)(h.s.Messages().List(h.ctx, core.MessageFilter{Conversation: c}, core.Page{})))
	}
	equal(h, []string{}, list(parent.ID))
	equal(h, []string{"shared"}, list(fork.ID))
	must[core.Message](h)(h.s.Messages().Get(h.ctx, m.ID))
	h.ok(h.s.Conversations().Delete(h.ctx, fork.ID))
	_, err := h.s.Messages().Get(h.ctx, m.ID)
	h.kind(core.NotFound, err)
}

func (h *home) revivedBlocks() {
	b := h.block("human", "one")
	b.Value, b.Tags, b.ReadOnly = "two", []string{"t"}, true
	h.ok(h.s.Blocks().Update(h.ctx, &b, core.Author{Kind: core.AuthorUser}))
	by := core.Author{Kind: core.AuthorUser, Restores: 1, Rewind: core.NewRewindID()}
	_, err := h.s.Blocks().Revive(h.ctx, b.ID, 1, by)
	h.kind(core.Conflict, err)
	h.ok(h.s.Blocks().Delete(h.ctx, b.ID))
	got := must[core.Block](h)(h.s.Blocks().Revive(h.ctx, b.ID, 1, by))
	if got.Value != "one" || got.Version != 3 || !got.ReadOnly || len(got.Tags) != 1 {
		h.Fatalf("revived %+v", got)
	}
	equal(h, got.Value, must[core.Block](h)(h.s.Blocks().Get(h.ctx, b.ID)).Value)
	equal(h, by, must[core.BlockVersion](h)(h.s.Blocks().Version(h.ctx, b.ID, 3)).Author)
	equal(
		h,
		[]core.VersionLink{{Version: 1}, {Version: 2}, {Version: 3, Restores: 1, Rewind: by.Rewind}},
		must[[]core.VersionLink](h)(h.s.Blocks().Lineage(h.ctx, b.ID)),
	)
	_, err = h.s.Blocks().Revive(h.ctx, core.NewBlockID(), 1, by)
	h.kind(core.NotFound, err)
}

func (h *home) rewoundPassages() {
	a := h.agent("a")
	conv := core.DefaultConversation(a.ID)
	ar, other := h.archive("own"), h.archive("other")
	run := h.run(a.ID, "")
	step := func() core.StepID {
		st := core.Step{ID: core.NewStepID(), Run: run.ID, Agent: a.ID, Conversation: conv, CreatedAt: h.tick()}
		h.ok(h.s.Steps().Create(h.ctx, &st))
		return st.ID
	}
	insert := func(archive core.ArchiveID, agent core.AgentID, step core.StepID) core.PassageID {
		p := core.Passage{
			ID:        core.NewPassageID(),
			Archive:   archive,
			Text:      "lake",
			Tags:      []string{"t"},
			Agent:     agent,
			Step:      step,
			CreatedAt: h.tick(),
		}
		h.ok(h.s.Passages().Insert(h.ctx, &p))
		return p.ID
	}
	own := []core.ArchiveID{ar.ID}
	apply := func(at core.RewindPoint) (core.Rewind, []core.PassageID, []core.PassageID) {
		h.Helper()
		back := must[core.PassagesBack](h)(h.s.Rewinds().Passages(h.ctx, a.ID, own, nil, at))
		take, bring := back.Take, back.Bring
		for _, id := range take {
			h.ok(h.s.Passages().Delete(h.ctx, id))
		}
		for _, id := range bring {
			h.ok(h.s.Passages().Revive(h.ctx, id))
		}
		r := core.Rewind{
			ID:           core.NewRewindID(),
			Agent:        a.ID,
			Conversation: conv,
			Step:         at.Step,
			Undoes:       at.Rewind,
			Taken:        take,
			Brought:      bring,
			CreatedAt:    h.tick(),
		}
		h.ok(h.s.Rewinds().Create(h.ctx, &r))
		return r, take, bring
	}
	s1 := step()
	p1 := insert(ar.ID, a.ID, s1)
	s2 := step()
	p2, byHand := insert(ar.ID, a.ID, s2), insert(ar.ID, "", "")
	insert(other.ID, a.ID, s2)
	first, take, bring := apply(core.RewindPoint{Step: s2})
	equal(h, []core.PassageID{p2}, take)
	equal(h, 0, len(bring))
	s3 := step() // of another branch
	p3 := insert(ar.ID, a.ID, s3)
	_, take, bring = apply(core.RewindPoint{Rewind: first.ID})
	equal(h, []core.PassageID{p3}, take)
	equal(h, []core.PassageID{p2}, bring)
	_, take, bring = apply(core.RewindPoint{Step: s3}) // there p2 was gone, and p3 not yet made
	equal(h, []core.PassageID{p2}, take)
	equal(h, 0, len(bring))
	_, take, bring = apply(core.RewindPoint{Step: s1})
	equal(h, []core.PassageID{p1}, take)
	equal(h, 0, len(bring))
	undone, _, bring := apply(core.RewindPoint{Rewind: first.ID})
	equal(h, []core.PassageID{p1, p2}, bring)
	equal(h, 3, must[core.Archive](h)(h.s.Archives().Get(h.ctx, ar.ID)).Passages)
	equal(h, []core.TagCount{{Tag: "t", Count: 3}}, must[[]core.TagCount](h)(h.s.Passages().TopTags(h.ctx, ar.ID, 5)))
	h.ok(h.s.Passages().Delete(h.ctx, p2)) // a person's wish
	_, _, bring = apply(core.RewindPoint{Rewind: undone.ID})
	equal(h, 0, len(bring))
	must[core.Passage](h)(h.s.Passages().Get(h.ctx, byHand))
	_, err := h.s.Rewinds().Passages(h.ctx, a.ID, own, nil, core.RewindPoint{Step: "step-none"})
	h.kind(core.NotFound, err)
}
