package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// memoryBackend is what reading and editing memory needs.
type memoryBackend interface {
	Blocks(ctx context.Context, agent string) ([]api.Block, error)
	// Block returns a block and the tag of its version, with which UpdateBlock
	// replaces only that version.
	Block(ctx context.Context, agent, label string) (api.Block, string, error)
	UpdateBlock(ctx context.Context, agent, label, value, etag string) error
	// Versions returns the versions of a block, newest first.
	Versions(ctx context.Context, block string) ([]api.BlockVersion, error)
}

// memoryPanel is /memory.
type memoryPanel struct {
	ui      *display
	conv    *conversation
	backend memoryBackend
}

func (p memoryPanel) open(label string) tea.Cmd {
	agent := p.conv.thread.Agent
	if label != "" {
		return p.edit(agent, label)
	}
	type remembered struct {
		blocks  []api.Block
		sources map[string]string
	}
	list := func(ctx context.Context) (remembered, error) {
		blocks, err := p.backend.Blocks(ctx, agent)
		return remembered{blocks, p.sourcesOf(ctx, blocks)}, err
	}
	return load(p.ui, list, func(found remembered) tea.Cmd {
		blocks := found.blocks
		l := &panel.List{Theme: p.ui.theme, Title: "What " + p.conv.name() + " remembers", Empty: "nothing: it has no memory blocks"}
		for _, b := range blocks {
			note := cmp.Or(transcript.OneLine(b.Value), "empty")
			if source := found.sources[b.ID]; source != "" {
				note = "after " + shownSource(source) + dot + note
			}
			l.Entries = append(l.Entries, panel.Entry{Title: api.Val(b.Label), Note: note})
		}
		p.ui.push(l, func(a panel.Action) tea.Cmd { return p.edit(agent, api.Val(blocks[a.Index].Label)) })
		return nil
	})
}

// taggedBlock is a block with the tag of the version read.
type taggedBlock struct {
	block  api.Block
	etag   string
	source string // the newest version came after it; empty: after none
}

func (p memoryPanel) read(agent, label string) func(context.Context) (taggedBlock, error) {
	name := p.conv.name()
	return func(ctx context.Context) (taggedBlock, error) {
		b, etag, err := p.backend.Block(ctx, agent, label)
		if client.KindOf(err) == api.KindNotFound {
			err = p.missing(ctx, agent, name, label, err)
		}
		v := taggedBlock{block: b, etag: etag}
		if err == nil {
			v.source = p.sourcesOf(ctx, []api.Block{b})[b.ID]
		}
		return v, err
	}
}

// missing says which blocks there are instead of one that isn't there.
func (p memoryPanel) missing(ctx context.Context, agent, name, label string, err error) error {
	blocks, listErr := p.backend.Blocks(ctx, agent)
	if listErr != nil {
		return err
	}
	labels := make([]string, len(blocks))
	for i, b := range blocks {
		labels[i] = api.Val(b.Label)
	}
	there := cmp.Or(strings.Join(labels, ", "), "none")
	return fmt.Errorf("%s has no memory block %q (its blocks: %s)", name, transcript.Short(label, 40), there)
}

// edit opens a block for editing. If the block changed in the meantime, it
// isn't overwritten: the new text is shown, and only a second save replaces it.
func (p memoryPanel) edit(agent, label string) tea.Cmd {
	return load(p.ui, p.read(agent, label), func(v taggedBlock) tea.Cmd {
		if v.block.ReadOnly {
			p.ui.push(
				&panel.Text{Theme: p.ui.theme, Title: label + " (read only)", Draw: func(w int) string { return wrapTo(v.block.Value, w) }},
				nil,
			)
			return nil
		}
		e := panel.NewEdit(p.ui.theme, label, v.block.Value, false)
		e.Note, e.Limit = transcript.OneLine(api.Val(v.block.Description)), v.block.Limit
		if v.source != "" {
			e.Note = "came after reading " + shownSource(v.source) + dot + "/undo with that takes it back"
		}
		etag := v.etag
		p.ui.push(e, func(a panel.Action) tea.Cmd {
			return func() tea.Msg {
				err := p.backend.UpdateBlock(p.ui.ctx, agent, label, a.Text, etag)
				var newest taggedBlock
				if isStale(err) {
					if v, readErr := p.read(agent, label)(p.ui.ctx); readErr == nil {
						newest = v
					}
				}
				return loadedMsg{func() tea.Cmd {
					switch {
					case err == nil:
						p.ui.closePanels()
						p.ui.notice("saved: " + label)
					case newest.etag != "":
						etag = newest.etag
						e.Refuse("changed meanwhile to “" + transcript.OneLine(newest.block.Value) + "” · ctrl+s again replaces that")
					default:
						e.Refuse(explain(err))
					}
					return nil
				}}
			}
		})
		return nil
	})
}

func isStale(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && (e.Status == http.StatusConflict || e.Status == http.StatusPreconditionFailed)
}
