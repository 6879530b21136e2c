package undo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"loci/core"
	"loci/core/memory"
)

// Sources are the use cases of what an agent's memory came after: texts from outside that the agent had read when it wrote.
type Sources struct {
	store    core.Store
	blocks   UndoBlock
	passages *Passages
}

// UndoBlock gives a block the content of an earlier version. A block that is no longer at ifVersion is a conflict.
type UndoBlock func(ctx context.Context, id core.BlockID, to, ifVersion int, by string) (core.Block, int, error)

// NewSources returns the use cases over a store; blocks and passages carry out what is taken back.
func NewSources(store core.Store, blocks UndoBlock, passages *Passages) *Sources {
	return &Sources{store: store, blocks: blocks, passages: passages}
}

// FromSource is a block or passage that has versions which came after a source.
type FromSource struct {
	Block    core.BlockID // or
	Passage  core.PassageID
	Label    string    // of a block
	Version  int       // the newest, once what could be taken back is
	Restores int       // the version whose content it has again; 0: none
	Taken    int       // how many versions were taken back
	Gone     bool      // of a passage that was inserted after the source: it was taken out
	Diff     string    // of the texts
	Kept     string    // why versions that came after the source stay; empty: none does
	Sources  []string  // those that it came after and that the name stands for
	At       time.Time // of its newest version that came after the source
}

// mostSourcesNamed bounds how many sources an error names.
const mostSourcesNamed = 10

// sourcePage is how many passages or changes are read at once.
const sourcePage = 1000

// Undo takes back what an agent's blocks and the passages of its archive became after a source, newest first, each as far as
// nothing else has changed it since. With try nothing is changed.
func (s *Sources) Undo(ctx context.Context, agent core.AgentID, source, by string, try bool) ([]FromSource, error) {
	if strings.TrimSpace(source) == "" {
		return nil, core.E(core.Invalid, "name the source: an address, a host, or another one as the history shows it")
	}
	if _, err := s.store.Agents().Get(ctx, agent); err != nil {
		return nil, err
	}
	found, known, err := s.find(ctx, agent, source)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, noSource(source, known)
	}
	slices.SortStableFunc(found, func(a, b lineage) int { return b.at.Compare(a.at) })
	out := make([]FromSource, 0, len(found))
	for i := range found {
		one, err := s.takeBack(ctx, &found[i], agent, by, try)
		if err != nil {
			return out, err
		}
		out = append(out, one)
	}
	return out, nil
}

func noSource(source string, known []string) error {
	err := core.E(core.NotFound, "nothing in the agent's memory came after %q", core.SourceName(source))
	if len(known) == 0 {
		return err.WithHint("nothing in it came after anything from outside")
	}
	return err.WithHint("it came after: %s", strings.Join(known[:min(len(known), mostSourcesNamed)], ", "))
}

// lineage is a block or passage with its versions in effect.
type lineage struct {
	block   core.Block
	passage core.PassageID
	version int // the newest
	past    []sourced
	at      time.Time
	sources []string // that the name stands for
}

// sourced is a version in effect.
type sourced struct {
	number int
	text   string
	author core.Author
	at     time.Time
	from   bool // it came after the source
}

// find returns what has versions in effect that came after the source, and which sources there are.
func (s *Sources) find(ctx context.Context, agent core.AgentID, source string) (found []lineage, known []string, err error) {
	note := func(l lineage, err error) error {
		if err != nil {
			return err
		}
		for i := range l.past {
			v := &l.past[i]
			which := core.CameAfter(v.author.Source, source)
			if v.from = len(which) > 0; v.from {
				l.at = v.at
			}
			for _, name := range which {
				if !slices.Contains(l.sources, name) {
					l.sources = append(l.sources, name)
				}
			}
			for name := range strings.Lines(v.author.Source) {
				if name = strings.TrimSpace(name); !slices.Contains(known, name) && len(known) < mostSourcesNamed {
					known = append(known, name)
				}
			}
		}
		if len(l.sources) > 0 {
			found = append(found, l)
		}
		return nil
	}
	blocks, err := s.store.Blocks().OfAgent(ctx, agent)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range blocks {
		if err := note(s.ofBlock(ctx, b)); err != nil {
			return nil, nil, err
		}
	}
	passages, err := s.changed(ctx, agent)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range passages {
		l, err := s.ofPassage(ctx, id)
		if core.Absent(err) {
			continue // it was deleted for good, or forgotten, meanwhile
		}
		if err := note(l, err); err != nil {
			return nil, nil, err
		}
	}
	return found, known, nil
}

func (s *Sources) ofBlock(ctx context.Context, b core.Block) (lineage, error) {
	l := lineage{block: b, version: b.Version}
	links, err := s.store.Blocks().Lineage(ctx, b.ID)
	if err != nil {
		return l, err
	}
	for _, n := range core.LineOf(links).Past {
		v, err := s.store.Blocks().Version(ctx, b.ID, n)
		if err != nil {
			return l, err
		}
		l.past = append(l.past, sourced{number: n, text: v.Value, author: v.Author, at: v.At})
	}
	return l, nil
}

func (s *Sources) ofPassage(ctx context.Context, id core.PassageID) (lineage, error) {
	l := lineage{passage: id}
	links, err := s.store.Passages().Lineage(ctx, id)
	if err != nil {
		return l, err
	}
	l.version = links[len(links)-1].Version
	gone := false
	for _, n := range core.LineOf(links).Past {
		v, err := s.store.Passages().Version(ctx, id, n)
		if err != nil {
			return l, err
		}
		l.past = append(l.past, sourced{number: n, text: v.Text, author: v.Author, at: v.At})
		gone = v.Gone
	}
	if gone && l.past[len(l.past)-1].author.Source == "" {
		l.past = nil // somebody took it out: nothing of it is in effect
	}
	return l, nil
}

// changed are the passages of an agent's archive that came after some source, or were changed after one.
func (s *Sources) changed(ctx context.Context, agent core.AgentID) ([]core.PassageID, error) {
	archive, ok, err := s.store.Archives().OfAgent(ctx, agent)
	if err != nil || !ok {
		return nil, err
	}
	var ids []core.PassageID
	seen := map[core.PassageID]bool{}
	note := func(id core.PassageID, source string) {
		if source != "" && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	for p := (core.Page{Limit: sourcePage}); ; {
		some, err := s.store.Passages().List(ctx, core.PassageFilter{Archives: []core.ArchiveID{archive.ID}}, p)
		if err != nil {
			return nil, err
		}
		for i := range some {
			note(some[i].ID, some[i].Source)
		}
		if len(some) < p.Limit {
			break
		}
		p.After = string(some[len(some)-1].ID)
	}
	for f := (core.PassageChanges{Archive: archive.ID, Limit: sourcePage}); ; {
		some, err := s.store.Passages().Changes(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range some {
			note(some[i].Passage, some[i].Author.Source)
		}
		if len(some) < f.Limit {
			return ids, nil
		}
		f.Before = some[len(some)-1].Seq
	}
}

// takeBack takes back the newest versions that came after the source, one by one, so that each can be redone. What is under a
// version that did not is said.
func (s *Sources) takeBack(ctx context.Context, l *lineage, agent core.AgentID, by string, try bool) (FromSource, error) {
	out := FromSource{Block: l.block.ID, Passage: l.passage, Label: l.block.Label, Version: l.version, At: l.at, Sources: l.sources}
	left := len(l.past)
	for left > 0 && l.past[left-1].from {
		if left == 1 && l.passage == "" {
			out.Kept = "version 1 stays, for the block was made with it"
			break
		}
		left--
		out.Taken++
		if err := s.back(ctx, l, left, agent, by, try, &out); err != nil {
			return out, err
		}
	}
	now := ""
	if left > 0 {
		now = l.past[left-1].text
	}
	out.Diff = memory.Diff(l.past[len(l.past)-1].text, now)
	for i := left - 2; i >= 0 && out.Kept == ""; i-- {
		if l.past[i].from {
			above := l.past[i+1]
			out.Kept = fmt.Sprintf("version %d stays, for %s changed it after that, in version %d", l.past[i].number,
				s.who(ctx, above.author), above.number)
		}
	}
	return out, nil
}

// back takes back the newest version of what is left.
func (s *Sources) back(ctx context.Context, l *lineage, left int, agent core.AgentID, by string, try bool, out *FromSource) error {
	order := Order{Passage: l.passage, Agent: agent, IfVersion: out.Version, By: by}
	out.Restores, out.Gone = 0, left == 0
	if left > 0 {
		out.Restores = l.past[left-1].number
		order.To = out.Restores
	}
	var err error
	var done Outcome
	switch {
	case try:
		return nil
	case l.passage == "":
		var b core.Block
		b, _, err = s.blocks(ctx, l.block.ID, out.Restores, out.Version, by)
		out.Version = b.Version
		return err
	case left == 0:
		done, err = s.passages.Withdraw(ctx, order)
	default:
		done, err = s.passages.Undo(ctx, order)
	}
	out.Version = done.Is.Version
	return err
}

// who says who made a version.
func (s *Sources) who(ctx context.Context, by core.Author) string {
	if by.Kind != core.AuthorAgent {
		return cmp.Or(map[core.AuthorKind]string{core.AuthorUser: "a person"}[by.Kind], "Loci")
	}
	if a, err := s.store.Agents().Get(ctx, core.AgentID(by.ID)); err == nil {
		return a.Name
	}
	return "an agent"
}
