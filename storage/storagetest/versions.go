package storagetest

import (
	"cmp"
	"slices"

	"loci/core"
)

func (h *home) passageVersions() {
	a := h.agent("a")
	ar := h.archive("a")
	agent := core.Author{Kind: core.AuthorAgent, ID: string(a.ID), Step: "step-2"}
	p := core.Passage{
		ID: core.NewPassageID(), Archive: ar.ID, Text: "the lake is deep", Tags: []string{"t"}, Metadata: map[string]any{"n": "1"},
		Agent: a.ID, Step: "step-1", CreatedAt: h.tick(), UpdatedAt: h.now,
	}
	h.ok(h.s.Passages().Insert(h.ctx, &p))
	first := core.PassageVersion{
		Passage: p.ID, Archive: ar.ID, Version: 1, Text: p.Text, Tags: p.Tags, Metadata: p.Metadata,
		Author: core.Author{Kind: core.AuthorAgent, ID: string(a.ID), Step: "step-1"}, At: p.CreatedAt, Created: p.CreatedAt,
	}
	versions := func() (out []core.PassageVersion) {
		h.Helper()
		for _, v := range must[[]core.PassageVersion](h)(h.s.Passages().Versions(h.ctx, p.ID, core.Page{})) {
			equal(h, v, must[core.PassageVersion](h)(h.s.Passages().Version(h.ctx, p.ID, v.Version)))
			out = append(out, v)
		}
		return out
	}
	changed := func(f core.PassageChanges) (numbers []int) {
		h.Helper()
		f.Archive = ar.ID
		numbers = []int{}
		for _, v := range must[[]core.PassageVersion](h)(h.s.Passages().Changes(h.ctx, f)) {
			equal(h, v, must[core.PassageVersion](h)(h.s.Passages().Version(h.ctx, p.ID, v.Version)))
			numbers = append(numbers, v.Version)
		}
		return numbers
	}
	found := func(text string) []string {
		h.Helper()
		return h.found(text, core.PassageFilter{Archives: []core.ArchiveID{ar.ID}})
	}
	equal(h, []core.PassageVersion{first}, versions())
	equal(h, []int{}, changed(core.PassageChanges{}))
	h.ok(h.s.Passages().Update(h.ctx, &p, agent)) // nothing is another
	equal(h, 1, len(versions()))
	p.Text, p.Tags = "the pond is shallow", []string{"u"}
	h.ok(h.s.Passages().Update(h.ctx, &p, agent))
	second := versions()[0]
	first.Seq = versions()[1].Seq
	equal(h, true, 0 < first.Seq && first.Seq < second.Seq)
	equal(h, first, versions()[1])
	equal(h, agent, second.Author)
	equal(h, core.PassageVersion{
		Passage: p.ID, Archive: ar.ID, Version: 2, Text: p.Text, Tags: p.Tags, Metadata: p.Metadata, Author: agent, At: second.At,
		Created: p.CreatedAt, Seq: second.Seq,
	}, second)
	h.ok(h.s.Passages().Retire(h.ctx, p.ID, agent))
	_, err := h.s.Passages().Get(h.ctx, p.ID)
	h.kind(core.NotFound, err)
	equal(h, true, versions()[0].Gone)
	equal(h, 0, must[core.Archive](h)(h.s.Archives().Get(h.ctx, ar.ID)).Passages)
	equal(h, []string{}, append(found("pond"), found("lake")...))
	h.kind(core.NotFound, h.s.Passages().Restore(h.ctx, p.ID, 9, agent))
	h.ok(h.s.Passages().Restore(h.ctx, p.ID, 1, core.Author{Kind: core.AuthorUser, ID: "client"}))
	p = must[core.Passage](h)(h.s.Passages().Get(h.ctx, p.ID))
	equal(h, []string{"the lake is deep", "t"}, append([]string{p.Text}, p.Tags...))
	equal(h, a.ID, p.Agent)
	equal(h, core.Author{Kind: core.AuthorUser, ID: "client", Restores: 1}, versions()[0].Author)
	equal(h, []core.VersionLink{{Version: 1}, {Version: 2}, {Version: 3}, {Version: 4, Restores: 1}},
		must[[]core.VersionLink](h)(h.s.Passages().Lineage(h.ctx, p.ID)))
	equal(h, 1, must[core.Archive](h)(h.s.Archives().Get(h.ctx, ar.ID)).Passages)
	equal(h, []core.TagCount{{Tag: "t", Count: 1}}, must[[]core.TagCount](h)(h.s.Passages().TopTags(h.ctx, ar.ID, 5)))
	equal(h, []string{"the lake is deep"}, found("lake"))
	equal(h, []string{}, found("pond"))
	equal(h, []int{4, 3, 2}, changed(core.PassageChanges{}))
	equal(h, []int{4, 3}, changed(core.PassageChanges{Limit: 2}))
	equal(h, []int{3, 2}, changed(core.PassageChanges{By: a.ID}))
	equal(h, []int{2}, changed(core.PassageChanges{By: a.ID, Before: versions()[1].Seq}))
	equal(h, []int{4}, changed(core.PassageChanges{Restored: a.ID}))
	equal(h, []int{}, changed(core.PassageChanges{Restored: a.ID, After: versions()[0].Seq}))
	equal(h, []int{}, changed(core.PassageChanges{Restored: h.agent("b").ID}))
	undated := core.Passage{ID: core.NewPassageID(), Archive: h.archive("undated").ID, Text: "never changed", CreatedAt: h.tick()}
	h.ok(h.s.Passages().Insert(h.ctx, &undated))
	equal(h, undated.CreatedAt, must[[]core.PassageVersion](h)(h.s.Passages().Versions(h.ctx, undated.ID, core.Page{}))[0].At)
	h.ok(h.s.Passages().Delete(h.ctx, p.ID)) // for good
	h.kind(core.NotFound, h.s.Passages().Restore(h.ctx, p.ID, 1, agent))
	_, err = h.s.Passages().Versions(h.ctx, p.ID, core.Page{})
	h.kind(core.NotFound, err)
	equal(h, []int{}, changed(core.PassageChanges{}))
}

func (h *home) turnedPassages() {
	a, b := h.agent("a"), h.agent("b")
	own, shared := h.archive("own"), h.archive("shared")
	run := h.run(a.ID, "")
	step := func(of core.AgentID) core.Author {
		st := core.Step{
			ID: core.NewStepID(), Run: run.ID, Agent: of, Conversation: core.DefaultConversation(of), CreatedAt: h.tick(),
		}
		h.ok(h.s.Steps().Create(h.ctx, &st))
		return core.Author{Kind: core.AuthorAgent, ID: string(of), Step: st.ID}
	}
	change := func(p core.Passage, text string, by core.Author) {
		h.Helper()
		p.Text = text
		h.ok(h.s.Passages().Update(h.ctx, &p, by))
	}
	point := func(at core.RewindPoint) []core.PassageTurn {
		h.Helper()
		back := must[core.PassagesBack](h)(h.s.Rewinds().Passages(h.ctx, a.ID, []core.ArchiveID{own.ID}, []core.ArchiveID{shared.ID}, at))
		return back.Turn
	}
	turn := func(ps ...core.PassageTurn) []core.PassageTurn {
		slices.SortFunc(ps, func(a, b core.PassageTurn) int { return cmp.Compare(a.Passage, b.Passage) })
		return ps
	}
	mine, theirs, both := h.passage(own.ID, "mine"), h.passage(shared.ID, "theirs"), h.passage(shared.ID, "both")
	gone, other := h.passage(own.ID, "gone"), h.passage(h.archive("other").ID, "other")
	before := step(a.ID)
	change(mine, "mine, before", before)
	s1 := step(a.ID)
	change(mine, "mine, since", s1)
	change(theirs, "theirs, since", s1)
	change(both, "both, since", s1)
	change(other, "in an archive that it no longer has", s1)
	h.ok(h.s.Passages().Retire(h.ctx, gone.ID, s1))
	change(both, "both, by the other", step(b.ID))
	s2 := step(a.ID)
	change(mine, "mine, later", s2)
	want := turn(
		core.PassageTurn{Passage: mine.ID, Version: 2}, core.PassageTurn{Passage: theirs.ID, Version: 1},
		core.PassageTurn{Passage: gone.ID, Version: 1},
	)
	equal(h, want, point(core.RewindPoint{Step: s1.Step}))
	equal(h, turn(core.PassageTurn{Passage: mine.ID, Version: 3}), point(core.RewindPoint{Step: s2.Step}))
	r := core.Rewind{
		ID: core.NewRewindID(), Agent: a.ID, Conversation: core.DefaultConversation(a.ID), Step: s1.Step, CreatedAt: h.tick(),
	}
	for _, t := range want {
		h.ok(h.s.Passages().Restore(h.ctx, t.Passage, t.Version, core.Author{Kind: core.AuthorUser, Rewind: r.ID}))
		r.Turned = append(r.Turned, t.Passage)
	}
	h.ok(h.s.Rewinds().Create(h.ctx, &r))
	equal(h, r, must[core.Rewind](h)(h.s.Rewinds().Get(h.ctx, r.ID)))
	equal(h, 0, len(point(core.RewindPoint{Step: step(a.ID).Step}))) // after the rewind nothing is to be taken back
	equal(h, turn(
		core.PassageTurn{Passage: mine.ID, Version: 4}, core.PassageTurn{Passage: theirs.ID, Version: 2},
		core.PassageTurn{Passage: gone.ID, Version: 2},
	), point(core.RewindPoint{Rewind: r.ID})) // and this undoes it
	change(mine, "by a person", core.Author{Kind: core.AuthorUser})
	equal(h, turn(core.PassageTurn{Passage: theirs.ID, Version: 2}, core.PassageTurn{Passage: gone.ID, Version: 2}),
		point(core.RewindPoint{Rewind: r.ID}))
}
