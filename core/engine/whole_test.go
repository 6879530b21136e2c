package engine_test

import (
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"loci/core"
)

// whole is everything of an agent and a conversation that a rewind may touch.
type whole struct {
	Window  []core.ContextRow
	Listed  []core.Message
	Blocks  []core.Block
	Stale   map[core.BlockID]string // what the window shows of blocks that moved on since
	Agent   core.Agent
	Conv    core.Conversation
	Archive core.ArchiveID
	Notes   []string
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
		w.Notes = p.noted()
		if w.Tags, err = s.Passages().TopTags(ctx, a.ID, 10); err != nil {
			p.t.Fatal(err)
		}
		if a.Passages != len(w.Notes) {
			p.t.Errorf("the archive counts %d passages and has %d", a.Passages, len(w.Notes))
		}
	}
	return w
}

// noted returns the passages of the agent's archive.
func (p *history) noted() (lines []string) {
	p.t.Helper()
	_, notes := p.notes(p.a)
	for _, n := range notes {
		lines = append(lines, string(n.ID)+" "+n.Text)
	}
	return lines
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
