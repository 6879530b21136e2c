package tui

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// timelineBackend is what going back, forward and apart needs.
type timelineBackend interface {
	messageReader
	blockHistory
	passageHistory
	sourceUndo

	// Said returns what the person said in the current state of a conversation,
	// newest first.
	Said(ctx context.Context, t Thread) ([]api.Message, error)
	// Turn returns a run with its steps and messages, both oldest first.
	Turn(ctx context.Context, run string) (runDetails, error)
	Rewind(ctx context.Context, to api.RewindRequest) (api.Rewind, error)
	// RewindBlocks returns the versions of memory blocks that a rewind would restore.
	RewindBlocks(ctx context.Context, to api.RewindRequest) ([]api.BlockVersion, error)
	// RewindFiles says what would become of files in a rewind.
	RewindFiles(ctx context.Context, to api.RewindRequest) (api.RewindOfFiles, error)
	UndoRewind(ctx context.Context, id string) (api.Rewind, error)
	// Rewinds returns the rewinds of a conversation, newest first.
	Rewinds(ctx context.Context, t Thread) ([]api.Rewind, error)
	// Fork makes a conversation that branches off another: from its current state,
	// or from what a step was sent.
	Fork(ctx context.Context, t Thread, step string) (api.Conversation, error)
}

// timeline takes the open conversation back, forward and apart: /rewind, /fork,
// /undo and /redo.
type timeline struct {
	ui      *display
	conv    *conversation
	outbox  *outbox
	backend timelineBackend
	now     func() time.Time

	travelled  func() tea.Cmd // after a rewind of ours; may be nil
	travelling bool           // we are rewinding: what is said meanwhile waits
	rewound    string         // the last rewind shown
	opened     Thread         // the thread whose past is known: what was rewound before it was opened is no news
}

// openRewind lets the person choose where to take the conversation back to.
func (tl *timeline) openRewind() tea.Cmd {
	thread := tl.conv.thread
	return load(tl.ui, readPast(tl.backend, thread), func(b conversationPast) tea.Cmd {
		l := &panel.List{Theme: tl.ui.theme, Title: "Go back to before …", Empty: "nothing was said yet"}
		last, undoable := client.LastRewind(b.rewinds)
		if undoable {
			l.Entries = append(l.Entries, panel.Entry{
				Title: "↷ undo the rewind of " + when(last.CreatedAt.Time, tl.now()), Note: rewindNote(last),
			})
		}
		before := len(l.Entries)
		l.Entries = append(l.Entries, tl.placeEntries(b.places)...)
		if undoable && turnsSince(last, b.places) > 0 { // what was done last is the likelier to be taken back
			l.Select(before)
		}
		tl.ui.push(l, func(a panel.Action) tea.Cmd {
			if a.Index < before {
				return tl.askUndoRewind(thread, last, b.places)
			}
			return tl.askRewind(thread, b.places[a.Index-before])
		})
		return nil
	})
}

// askRewind says what a rewind would do, and asks for confirmation.
func (tl *timeline) askRewind(t Thread, p place) tea.Cmd {
	return load(tl.ui, lookBack(tl.backend, t, p), func(o outlook) tea.Cmd {
		if o.thread != t {
			tl.ui.ask("Fork "+p.name()+"?", []string{
				"That was said before this conversation was forked: it cannot go back there, but another fork can begin there.",
			}, []choice{{'f', "fork from there", func() tea.Cmd { return tl.fork(t, p) }}})
			return nil
		}
		to := p.target()
		shared := to
		shared.Shared = true
		choices := []choice{
			{'y', "go back", func() tea.Cmd { return tl.rewind(t, p, to) }},
			{'f', "fork from there instead: this conversation stays as it is", func() tea.Cmd { return tl.fork(t, p) }},
		}
		if len(o.files.Back) > 0 {
			choices = tl.withFiles(choices, t, p)
		}
		if len(o.shared) > 0 {
			choices = append(choices, choice{
				'a', "go back, and take shared memory back for all: " + strings.Join(o.shared, ", "),
				func() tea.Cmd { return tl.rewind(t, p, shared) },
			})
		}
		if p.step == "" && len(o.places) > 1 {
			choices = append(
				choices,
				choice{'s', "choose one of its " + count(len(o.places), "step"), func() tea.Cmd { return tl.openSteps(t, o.places) }},
			)
		}
		tl.ui.ask("Go back to "+p.name()+"?", tl.outlookText(p, o), choices)
		return nil
	})
}

// withFiles adds the choices that files make possible.
func (tl *timeline) withFiles(choices []choice, t Thread, p place) []choice {
	stay, only := p.target(), p.target()
	stay.What = []api.RewindPart{api.RewindThread, api.RewindMemory}
	only.What = []api.RewindPart{api.RewindFiles}
	choices[0].help = "go back, files and memory too"
	return slices.Insert(choices, 1,
		choice{'k', "go back, but keep the files as they are now", func() tea.Cmd { return tl.rewind(t, p, stay) }},
		choice{'o', "only put the files back: conversation and memory stay", func() tea.Cmd { return tl.rewind(t, p, only) }},
	)
}

// openSteps lets the person choose a step of a turn.
func (tl *timeline) openSteps(t Thread, places []place) tea.Cmd {
	l := &panel.List{Theme: tl.ui.theme, Title: "Go back to what was sent with …"}
	for _, p := range places {
		l.Entries = append(l.Entries, panel.Entry{Title: p.label})
	}
	tl.ui.push(l, func(a panel.Action) tea.Cmd { return tl.askRewind(t, places[a.Index]) })
	return nil
}

// rewindResult is the state of a conversation after a rewind.
type rewindResult struct {
	rewind  api.Rewind
	history []api.Message
}

// travel goes back or forward and reads the resulting conversation.
func (tl *timeline) travel(
	t Thread, call func(context.Context) (api.Rewind, error), then func(v rewindResult) tea.Cmd,
) tea.Cmd {
	tl.ui.closePanels()
	tl.travelling = true
	return func() tea.Msg {
		var v rewindResult
		var err error
		if v.rewind, err = call(tl.ui.ctx); err == nil {
			v.history, err = tl.backend.Messages(tl.ui.ctx, t, lately())
		}
		return loadedMsg{func() tea.Cmd {
			tl.travelling = false
			switch {
			case err != nil && v.rewind.ID != "": // the next hint will show the result
				tl.ui.refused("it went back, but the conversation cannot be read: " + explain(err))
				return nil
			case err != nil:
				tl.ui.refused(explain(err))
				return nil
			}
			tl.rewound, tl.opened = v.rewind.ID, t
			if t != tl.conv.thread {
				return nil
			}
			tl.conv.replace(tl.ui.scrollback, v.history)
			next := then(v)
			tl.tellMissing(v.rewind)
			if tl.travelled != nil {
				next = tea.Batch(next, tl.travelled())
			}
			return tea.Batch(next, tl.conv.loadAgent(), tl.conv.loadContext())
		}}
	}
}

// rewind takes the conversation back, or what else is asked for.
func (tl *timeline) rewind(t Thread, p place, in api.RewindRequest) tea.Cmd {
	call := func(ctx context.Context) (api.Rewind, error) { return tl.backend.Rewind(ctx, in) }
	return tl.travel(t, call, func(v rewindResult) tea.Cmd {
		if len(in.What) > 0 && !slices.Contains(in.What, api.RewindThread) {
			tl.ui.notice("files are as they were " + p.name() + rewindParts(v.rewind) + " · /redo puts them forward again")
			return nil
		}
		tl.ui.marked(
			"went back to " + p.name() + rewindParts(
				v.rewind,
			) + "; what stands above from there on is no longer part of the conversation · /undo brings it back",
		)
		if p.step == "" {
			tl.outbox.giveBack(p.words, "")
		}
		return nil
	})
}

// openFork lets the person choose where a new conversation branches off.
func (tl *timeline) openFork() tea.Cmd {
	thread := tl.conv.thread
	return load(tl.ui, readPast(tl.backend, thread), func(b conversationPast) tea.Cmd {
		l := &panel.List{Theme: tl.ui.theme, Title: "Fork this conversation …"}
		l.Entries = append([]panel.Entry{{Title: "here", Note: "as it is now"}}, tl.placeEntries(b.places)...)
		for i := range b.places {
			l.Entries[i+1].Title = "before " + l.Entries[i+1].Title
		}
		tl.ui.push(l, func(a panel.Action) tea.Cmd {
			if a.Index == 0 {
				return tl.fork(thread, place{})
			}
			return tl.fork(thread, b.places[a.Index-1])
		})
		return nil
	})
}

// fork makes a conversation that shares everything up to a place, and switches
// to it.
func (tl *timeline) fork(t Thread, p place) tea.Cmd {
	tl.ui.closePanels()
	name, model, from := tl.conv.agentName, tl.conv.model, tl.conv.threadName()
	return func() tea.Msg {
		c, err := forkAt(tl.ui.ctx, tl.backend, t, p)
		if err != nil {
			return threadMsg{err: err}
		}
		made := threadOf(t.Agent, c.ID)
		messages, err := tl.backend.Messages(tl.ui.ctx, made, lately())
		what := "a fork of " + from
		if p.run != "" {
			what += ", as it was " + p.name()
		}
		msg := threadMsg{
			thread: made, name: name, model: cmp.Or(api.Val(c.Model), model), history: messages, err: err, quiet: true,
			notice: what + "; memory is one and the same in both · /resume goes back",
		}
		if p.step == "" {
			msg.draft = p.words
		}
		return msg
	}
}

func (tl *timeline) placeEntries(places []place) []panel.Entry {
	var out []panel.Entry
	for _, p := range places {
		words := transcript.Short(transcript.OneLine(p.words), max(tl.ui.width()-22, 12))
		out = append(out, panel.Entry{Title: when(p.at, tl.now()) + "  " + words, Note: count(p.turns, "turn") + " back"})
	}
	return out
}

// outlookText says what comes back and what stays.
func (tl *timeline) outlookText(p place, o outlook) []string {
	goes := "Leaves the conversation: " + count(p.turns, "turn") + ", from that message on. "
	if p.step != "" {
		goes = "Leaves the conversation: what that step and all after it said. "
	}
	out := []string{goes + "Nothing is deleted; what stands in this terminal's scrollback stays there."}
	for _, b := range o.back {
		out = append(out, "Comes back: memory "+b+".")
	}
	out = append(out, "Comes back: model, settings, tools and what was attached.",
		"Set aside: what "+tl.conv.name()+" put into its own archive since.")
	if len(o.shared) > 0 {
		out = append(out, "Stays: shared memory that changed since ("+strings.Join(o.shared, ", ")+").")
	}
	out = append(out, fileLines(o.files)...)
	stays := "Stays: shared archives, other conversations."
	if len(o.files.Back)+len(o.files.Kept) == 0 {
		stays = "Stays: files, shared archives, other conversations."
	}
	return append(out, stays, "/undo takes it back.")
}

// fileLines say what becomes of files.
func fileLines(files api.RewindOfFiles) (out []string) {
	if n := len(files.Back); n > 0 {
		out = append(out, "Put back: "+count(n+files.More, "file")+": "+fileNames(files.Back)+".")
	}
	for i, k := range files.Kept {
		if i == missingMost {
			return append(out, fmt.Sprintf("Stay: %d more files.", len(files.Kept)-i))
		}
		out = append(out, "Stays: "+fileNames([]string{k.Path})+", "+transcript.OneLine(k.Why)+".")
	}
	return out
}

// fileNames names the first of some files, as they are called from here.
func fileNames(paths []string) string {
	here, err := os.Getwd()
	var names []string
	for i, path := range paths {
		if i == missingMost {
			names = append(names, fmt.Sprintf("and %d more", len(paths)-i))
			break
		}
		if rel, rerr := filepath.Rel(here, path); err == nil && rerr == nil && filepath.IsLocal(rel) {
			path = rel
		}
		names = append(names, transcript.OneLine(path))
	}
	return strings.Join(names, ", ")
}

// missingMost is how many of the things that couldn't be restored are named.
const missingMost = 5

// tellMissing says what a rewind couldn't restore.
func (tl *timeline) tellMissing(r api.Rewind) {
	missing := slices.Clone(r.Missing)
	for _, k := range r.Files.Kept {
		missing = append(missing, fileNames([]string{k.Path})+": "+k.Why)
	}
	if len(missing) == 0 {
		return
	}
	var parts []string
	for _, what := range missing[:min(len(missing), missingMost)] {
		parts = append(parts, transcript.OneLine(what))
	}
	if more := len(missing) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	tl.ui.notice("not as it was: " + strings.Join(parts, "; "))
}

// rewindParts says what a rewind changed besides the conversation.
func rewindParts(r api.Rewind) string {
	var out strings.Builder
	for _, p := range []struct {
		n          int
		what, done string
	}{
		{len(r.BlockIDs), "memory block", "changed"},
		{r.PassagesTaken, "passage", "set aside"},
		{r.PassagesReturned, "passage", "brought back"},
		{len(r.Files.Back), "file", "put back (" + fileNames(r.Files.Back) + ")"},
	} {
		if p.n > 0 {
			out.WriteString(", " + count(p.n, p.what) + " " + p.done)
		}
	}
	return out.String()
}

func rewindNote(r api.Rewind) string {
	return strings.TrimPrefix(rewindParts(r), ", ")
}

// latestRewindMsg is the newest rewind of a conversation.
type latestRewindMsg struct {
	thread  Thread
	lastID  string // newest message known when the history was requested
	rewind  api.Rewind
	history []api.Message
}

// look reads, when the conversation is opened and after a hint, whether another terminal rewound it.
func (tl *timeline) look() tea.Cmd {
	thread, lastID := tl.conv.thread, tl.conv.lastID
	return func() tea.Msg {
		rewinds, err := tl.backend.Rewinds(tl.ui.ctx, thread)
		if err != nil {
			return nil
		}
		if len(rewinds) == 0 {
			return latestRewindMsg{thread: thread}
		}
		history, err := tl.backend.Messages(tl.ui.ctx, thread, lately())
		if err != nil {
			return nil
		}
		return latestRewindMsg{thread, lastID, rewinds[0], history}
	}
}

// onRewound says that another terminal rewound the conversation, unless that is
// known.
func (tl *timeline) onRewound(msg latestRewindMsg) tea.Cmd {
	if msg.thread != tl.conv.thread || tl.travelling {
		return nil
	}
	if tl.opened != msg.thread {
		tl.opened, tl.rewound = msg.thread, msg.rewind.ID
		return nil
	}
	if msg.rewind.ID == "" || msg.rewind.ID == tl.rewound {
		return nil
	}
	if msg.lastID != tl.conv.lastID {
		return tl.look() // the history may lack what was said since
	}
	tl.rewound = msg.rewind.ID
	tl.conv.replace(tl.ui.scrollback, msg.history)
	what := "another terminal took this conversation back"
	if msg.rewind.Undoes != nil {
		what = "another terminal undid a rewind of this conversation"
	}
	tl.ui.marked(what + rewindParts(msg.rewind) + "; what stands above may no longer be part of it · ctrl+o shows what is")
	return tl.conv.loadContext()
}

// when is a moment in as few words as possible.
func when(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	switch {
	case t.Format(time.DateOnly) == now.Format(time.DateOnly):
		return t.Format("15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006 15:04")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
