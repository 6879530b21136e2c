package undo_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/undo"
	"loci/storage"
	"loci/storage/sqlite"
	"loci/storage/storagetest"
)

// state is what a passage is, or that it is deleted.
type state struct {
	text, tag string
	gone      bool
}

// entry is a version of a passage.
type entry struct {
	n      int
	by     core.AgentID // empty: a person
	order  int          // among all changes
	undone int          // when it was undone, among all changes
	state
}

// page is a passage as a plain list of what it was and a list of what was undone.
type page struct {
	id           core.PassageID
	versions     []entry
	past, future []entry
}

func (p *page) now() state { return p.past[len(p.past)-1].state }

// model is an archive as it should be.
type model struct {
	pages  []*page
	orders int
}

// change puts a new version on top.
func (m *model) change(p *page, s state, by core.AgentID) {
	m.orders++
	e := entry{n: len(p.versions) + 1, by: by, order: m.orders, state: s}
	p.versions, p.past, p.future = append(p.versions, e), append(p.past, e), nil
}

// restore gives a passage an earlier version, and says whether there is one to take.
func (m *model) restore(p *page, n int) {
	m.orders++
	last, ahead := len(p.past), len(p.future)
	then := p.versions[n-1].state
	switch {
	case last > 1 && p.past[last-2].n == n:
		p.past[last-1].undone = m.orders
		p.past, p.future = p.past[:last-1], append(p.future, p.past[last-1])
	case ahead > 0 && p.future[ahead-1].n == n:
		p.past, p.future = append(p.past, p.future[ahead-1]), p.future[:ahead-1]
	default:
		m.change(p, then, "")
		return
	}
	p.versions = append(p.versions, entry{n: len(p.versions) + 1, order: m.orders, state: then})
}

// last is what an agent changed last that is in effect, and whether somebody else changed it since.
func (m *model) last(agent core.AgentID) (found *page, edit entry, since bool) {
	for _, p := range m.pages {
		for i, e := range p.past {
			if i > 0 && e.by == agent && e.order > edit.order {
				found, edit, since = p, e, i < len(p.past)-1
			}
		}
	}
	return found, edit, since
}

// undone is what was undone last of an agent's changes.
func (m *model) undone(agent core.AgentID) (found *page, edit entry) {
	for _, p := range m.pages {
		if n := len(p.future); n > 0 && p.future[n-1].by == agent && p.future[n-1].undone > edit.undone {
			found, edit = p, p.future[n-1]
		}
	}
	return found, edit
}

// home is an archive that two agents share, with its model.
type home struct {
	*testing.T
	model
	store   *storage.Store
	turns   *undo.Passages
	archive core.ArchiveID
	agents  []core.AgentID
	told    []core.Change
	random  *rand.Rand
	now     time.Time
}

func open(t *testing.T, seed uint64) *home {
	t.Helper()
	h := &home{T: t, now: time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), random: rand.New(rand.NewPCG(seed, 1))}
	var err error
	if h.store, err = storage.Open(t.Context(), storage.Config{Dir: t.TempDir(), Clock: h.clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.ok(h.store.Close()) })
	h.turns = undo.New(undo.Config{Store: h.store, Announce: func(c core.Change) { h.told = append(h.told, c) }})
	archive := core.Archive{ID: core.NewArchiveID(), Name: "shared", CreatedAt: h.now, UpdatedAt: h.now}
	h.archive = archive.ID
	h.ok(h.store.Archives().Create(t.Context(), &archive))
	for _, name := range []string{"one", "two"} {
		a := core.Agent{ID: core.NewAgentID(), Name: name, Type: core.AgentLettaV1, CreatedAt: h.now, UpdatedAt: h.now}
		h.ok(h.store.Agents().Create(t.Context(), &a))
		h.ok(h.store.Archives().Attach(t.Context(), a.ID, archive.ID))
		h.agents = append(h.agents, a.ID)
	}
	return h
}

func (h *home) clock() time.Time { return h.now }

func (h *home) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func author(agent core.AgentID) core.Author {
	if agent == "" {
		return core.Author{Kind: core.AuthorUser}
	}
	return core.Author{Kind: core.AuthorAgent, ID: string(agent), Step: "step-1"}
}

// something is a state that no passage had, with a word of its own.
func (h *home) something() state {
	n := h.random.IntN(1_000_000_000)
	return state{text: fmt.Sprintf("note w%dx", n), tag: fmt.Sprint("t", h.random.IntN(3))}
}

func (h *home) insert(by core.AgentID) *page {
	h.Helper()
	s := h.something()
	p := &page{id: core.NewPassageID()}
	h.ok(h.store.Passages().Insert(h.Context(), &core.Passage{
		ID: p.id, Archive: h.archive, Text: s.text, Tags: []string{s.tag}, Agent: by, Step: author(by).Step,
		CreatedAt: h.now, UpdatedAt: h.now,
	}))
	h.change(p, s, by)
	h.pages = append(h.pages, p)
	return p
}

func (h *home) replace(p *page, by core.AgentID) {
	h.Helper()
	s := h.something()
	h.ok(h.store.Passages().Update(h.Context(), &core.Passage{
		ID: p.id, Archive: h.archive, Text: s.text, Tags: []string{s.tag}, CreatedAt: h.now, UpdatedAt: h.now,
	}, author(by)))
	h.change(p, s, by)
}

func (h *home) remove(p *page, by core.AgentID) {
	h.Helper()
	h.ok(h.store.Passages().Retire(h.Context(), p.id, author(by)))
	h.change(p, state{gone: true}, by)
}

// turned checks the outcome of an undo or redo that the model expects to restore a version, or to be refused.
func (h *home) turned(p *page, want int, o undo.Outcome, err error) {
	h.Helper()
	if want == 0 {
		if core.KindOf(err) != core.Conflict {
			h.Fatalf("restored %+v, %v; there is nothing", o, err)
		}
		return
	}
	h.ok(err)
	was := p.now()
	h.restore(p, want)
	is := p.now()
	if o.Restores != want || o.Was.Gone != was.gone || o.Was.Text != was.text || o.Is.Gone != is.gone || o.Is.Text != is.text {
		h.Fatalf("restored %+v, want version %d: %+v of %+v", o, want, is, was)
	}
}

func (h *home) undo(p *page, ifVersion int) {
	h.Helper()
	want := 0
	if n := len(p.past); n > 1 {
		want = p.past[n-2].n
	}
	o, err := h.turns.Undo(h.Context(), undo.Order{Passage: p.id, IfVersion: ifVersion, By: "me"})
	h.turned(p, want, o, err)
}

func (h *home) redo(p *page, ifVersion int) {
	h.Helper()
	want := 0
	if n := len(p.future); n > 0 {
		want = p.future[n-1].n
	}
	o, err := h.turns.Redo(h.Context(), undo.Order{Passage: p.id, IfVersion: ifVersion, By: "me"})
	h.turned(p, want, o, err)
}

// undoLast does what /undo does for an agent: nothing, if somebody else changed the passage since.
func (h *home) undoLast(agent core.AgentID) {
	h.Helper()
	p, edit, since := h.last(agent)
	l, found, err := h.turns.LastOf(h.Context(), agent, false)
	h.ok(err)
	if found != (p != nil) || found && (l.Edit.Passage != p.id || l.Edit.Version != edit.n || (l.Since != nil) != since) {
		h.Fatalf("the last change is %v %+v, want %+v, changed since: %v", found, l, edit, since)
	}
	if found && !since {
		h.undo(p, l.Now)
	}
}

func (h *home) redoLast(agent core.AgentID) {
	h.Helper()
	p, edit := h.undone(agent)
	l, found, err := h.turns.LastOf(h.Context(), agent, true)
	h.ok(err)
	if found != (p != nil) || found && (l.Edit.Passage != p.id || l.Edit.Version != edit.n) {
		h.Fatalf("what was undone last is %v %+v, want %+v", found, l, edit)
	}
	if found {
		h.redo(p, l.Now)
	}
}

// step does one thing at random.
func (h *home) step() {
	h.Helper()
	h.now = h.now.Add(time.Duration(h.random.IntN(2)) * time.Second) // many changes have the same time
	agent := h.agents[h.random.IntN(2)]
	p := h.pages[h.random.IntN(len(h.pages))]
	by := []core.AgentID{agent, agent, ""}[h.random.IntN(3)]
	switch what := h.random.IntN(10); {
	case what == 0:
		h.insert(agent)
	case what <= 3 && !p.now().gone:
		h.replace(p, by)
	case what == 4 && !p.now().gone:
		h.remove(p, by)
	case what == 5:
		h.undo(p, 0)
	case what == 6:
		h.redo(p, 0)
	case what == 7 && len(p.versions) > 1:
		n := 1 + h.random.IntN(len(p.versions))
		o, err := h.turns.Undo(h.Context(), undo.Order{Passage: p.id, To: n})
		h.turned(p, n, o, err)
	case what == 8:
		h.undoLast(agent)
	case what == 9:
		h.redoLast(agent)
	}
}

// equal compares the archive with the model: what is listed, counted, tagged and found.
func (h *home) equal() {
	h.Helper()
	want, got := map[core.PassageID]state{}, map[core.PassageID]state{}
	tags := map[string]int{}
	for _, p := range h.pages {
		if s := p.now(); !s.gone {
			want[p.id] = s
			tags[s.tag]++
		}
	}
	list, err := h.store.Passages().List(h.Context(), core.PassageFilter{Archives: []core.ArchiveID{h.archive}}, core.Page{Limit: 1000})
	h.ok(err)
	for _, p := range list {
		got[p.ID] = state{text: p.Text, tag: p.Tags[0]}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(state{})); diff != "" {
		h.Fatalf("the archive (-want +got):\n%s", diff)
	}
	archive, err := h.store.Archives().Get(h.Context(), h.archive)
	h.ok(err)
	top, err := h.store.Passages().TopTags(h.Context(), h.archive, 10)
	h.ok(err)
	counted := map[string]int{}
	for _, c := range top {
		counted[c.Tag] = c.Count
	}
	if archive.Passages != len(want) || !cmp.Equal(tags, counted) {
		h.Fatalf("counted %d, %v, want %d, %v", archive.Passages, counted, len(want), tags)
	}
	find := storagetest.Search(h.store)
	for _, p := range h.pages {
		for _, e := range p.versions {
			if e.gone {
				continue
			}
			hits, err := find.Passages(h.Context(), core.SearchQuery{Text: e.text[len("note "):]}, core.PassageFilter{})
			h.ok(err)
			found := slices.ContainsFunc(hits.Hits, func(hit core.PassageHit) bool { return hit.Passage.ID == p.id })
			if is := want[p.id].text == e.text; found != is {
				h.Fatalf("%q is found: %v, want %v", e.text, found, is)
			}
		}
	}
}

func TestRandomChangesAndUndosEqualAPlainModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := open(t, seed)
			h.insert(h.agents[0])
			for i := range 150 {
				if h.step(); i%50 == 49 {
					h.equal()
				}
			}
		})
	}
}

func TestAnUndoTellsTheChatsOfAllWhoHaveTheArchive(t *testing.T) {
	t.Parallel()
	h := open(t, 1)
	p := h.insert(h.agents[0])
	h.replace(p, h.agents[0])
	h.undo(p, 0)
	var told []core.AgentID
	for _, c := range h.told {
		told = append(told, c.Agent)
	}
	slices.Sort(told)
	if want := slices.Sorted(slices.Values(h.agents)); !slices.Equal(want, told) {
		t.Errorf("told %v, want %v", told, want)
	}
	o, err := h.turns.Redo(t.Context(), undo.Order{Passage: p.id, IfVersion: 2})
	if core.KindOf(err) != core.Conflict || core.HintOf(err) == "" {
		t.Errorf("redone what the caller has not read: %+v, %v", o, err)
	}
}

func TestAnAgentsLastChangeIsFoundBehindManyOfOthers(t *testing.T) {
	t.Parallel()
	h := open(t, 2)
	p, other := h.insert(h.agents[0]), h.insert(h.agents[1])
	h.replace(p, h.agents[0])
	h.undo(p, 0)
	for range 60 {
		h.replace(other, h.agents[1])
	}
	h.redoLast(h.agents[0])
	h.undoLast(h.agents[0])
	if p.now() != p.versions[0].state {
		t.Errorf("it is %+v", p.now())
	}
	h.equal()
}

func TestWhatWasUndoneInTurnIsRedoneInTheReverseOrder(t *testing.T) {
	t.Parallel()
	h := open(t, 4)
	agent := h.agents[0]
	p, q := h.insert(agent), h.insert(agent)
	h.replace(p, agent)
	h.replace(q, agent)
	h.replace(p, agent)
	for range 3 {
		h.undoLast(agent)
	}
	for range 3 {
		h.redoLast(agent)
	}
	if p.now() != p.versions[2].state || q.now() != q.versions[1].state {
		t.Errorf("they are %+v and %+v", p.now(), q.now())
	}
}

func TestWhatARewindTurnedBackIsLeftToIt(t *testing.T) {
	t.Parallel()
	h := open(t, 3)
	p := h.insert(h.agents[0])
	h.replace(p, h.agents[0])
	h.replace(p, h.agents[0])
	by := core.Author{Kind: core.AuthorUser, Rewind: core.NewRewindID()}
	for _, back := range []int{2, 1} { // one that looks like an undo, and a jump
		h.ok(h.store.Passages().Restore(t.Context(), p.id, back, by))
		if l, found, err := h.turns.LastOf(t.Context(), h.agents[0], true); found || err != nil {
			t.Errorf("after going back to %d there is %+v to redo, %v", back, l, err)
		}
		if o, err := h.turns.Redo(t.Context(), undo.Order{Passage: p.id}); core.KindOf(err) != core.Conflict {
			t.Errorf("after going back to %d it was redone: %+v, %v", back, o, err)
		}
	}
	h.ok(h.store.Passages().Restore(t.Context(), p.id, 3, by))
	if l, found, err := h.turns.LastOf(t.Context(), h.agents[0], false); found {
		t.Errorf("there is %+v to undo, %v", l, err)
	}
}

func TestADamagedVersionHidesNoOtherChange(t *testing.T) {
	t.Parallel()
	h := open(t, 5)
	agent := h.agents[0]
	spoil := func(set string, p *page, version int) {
		h.ok(h.store.Transact(t.Context(), func(ctx context.Context, _ core.Store, q *sqlite.Querier) error {
			_, err := q.Exec(ctx, `UPDATE passage_versions SET `+set+` WHERE passage_id = $1 AND version = $2`, p.id, version)
			return err
		}))
	}
	deleted, edited, damaged, older := h.insert(agent), h.insert(agent), h.insert(agent), h.insert(agent)
	h.replace(edited, agent)
	h.remove(deleted, agent)
	h.replace(damaged, agent)
	h.replace(older, agent)
	spoil(`data = '{"tags":'`, damaged, 2)
	spoil(`at = 'never'`, deleted, 1) // what it said is not known, that it was deleted is
	spoil(`data = '{"tags":'`, older, 1)
	for _, limit := range []int{1, 3, 50} {
		changes, err := h.turns.Changes(t.Context(), agent, 0, limit)
		var got []core.PassageID
		for _, c := range changes {
			got = append(got, c.Passage)
		}
		want := []core.PassageID{older.id, deleted.id, edited.id}[:min(limit, 3)]
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%d changes (-want +got):\n%s%v", limit, diff, err)
		}
	}
	l, found, err := h.turns.LastOf(t.Context(), agent, false)
	if err != nil || !found || l.Edit.Passage != edited.id {
		t.Errorf("the last that can be undone is of %s, want %s: %v", l.Edit.Passage, edited.id, err)
	}
}
