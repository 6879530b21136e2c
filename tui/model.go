package tui

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/prompt"
	"loci/tui/term"
	"loci/tui/theme"
	"loci/tui/transcript"
)

// Limits of the chat.
const (
	historyMost = 80 // messages read when a conversation is opened
	spinEvery   = 125 * time.Millisecond
	retryFirst  = 250 * time.Millisecond
	retryMost   = 10 * time.Second
	quitWithin  = 2 * time.Second

	groundWithin = 200 * time.Millisecond // by then the terminal has reported its background, or won't
)

// Model is the chat. It is the only tea.Model and lives in the program's loop.
type Model struct {
	ctx     context.Context
	wg      *sync.WaitGroup
	backend Backend
	opts    Options
	now     func() time.Time

	ui      *display
	out     *term.Output
	conv    *conversation
	prompt  *prompt.Prompt
	outbox  *outbox
	keysOK  bool // the terminal can tell shift+enter from enter
	quitErr error

	ground bool          // the colours are settled: what is printed keeps them
	early  *connectedMsg // arrived before the colours settled

	// Who we are talking to.
	connected  bool
	connecting string // why it is taking long
	over       string // why no daemon answers and we start none; set once the person was told
	retry      time.Duration

	turn      *turn
	daemonPID int
	toldAway  int // pid of the daemon whose absence a turn has announced

	travelling bool   // we are rewinding
	rewound    string // the last rewind shown

	changes *feed[api.Change]
	changed time.Duration // wait before asking for changes again

	armed    bool // pressing ctrl+c again leaves
	quitting bool
	spin     int
	ticking  bool
}

type (
	firstFrameMsg struct{}
	groundMsg     struct{} // the terminal didn't report its background in time
	connectedMsg  struct {
		session api.Session
		history []api.Message
		err     error

		historyErr error // the agent opened anyway
	}
	retryMsg  struct{}
	threadMsg struct { // another conversation or agent is open
		thread  Thread
		name    string
		model   string
		history []api.Message
		notice  string
		draft   string // goes back into the prompt
		quiet   bool   // the history is already on the screen
		err     error
	}
	noteMsg     string
	tickMsg     struct{}
	disarmMsg   struct{}
	cancelMsg   struct{ err error }
	reopenMsg   struct{}
	reopenedMsg struct {
		status   api.Status
		messages []api.Message
		err      error
	}
	statusMsg struct {
		status api.Status
		err    error
	}
)

// newModel makes the chat for a screen of the given size. It does nothing slow:
// the first frame waits for it.
func newModel(ctx context.Context, wg *sync.WaitGroup, o Options, out *term.Output, width, height int) *Model {
	kind, ground := theme.Dark, true
	switch {
	case o.NoColor:
		kind = theme.None
	case o.Theme == "light":
		kind = theme.Light
	case o.Theme != "dark":
		ground = false // ask the terminal
	}
	th := theme.New(kind)
	ctx = client.Unasked(ctx)
	if o.now == nil {
		o.now = time.Now
	}
	m := &Model{
		ctx:     ctx,
		wg:      wg,
		backend: o.Backend,
		opts:    o,
		now:     o.now,
		ui:      newDisplay(th, term.NewScreen(out, width, height)),
		prompt:  prompt.New(th, completions()),
		out:     out,
		conv:    &conversation{ctx: ctx, backend: o.Backend, override: o.Model, seen: map[string]bool{}},
		retry:   retryFirst,
		changed: retryFirst,
		ground:  ground,
	}
	m.outbox = newOutbox(m.prompt, m.ui, m.now)
	m.resize(width, height)
	return m
}

func (m *Model) resize(width, height int) {
	m.ui.resize(width, height)
	m.prompt.Resize(m.ui.width(), m.ui.height())
	if m.turn != nil {
		m.turn.part.stream.Wide = m.ui.render.Prose()
	}
}

// Init connects.
func (m *Model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.connect()}
	cmds = append(cmds, func() tea.Msg {
		select {
		case <-m.out.First():
		case <-m.ctx.Done():
		}
		return firstFrameMsg{}
	})
	if m.opts.Notes != nil {
		cmds = append(cmds, m.nextNote)
	}
	return tea.Batch(cmds...)
}

func (m *Model) nextNote() tea.Msg {
	select {
	case line := <-m.opts.Notes:
		return noteMsg(line)
	case <-m.ctx.Done():
		return nil
	}
}

// connect registers the chat and reads the end of the conversation.
func (m *Model) connect() tea.Cmd {
	open := m.opts.Open
	return func() tea.Msg {
		s, err := m.backend.Open(m.ctx, open)
		if err != nil {
			return connectedMsg{err: err}
		}
		msg := connectedMsg{session: s}
		if s.RecallCount > 0 {
			msg.history, msg.historyErr = m.backend.Messages(m.ctx, threadOf(s.AgentID, s.ConversationID), lately())
		}
		return msg
	}
}

// threadOf names a thread. The default conversation has several spellings.
func threadOf(agent, conversation string) Thread {
	if conversation == api.DefaultConversation || conversation == agent {
		conversation = ""
	}
	return Thread{Agent: agent, Conversation: conversation}
}

// onConnected handles the answer to connect.
func (m *Model) onConnected(msg connectedMsg) tea.Cmd {
	if !m.ground { // what is printed is never redrawn
		m.early = &msg
		return nil
	}
	if msg.err != nil {
		if kind := client.KindOf(msg.err); kind != api.KindUnavailable && kind != api.KindTimeout {
			m.quitErr = msg.err
			m.quitting = true
			return nil
		}
		m.connecting = explain(msg.err) + " · trying again"
		return m.after(&m.retry, retryMsg{})
	}
	s := msg.session
	m.connected, m.connecting, m.retry = true, "", retryFirst
	m.opts.Open = api.Open{Agent: s.AgentID, Conversation: s.ConversationID}
	m.conv.thread = threadOf(s.AgentID, s.ConversationID)
	m.conv.agentName, m.conv.model, m.conv.offline = s.AgentName, s.Model, s.Offline
	if s.Used > 0 {
		m.conv.contextUsed, m.conv.contextMost = s.Used, s.Window
	}
	if s.AgentNew && m.conv.agentName != "" {
		m.opts.greet = "This is " + m.conv.agentName + ", a new agent. It remembers what you tell it."
	}
	m.history(msg.history)
	if msg.historyErr != nil {
		m.ui.failure("earlier messages cannot be read: " + explain(msg.historyErr))
	}
	if s.Notice != "" {
		m.ui.notice(s.Notice)
	}
	m.met(s.Status)
	cmds := []tea.Cmd{m.conv.loadAgent(), m.conv.loadContext(), m.watch()}
	if s.PendingRun != "" {
		m.conv.foreign = append(m.conv.foreign, s.PendingRun)
	}
	return tea.Batch(append(cmds, m.goOn())...)
}

// after waits, and doubles the wait for next time.
func (m *Model) after(wait *time.Duration, msg tea.Msg) tea.Cmd {
	d := *wait
	*wait = min(2*d, retryMost)
	return tea.Tick(d, func(time.Time) tea.Msg { return msg })
}

// history shows the last screenful of a conversation and keeps the rest for the
// transcript.
func (m *Model) history(messages []api.Message) {
	items := itemsOf(messages)
	for _, it := range items {
		if it.Kind == transcript.User {
			m.prompt.Remember(it.Text)
		}
	}
	m.conv.note(messages)
	m.ui.keep(items...)
	m.ui.reprint(items)
}

// submit sends, queues or runs what was typed. Long texts are measured first.
func (m *Model) submit() tea.Cmd {
	if text := m.prompt.Text(); m.connected && len(text) > fitFrom {
		if _, _, ok := parseCommand(text); !ok {
			return m.measure(text)
		}
	}
	return m.deliver()
}

// deliver takes the prompt's text and sends, queues or runs it.
func (m *Model) deliver() tea.Cmd {
	text := m.prompt.Take()
	if name, arg, ok := parseCommand(text); ok {
		return m.runCommand(text, name, arg)
	}
	m.outbox.held = false
	if !m.connected || m.turn != nil {
		m.prompt.Enqueue(text)
		return m.wake()
	}
	return m.send(text)
}

// send starts a run with a message.
func (m *Model) send(text string) tea.Cmd {
	m.ui.showSaid(transcript.Item{Kind: transcript.User, Text: text})
	thread, model := m.conv.thread, m.conv.override
	otid := m.outbox.otid(thread, text)
	f := startFeed(m.ctx, m.wg, func(ctx context.Context) iter.Seq2[api.Message, error] {
		return m.backend.Send(ctx, thread, text, model, otid)
	})
	return m.begin(&turn{input: text, otid: otid, feed: f})
}

// follow shows a run that isn't ours.
func (m *Model) follow(run string) tea.Cmd {
	m.conv.seen[run] = true
	return m.begin(&turn{foreign: true, run: run, feed: m.followFeed(run, 0)})
}

// stop interrupts the run being shown.
func (m *Model) stop() tea.Cmd {
	t := m.turn
	if t == nil || t.cancel {
		return nil
	}
	t.cancel = true
	if t.run == "" {
		return nil // sent as soon as the run has an id
	}
	t.asked = true
	return m.cancelRun(t.run)
}

func (m *Model) cancelRun(run string) tea.Cmd {
	thread := m.conv.thread
	return func() tea.Msg { return cancelMsg{m.backend.Cancel(m.ctx, thread, run)} }
}

// watch listens for changes made elsewhere.
func (m *Model) watch() tea.Cmd {
	m.changes = startFeed(m.ctx, m.wg, m.backend.Changes)
	return m.changes.next
}

// onChanges handles hints and, when they end, asks again a little later.
func (m *Model) onChanges(msg batchMsg[api.Change]) tea.Cmd {
	if msg.feed != m.changes {
		return nil
	}
	var cmds []tea.Cmd
	for _, c := range msg.items {
		m.changed, m.toldAway = retryFirst, 0 // the daemon is there
		switch {
		case c.Kind == api.ChangeRun && threadOf(c.AgentID, c.ConversationID) == m.conv.thread:
			if run := cmp.Or(c.RunID, c.ID); !m.conv.seen[run] {
				m.conv.foreign = append(m.conv.foreign, run)
			}
		case c.Kind == api.ChangeAgent && cmp.Or(c.AgentID, c.ID) == m.conv.thread.Agent:
			cmds = append(cmds, m.conv.loadAgent())
		case c.Kind == api.ChangeConversation && threadOf(c.AgentID, cmp.Or(c.ConversationID, c.ID)) == m.conv.thread:
			cmds = append(cmds, m.conv.loadAgent(), m.lookWhetherRewound())
		}
	}
	if msg.over {
		if k := client.KindOf(msg.err); k == api.KindNotFound || k == api.KindUnsupported || m.ctx.Err() != nil {
			return tea.Batch(cmds...)
		}
		return tea.Batch(append(cmds, m.after(&m.changed, reopenMsg{}))...)
	}
	return tea.Batch(append(cmds, m.goOn(), m.changes.next)...)
}

// reopen asks for what we missed while we heard nothing.
func (m *Model) reopen() tea.Cmd {
	thread, after := m.conv.thread, m.conv.lastID
	return func() tea.Msg {
		status, err := m.backend.Status(m.ctx)
		if err != nil {
			return reopenedMsg{err: err}
		}
		messages, err := m.backend.Messages(m.ctx, thread, Span{After: after, Limit: historyMost})
		return reopenedMsg{status, messages, err}
	}
}

func (m *Model) onReopened(msg reopenedMsg) tea.Cmd {
	if errors.Is(msg.err, client.ErrStopped) || errors.Is(msg.err, client.ErrHomeGone) {
		m.ended(msg.err)
		return m.after(&m.changed, reopenMsg{})
	}
	if kind := client.KindOf(msg.err); kind == api.KindUnavailable || kind == api.KindTimeout {
		m.connecting = explain(msg.err) + " · trying again"
		return m.after(&m.changed, reopenMsg{})
	}
	if msg.status.PID != m.daemonPID && m.daemonPID != 0 && m.turn == nil && m.toldAway != m.daemonPID { // a turn says so itself
		m.ui.notice("the daemon was away and is back")
	}
	m.over = ""
	m.met(msg.status)
	if client.KindOf(msg.err) == api.KindNotFound {
		m.connecting = ""
		return tea.Batch(m.watch(), m.lookForThread())
	}
	if m.turn == nil {
		m.history(m.conv.missed(msg.messages))
	}
	m.connecting = ""
	return tea.Batch(m.watch(), m.followOn(m.turn), m.goOn())
}

// met notes which daemon is answering, and says what there is to know about it.
func (m *Model) met(s api.Status) {
	if s.PID == 0 || s.PID == m.daemonPID {
		return
	}
	m.daemonPID = s.PID
	if m.opts.About == nil {
		return
	}
	m.ui.noticeOnce(m.opts.About(s))
}

// tick keeps the status line's spinner turning while the agent works.
func (m *Model) tick() tea.Cmd {
	if m.ticking {
		return nil
	}
	m.ticking = true
	return tea.Tick(spinEvery, func(time.Time) tea.Msg { return tickMsg{} })
}

// explain puts an error on one line.
func explain(err error) string {
	text := transcript.OneLine(err.Error())
	var e *client.Error
	if errors.As(err, &e) && e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}
