package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// place is a point in a conversation's past: before something the person said
// or, if step is set, what that step was sent.
type place struct {
	run, step string
	words     string // what the person said
	label     string // of the step
	at        time.Time
	turns     int // how many turns would go, including this one
}

// wordsMost bounds how much of a message is quoted in a line.
const wordsMost = 48

// name describes a place.
func (p place) name() string {
	words := "“" + transcript.Short(transcript.OneLine(p.words), wordsMost) + "”"
	if p.step != "" {
		return p.label + " of " + words
	}
	return "before " + words
}

// when is a moment in as few words as possible.
func (m *Model) when(t time.Time) string {
	t, now := t.Local(), m.now().Local()
	switch {
	case t.Format(time.DateOnly) == now.Format(time.DateOnly):
		return t.Format("15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006 15:04")
}

// placesOf finds the turns of a conversation from what was said in it, newest
// first. A message that no run answered is not a place to go back to.
func placesOf(said []api.Message) []place {
	var out []place
	for _, x := range said {
		text := x.Content.String()
		if x.RunID == "" || isMachine(text) || slices.ContainsFunc(out, func(p place) bool { return p.run == x.RunID }) {
			continue
		}
		out = append(out, place{run: x.RunID, words: text, at: x.Date.Time, turns: len(out) + 1})
	}
	return out
}

// busyFor says that a command has to wait.
func (m *Model) busyFor(command string) bool {
	if m.turn == nil {
		return false
	}
	m.ui.flash = m.conv.name() + " is busy; " + command + " works when it has answered, or after esc"
	return true
}

// been is what /rewind and /fork show: what was said, and the rewinds so far.
type been struct {
	places  []place
	rewinds []api.Rewind
}

func (m *Model) readPast(t Thread) func(context.Context) (been, error) {
	return func(ctx context.Context) (been, error) {
		said, err := m.backend.Said(ctx, t)
		if err != nil {
			return been{}, err
		}
		rewinds, err := m.backend.Rewinds(ctx, t)
		return been{placesOf(said), rewinds}, err
	}
}

// openRewind lets the person choose where to take the conversation back to.
func (m *Model) openRewind(string) tea.Cmd {
	if m.busyFor("/rewind") {
		return nil
	}
	thread := m.conv.thread
	return load(m.ctx, m.ui, m.readPast(thread), func(b been) tea.Cmd {
		l := &panel.List{Theme: m.ui.theme, Title: "Go back to before …", Empty: "nothing was said yet"}
		last, undoable := client.LastRewind(b.rewinds)
		if undoable {
			l.Entries = append(l.Entries, panel.Entry{Title: "↷ undo the rewind of " + m.when(last.CreatedAt.Time), Note: rewindNote(last)})
		}
		before := len(l.Entries)
		l.Entries = append(l.Entries, m.placeEntries(b.places)...)
		m.ui.push(l, func(a panel.Action) tea.Cmd {
			if a.Index < before {
				return m.askUndoRewind(thread, last, b.places)
			}
			return m.askRewind(thread, b.places[a.Index-before])
		})
		return nil
	})
}

func (m *Model) placeEntries(places []place) []panel.Entry {
	var out []panel.Entry
	for _, p := range places {
		words := transcript.Short(transcript.OneLine(p.words), max(m.ui.width()-22, 12))
		out = append(out, panel.Entry{Title: m.when(p.at) + "  " + words, Note: count(p.turns, "turn") + " back"})
	}
	return out
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// outlook is what a rewind would do, as far as can be told in advance.
type outlook struct {
	thread Thread   // where the turn ran
	places []place  // the steps of the turn
	back   []string // what memory blocks go back to
	shared []string // labels of blocks that changed but are shared with other agents
}

// lookBack finds out what a rewind to a place would do.
func (m *Model) lookBack(t Thread, p place) func(context.Context) (outlook, error) {
	return func(ctx context.Context) (outlook, error) {
		turn, err := m.backend.Turn(ctx, p.run)
		o := outlook{thread: turn.thread, places: stepPlaces(p, turn.steps, turn.messages)}
		if err != nil || o.thread != t {
			return o, err
		}
		blocks, err := m.backend.Blocks(ctx, t.Agent)
		if err != nil {
			return outlook{}, err
		}
		for _, b := range blocks {
			versions, err := m.backend.Versions(ctx, b.ID)
			if err != nil {
				return outlook{}, err
			}
			then, ok := versionAt(versions, p.at)
			if !ok || then.Value == b.Value {
				continue
			}
			sharers, err := m.backend.Sharers(ctx, b.ID)
			if err != nil {
				return outlook{}, err
			}
			label := transcript.OneLine(api.Val(b.Label))
			if sharers > 1 {
				o.shared = append(o.shared, label)
				continue
			}
			value := transcript.Short(transcript.OneLine(then.Value), 2*wordsMost)
			o.back = append(o.back, label+" as it was: "+cmp.Or(strings.TrimRight(value, "."), "empty"))
		}
		return o, nil
	}
}

// versionAt is the version a block had when a message came. Message times are
// cut to seconds: within that second, a person's edits count as earlier and a
// step's edits as later.
func versionAt(newestFirst []api.BlockVersion, at time.Time) (api.BlockVersion, bool) {
	for _, v := range newestFirst {
		if v.CreatedAt.Before(at.Add(time.Second)) && v.StepID == nil || v.CreatedAt.Before(at) {
			return v, true
		}
	}
	return api.BlockVersion{}, false
}

// stepPlaces are the steps of a turn, if it has more than one to go back to.
func stepPlaces(p place, steps []api.Step, messages []api.Message) []place {
	if len(steps) < 2 {
		return nil
	}
	var out []place
	for i, s := range steps {
		q := p
		q.step, q.label = s.ID, fmt.Sprintf("step %d", i+1)
		var did []string
		for _, x := range messages {
			if x.StepID != s.ID {
				continue
			}
			for _, c := range x.ToolCalls {
				did = append(did, c.Name)
			}
			if x.MessageType == api.MessageAssistant {
				did = append(did, transcript.OneLine(x.Content.String()))
			}
		}
		q.words = p.words
		if len(did) > 0 {
			q.label += " (" + transcript.Short(transcript.OneLine(strings.Join(did, ", ")), wordsMost) + ")"
		}
		out = append(out, q)
	}
	return out
}

// askRewind says what a rewind would do, and asks for confirmation.
func (m *Model) askRewind(t Thread, p place) tea.Cmd {
	return load(m.ctx, m.ui, m.lookBack(t, p), func(o outlook) tea.Cmd {
		if o.thread != t {
			m.ui.ask("Fork "+p.name()+"?", []string{
				"That was said before this conversation was forked: it cannot go back there, but another fork can begin there.",
			}, []choice{{'f', "fork from there", func() tea.Cmd { return m.fork(t, p) }}})
			return nil
		}
		choices := []choice{
			{'y', "go back", func() tea.Cmd { return m.rewind(t, p, false) }},
			{'f', "fork from there instead: this conversation stays as it is", func() tea.Cmd { return m.fork(t, p) }},
		}
		if len(o.shared) > 0 {
			choices = append(
				choices,
				choice{
					'a',
					"go back, and take shared memory back for all: " + strings.Join(o.shared, ", "),
					func() tea.Cmd { return m.rewind(t, p, true) },
				},
			)
		}
		if p.step == "" && len(o.places) > 1 {
			choices = append(
				choices,
				choice{'s', "choose one of its " + count(len(o.places), "step"), func() tea.Cmd { return m.openSteps(t, o.places) }},
			)
		}
		m.ui.ask("Go back to "+p.name()+"?", m.outlookText(p, o), choices)
		return nil
	})
}

// openSteps lets the person choose a step of a turn.
func (m *Model) openSteps(t Thread, places []place) tea.Cmd {
	l := &panel.List{Theme: m.ui.theme, Title: "Go back to what was sent with …"}
	for _, p := range places {
		l.Entries = append(l.Entries, panel.Entry{Title: p.label})
	}
	m.ui.push(l, func(a panel.Action) tea.Cmd { return m.askRewind(t, places[a.Index]) })
	return nil
}

// outlookText says what comes back and what stays.
func (m *Model) outlookText(p place, o outlook) []string {
	goes := "Leaves the conversation: " + count(p.turns, "turn") + ", from that message on. "
	if p.step != "" {
		goes = "Leaves the conversation: what that step and all after it said. "
	}
	out := []string{goes + "Nothing is deleted; what stands in this terminal's scrollback stays there."}
	for _, b := range o.back {
		out = append(out, "Comes back: memory "+b+".")
	}
	out = append(out, "Comes back: model, settings, tools and what was attached.",
		"Set aside: what "+m.conv.name()+" put into its own archive since.")
	if len(o.shared) > 0 {
		out = append(out, "Stays: shared memory that changed since ("+strings.Join(o.shared, ", ")+").")
	}
	return append(out, "Stays: files, shared archives, other conversations.", "/undo takes it back.")
}

// travelled is the state of a conversation after a rewind.
type travelled struct {
	rewind  api.Rewind
	history []api.Message
}

// travel goes back or forward and reads the resulting conversation.
func (m *Model) travel(t Thread, call func(context.Context) (api.Rewind, error), then func(v travelled) tea.Cmd) tea.Cmd {
	m.ui.closePanels()
	m.travelling = true
	return func() tea.Msg {
		var v travelled
		var err error
		if v.rewind, err = call(m.ctx); err == nil {
			v.history, err = m.backend.Messages(m.ctx, t, lately())
		}
		return loadedMsg{func() tea.Cmd {
			m.travelling = false
			switch {
			case err != nil && v.rewind.ID != "": // the next hint will show the result
				m.ui.failure("it went back, but the conversation cannot be read: " + explain(err))
				return nil
			case err != nil:
				m.ui.failure(explain(err))
				return nil
			}
			m.rewound = v.rewind.ID
			if t != m.conv.thread {
				return nil
			}
			m.conv.replace(m.ui.scrollback, v.history)
			next := then(v)
			m.tellMissing(v.rewind)
			return tea.Batch(next, m.conv.loadAgent(), m.conv.loadContext())
		}}
	}
}

// rewind takes the conversation back.
func (m *Model) rewind(t Thread, p place, shared bool) tea.Cmd {
	in := api.RewindRequest{RunID: p.run, Shared: shared}
	if p.step != "" {
		in = api.RewindRequest{StepID: p.step, Shared: shared}
	}
	call := func(ctx context.Context) (api.Rewind, error) { return m.backend.Rewind(ctx, in) }
	return m.travel(t, call, func(v travelled) tea.Cmd {
		m.ui.marked(
			"went back to " + p.name() + rewindParts(
				v.rewind,
			) + "; what stands above from there on is no longer part of the conversation · /undo brings it back",
		)
		if p.step == "" {
			m.outbox.giveBack(p.words, "")
		}
		return nil
	})
}

// rewindParts says what a rewind changed besides the conversation.
func rewindParts(r api.Rewind) string {
	var out strings.Builder
	for _, p := range []struct {
		n          int
		what, done string
	}{{len(r.BlockIDs), "memory block", "changed"}, {r.PassagesTaken, "passage", "set aside"}, {r.PassagesReturned, "passage", "brought back"}} {
		if p.n > 0 {
			out.WriteString(", " + count(p.n, p.what) + " " + p.done)
		}
	}
	return out.String()
}

// missingMost is how many of the things that couldn't be restored are named.
const missingMost = 5

// tellMissing says what a rewind couldn't restore.
func (m *Model) tellMissing(r api.Rewind) {
	if len(r.Missing) == 0 {
		return
	}
	var parts []string
	for _, what := range r.Missing[:min(len(r.Missing), missingMost)] {
		parts = append(parts, transcript.OneLine(what))
	}
	if more := len(r.Missing) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	m.ui.notice("not as it was: " + strings.Join(parts, "; "))
}

func rewindNote(r api.Rewind) string {
	return strings.TrimPrefix(rewindParts(r), ", ")
}

// openFork lets the person choose where a new conversation branches off.
func (m *Model) openFork(string) tea.Cmd {
	thread := m.conv.thread
	return load(m.ctx, m.ui, m.readPast(thread), func(b been) tea.Cmd {
		l := &panel.List{Theme: m.ui.theme, Title: "Fork this conversation …"}
		l.Entries = append([]panel.Entry{{Title: "here", Note: "as it is now"}}, m.placeEntries(b.places)...)
		for i := range b.places {
			l.Entries[i+1].Title = "before " + l.Entries[i+1].Title
		}
		m.ui.push(l, func(a panel.Action) tea.Cmd {
			if a.Index == 0 {
				return m.fork(thread, place{})
			}
			return m.fork(thread, b.places[a.Index-1])
		})
		return nil
	})
}

// fork makes a conversation that shares everything up to a place, and switches
// to it.
func (m *Model) fork(t Thread, p place) tea.Cmd {
	m.ui.closePanels()
	name, model, from := m.conv.agentName, m.conv.model, m.conv.threadName()
	return func() tea.Msg {
		c, err := m.forkAt(m.ctx, t, p)
		if err != nil {
			return threadMsg{err: err}
		}
		made := threadOf(t.Agent, c.ID)
		messages, err := m.backend.Messages(m.ctx, made, lately())
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

// forkAt forks a conversation at a place. If the conversation is itself a fork,
// the place may lie in the part it shares with its original.
func (m *Model) forkAt(ctx context.Context, t Thread, p place) (api.Conversation, error) {
	if p.run == "" {
		return m.backend.Fork(ctx, t, "")
	}
	turn, err := m.backend.Turn(ctx, p.run)
	if err != nil {
		return api.Conversation{}, err
	}
	step := p.step
	if step == "" {
		if len(turn.steps) == 0 {
			return api.Conversation{}, fmt.Errorf("run %s has no step to fork from", p.run)
		}
		step = turn.steps[0].ID
	}
	return m.backend.Fork(ctx, turn.thread, step)
}

// lookWhetherRewound checks, after a hint, whether another terminal rewound the
// conversation, and says so.
func (m *Model) lookWhetherRewound() tea.Cmd {
	thread := m.conv.thread
	return func() tea.Msg {
		rewinds, err := m.backend.Rewinds(m.ctx, thread)
		if err != nil || len(rewinds) == 0 {
			return nil
		}
		v := travelled{rewind: rewinds[0]}
		v.history, err = m.backend.Messages(m.ctx, thread, lately())
		return loadedMsg{func() tea.Cmd {
			if err != nil || thread != m.conv.thread || m.travelling || m.turn != nil || v.rewind.ID == m.rewound {
				return nil
			}
			m.rewound = v.rewind.ID
			m.conv.replace(m.ui.scrollback, v.history)
			what := "another terminal took this conversation back"
			if v.rewind.Undoes != nil {
				what = "another terminal undid a rewind of this conversation"
			}
			m.ui.marked(what + rewindParts(v.rewind) + "; what stands above may no longer be part of it · ctrl+o shows what is")
			return m.conv.loadContext()
		}}
	}
}
