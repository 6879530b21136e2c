package tui

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/transcript"
)

// blockHistory is the versions of memory blocks.
type blockHistory interface {
	Blocks(ctx context.Context, agent string) ([]api.Block, error)
	// Versions returns the versions of a block, newest first.
	Versions(ctx context.Context, block string) ([]api.BlockVersion, error)
	// Sharers returns how many agents have a block.
	Sharers(ctx context.Context, block string) (int, error)
	BlockDiff(ctx context.Context, block string, from, to int) (string, error)
	// UndoBlock undoes the latest change of a block that isn't undone yet;
	// RedoBlock redoes it.
	UndoBlock(ctx context.Context, block, etag string) (api.BlockUndone, error)
	RedoBlock(ctx context.Context, block, etag string) (api.BlockUndone, error)
}

// undoTarget is something that /undo undoes or /redo redoes: a rewind, a change
// to a memory block, one that the agent made to a passage, or what a turn did to files.
type undoTarget struct {
	rewind  *api.Rewind
	block   api.Block
	now     api.BlockVersion // the newest
	edit    api.BlockVersion // the edit to undo or redo
	passage api.LastPassageChange
	at      time.Time
	places  []place // in the conversation, for a rewind
	turn    place   // that changed files
	files   api.RewindOfFiles
}

// undoStacks are the versions of a block that are in effect, and those that
// were undone. In both, the next one to undo or redo comes last.
type undoStacks struct {
	past, future []api.BlockVersion
	undone       []time.Time // when each of the future was
}

// undoStacksOf traces the versions of a block in the same way as the daemon's
// undo.
func undoStacksOf(newestFirst []api.BlockVersion) undoStacks {
	var l undoStacks
	at := map[int][]api.BlockVersion{} // the past at each version
	for _, v := range slices.Backward(newestFirst) {
		p, f, back := len(l.past), len(l.future), api.Val(v.Restores)
		switch {
		case v.RewindID != nil && at[back] != nil: // undoing the rewind brings back what it took
			l = undoStacks{past: at[back]}
		case back > 0 && p > 1 && l.past[p-2].Version == back:
			l.past, l.future, l.undone = l.past[:p-1], append(l.future, l.past[p-1]), append(l.undone, v.CreatedAt.Time)
		case back > 0 && f > 0 && l.future[f-1].Version == back:
			l.past, l.future, l.undone = append(l.past, l.future[f-1]), l.future[:f-1], l.undone[:f-1]
		default:
			l.past, l.future, l.undone = append(l.past, v), nil, nil
		}
		l.past = slices.Clip(l.past) // what is added later goes elsewhere
		at[v.Version] = l.past
	}
	return l
}

// lastChange finds what /undo (or, with redo, /redo) refers to: the newest
// change of all.
func lastChange(from timelineBackend, t Thread, redo bool) func(context.Context) (undoTarget, error) {
	return func(ctx context.Context) (undoTarget, error) {
		var last undoTarget
		b, err := readPast(from, t)(ctx)
		if err != nil {
			return last, err
		}
		find := client.LastRewind
		if redo {
			find = redoable
		}
		if r, ok := find(b.rewinds); ok {
			last = undoTarget{rewind: &r, at: r.CreatedAt.Time, places: b.places}
		}
		blocks, err := from.Blocks(ctx, t.Agent)
		if err != nil {
			return last, err
		}
		for _, block := range blocks {
			versions, err := from.Versions(ctx, block.ID)
			if err != nil {
				return last, err
			}
			if c, ok := blockChange(block, versions, redo); ok && c.at.After(last.at) {
				last = c
			}
		}
		p, err := from.LastPassageChange(ctx, t.Agent, redo)
		switch {
		case client.KindOf(err) == api.KindNotFound: // an older daemon
			return last, nil
		case err == nil && p.Edit != nil && p.At.After(last.at):
			last = undoTarget{passage: p, at: p.At.Time}
		}
		if err != nil || redo {
			return last, err
		}
		return lastFiles(ctx, from, t, b.places, last)
	}
}

// redoable is what /redo turns around: the undo of a rewind, or files that were put back and nothing else.
func redoable(newestFirst []api.Rewind) (api.Rewind, bool) {
	if r, ok := client.LastRewind(newestFirst); ok && onlyFiles(r) {
		return r, true
	}
	undo, ok := client.LastUndo(newestFirst)
	if ok && slices.ContainsFunc(newestFirst, func(r api.Rewind) bool { return r.ID == api.Val(undo.Undoes) && onlyFiles(r) }) {
		return api.Rewind{}, false // that was the redo
	}
	return undo, ok
}

// onlyFiles reports whether a rewind put files back and left conversation and memory alone.
func onlyFiles(r api.Rewind) bool { return slices.Equal(r.What, []api.RewindPart{api.RewindFiles}) }

// turnsMost is how many turns /undo looks through for changed files.
const turnsMost = 10

// lastFiles is the newest turn that changed files, if that was after the last other change.
func lastFiles(ctx context.Context, from timelineBackend, t Thread, places []place, last undoTarget) (undoTarget, error) {
	for _, p := range places[:min(len(places), turnsMost)] {
		if !p.at.After(last.at) {
			break
		}
		turn, err := from.Turn(ctx, p.run)
		if err != nil || turn.thread != t { // from here on it is the past of another conversation
			return last, err
		}
		files, err := from.RewindFiles(ctx, p.target())
		switch {
		case client.KindOf(err) == api.KindNotFound: // an older daemon, or a turn that asked nothing of a model
		case err != nil:
			return last, err
		case len(files.Back) > 0:
			return undoTarget{turn: p, files: files, at: p.at}, nil
		}
	}
	return last, nil
}

// blockChange is the last edit of a block in effect or, with redo, the last one
// undone. Edits made by a rewind are left to undoing the rewind.
func blockChange(b api.Block, versions []api.BlockVersion, redo bool) (undoTarget, bool) {
	l := undoStacksOf(versions)
	switch p, f := len(l.past), len(l.future); {
	case redo && f > 0:
		return undoTarget{block: b, now: versions[0], edit: l.future[f-1], at: l.undone[f-1]}, true
	case !redo && p > 1 && l.past[p-1].Restores == nil:
		return undoTarget{block: b, now: versions[0], edit: l.past[p-1], at: l.past[p-1].CreatedAt.Time}, true
	}
	return undoTarget{}, false
}

// undo undoes the last change to memory or to files, or the last rewind.
func (tl *timeline) undo() tea.Cmd {
	return tl.turnChange(false, "there is nothing to undo: no memory was edited, no file changed, and nothing rewound")
}

// redo redoes what was last undone.
func (tl *timeline) redo() tea.Cmd {
	return tl.turnChange(true, "there is nothing to redo: nothing was undone since the last change")
}

func (tl *timeline) turnChange(redo bool, nothing string) tea.Cmd {
	thread := tl.conv.thread
	return load(tl.ui, lastChange(tl.backend, thread, redo), func(c undoTarget) tea.Cmd {
		switch {
		case c.rewind != nil:
			return tl.askUndoRewind(thread, *c.rewind, c.places)
		case c.block.ID != "":
			return tl.turnBlock(c, redo)
		case c.passage.Edit != nil:
			return tl.turnPassage(c.passage, redo)
		case len(c.files.Back) > 0:
			return tl.askFiles(thread, c)
		}
		tl.ui.flash = nothing
		return nil
	})
}

// askFiles names the files that go back, and asks.
func (tl *timeline) askFiles(t Thread, c undoTarget) tea.Cmd {
	only := c.turn.target()
	only.What = []api.RewindPart{api.RewindFiles}
	text := append(fileLines(c.files), "They become what they were "+c.turn.name()+".")
	tl.ui.ask("Put files back?", text, []choice{
		{'y', "only put the files back: conversation and memory stay", func() tea.Cmd { return tl.rewind(t, c.turn, only) }},
		{'r', "go back there with conversation and memory", func() tea.Cmd { return tl.askRewind(t, c.turn) }},
	})
	return nil
}

// askUndoRewind undoes a rewind. It asks first if messages were said since,
// because they would leave the conversation, or if files change and nothing else.
func (tl *timeline) askUndoRewind(t Thread, r api.Rewind, places []place) tea.Cmd {
	do := func() tea.Cmd { return tl.undoRewind(t, r) }
	since := turnsSince(r, places)
	switch {
	case onlyFiles(r):
		tl.ui.ask("Put files forward again?", []string{
			count(len(r.Files.Back), "file") + ": " + fileNames(r.Files.Back) + ".",
			"They become what they were before they were put back, " + when(r.CreatedAt.Time, tl.now()) + ".",
		}, []choice{{'y', "only put them forward: conversation and memory stay", do}})
		return nil
	case since == 0:
		return do()
	}
	tl.ui.ask("Undo the rewind of "+when(r.CreatedAt.Time, tl.now())+"?", []string{
		"The conversation becomes what it was before it.",
		"Leaves it: " + count(since, "turn") + " that followed the rewind. Nothing is deleted: /undo goes between the two.",
		"What those turns did to files stays.",
	}, []choice{{'y', "do it", do}})
	return nil
}

// turnsSince counts what was said after a rewind.
func turnsSince(r api.Rewind, places []place) (n int) {
	for _, p := range places {
		if p.at.After(r.CreatedAt.Time) {
			n++
		}
	}
	return n
}

func (tl *timeline) undoRewind(t Thread, r api.Rewind) tea.Cmd {
	call := func(ctx context.Context) (api.Rewind, error) { return tl.backend.UndoRewind(ctx, r.ID) }
	return tl.travel(t, call, func(v rewindResult) tea.Cmd {
		if onlyFiles(r) {
			tl.ui.notice("the files are as they were before they were put back" + rewindParts(v.rewind) + " · /undo puts them back")
			return nil
		}
		what := "undid the rewind of " + when(r.CreatedAt.Time, tl.now()) + rewindParts(v.rewind) + " · /redo goes back again"
		if r.Undoes != nil {
			what = "went back again" + rewindParts(v.rewind) + " · /undo brings it back"
		}
		tl.ui.marked(what)
		return nil
	})
}

// diffMost bounds how much of a block's diff is shown.
const diffMost = 160

// turnBlock undoes or redoes the last edit of a block, and says which it was.
// It is refused if the block has changed since it was read.
func (tl *timeline) turnBlock(c undoTarget, redo bool) tea.Cmd {
	agent, label := tl.conv.name(), transcript.OneLine(api.Val(c.block.Label))
	etag := strconv.Quote(strconv.Itoa(c.now.Version))
	do := func(ctx context.Context) (string, error) {
		call := tl.backend.UndoBlock
		if redo {
			call = tl.backend.RedoBlock
		}
		done, err := call(ctx, c.block.ID, etag)
		if err != nil {
			return "", err
		}
		return tl.backend.BlockDiff(ctx, c.block.ID, c.now.Version, done.Version)
	}
	return load(tl.ui, do, func(diff string) tea.Cmd {
		what, how := "undone: the change of ", "/redo brings it back"
		if redo {
			what, how = "done again: the change of ", "/undo takes it back"
		}
		text := what + label + " by " + author(c.edit, agent) + ", " + when(c.edit.CreatedAt.Time, tl.now()) + afterSource(c.edit.Source)
		if d := shortDiff(diff); d != "" {
			text += ": " + d
		}
		tl.ui.notice(text + " · " + how)
		return nil
	})
}

// author says who made a version.
func author(v api.BlockVersion, agent string) string {
	switch v.Author {
	case "user":
		return "a person"
	case "agent":
		return agent
	}
	return cmp.Or(v.Author, "someone")
}

// shortDiff shortens a diff to one line.
func shortDiff(diff string) string {
	var parts []string
	for l := range strings.Lines(diff) {
		l = strings.TrimRight(l, "\n")
		if len(l) > 1 && (l[0] == '+' || l[0] == '-') && !strings.HasPrefix(l, "+++") && !strings.HasPrefix(l, "---") {
			parts = append(parts, strings.Replace(l[:1], "-", "−", 1)+" "+strings.TrimSpace(l[1:]))
		}
	}
	return transcript.Short(transcript.OneLine(strings.Join(parts, " ")), diffMost)
}
