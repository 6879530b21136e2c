package tui

import (
	"cmp"
	"context"
	"errors"
	"slices"
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
	quitWithin  = 2 * time.Second

	groundWithin = 200 * time.Millisecond // by then the terminal has reported its background, or won't
)

// Model is the chat. It is the only tea.Model and lives in the program's loop.
type Model struct {
	ctx     context.Context
	backend Backend
	opts    Options
	now     func() time.Time

	link     *link
	conv     *conversation
	ui       *display
	prompt   *prompt.Prompt
	outbox   *outbox
	timeline *timeline
	question *question
	jobs     *jobs
	own      *ownLines
	hosts    *hostQuestion
	trust    *trustQuestion
	attach   *attachments
	caller   *caller
	turn     *turn // nil: no run is being shown

	out    *term.Output
	keysOK bool          // the terminal can tell shift+enter from enter
	ground bool          // the colours are settled: what is printed keeps them
	early  *connectedMsg // arrived before the colours settled

	spin     int
	ticking  bool
	armed    bool // pressing ctrl+c again leaves
	quitting bool
	quitErr  error
}

type (
	firstFrameMsg struct{}
	groundMsg     struct{} // the terminal didn't report its background in time
	threadMsg     struct { // another conversation or agent is open
		thread  Thread
		name    string
		model   string
		history []api.Message
		notice  string
		draft   string // goes back into the prompt
		quiet   bool   // the history is already on the screen
		err     error
	}
	noteMsg   string
	tickMsg   struct{}
	disarmMsg struct{}
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
	ui := newDisplay(ctx, th, term.NewScreen(out, width, height))
	written := prompt.New(th, completions())
	conv := &conversation{ctx: ctx, backend: o.Backend, override: o.Model, seen: map[string]bool{}}
	box := newOutbox(written, ui, o.now)
	m := &Model{
		ctx:      ctx,
		backend:  o.Backend,
		opts:     o,
		now:      o.now,
		link:     newLink(ctx, wg, o.Backend, ui, o.About),
		conv:     conv,
		ui:       ui,
		prompt:   written,
		outbox:   box,
		timeline: &timeline{ui: ui, conv: conv, outbox: box, backend: o.Backend, now: o.now},
		out:      out,
		ground:   ground,
	}
	m.link.mode, m.link.effort = cmp.Or(o.Who.Mode, modeAsk), o.Effort
	m.caller = &caller{screen: ui.screen, now: o.now, alert: alertOf(o.Getenv, o.Notify), last: o.now()}
	keys := arming{ui: ui, prompt: written, now: o.now}
	m.question = &question{
		arming: keys, conv: conv, backend: o.Backend, caller: m.caller, send: m.answer,
		folder: o.Who.Folder, mode: func() string { return m.link.mode },
		behind: func() bool { return m.hosts.stands() }, // which a line waits for, and not for long
	}
	m.timeline.travelled = m.question.travelled
	m.ui.asks = func() bool { return m.question.stands() || m.hosts.stands() }
	m.hosts = &hostQuestion{arming: keys, conv: conv, backend: o.Backend, caller: m.caller}
	m.trust = &trustQuestion{
		arming: keys, backend: o.Backend,
		free: func() bool { return m.turn == nil && !m.question.blocks() && !m.hosts.stands() },
	}
	m.jobs = &jobs{ui: ui, conv: conv, backend: o.Backend, now: o.now}
	m.own = &ownLines{ui: ui, wg: wg, folder: o.Who.Folder, shell: shellOf(o.Getenv), in: o.In, out: o.Out}
	m.attach = &attachments{
		ui: ui, prompt: written, folder: o.Who.Folder, workspace: o.Backend, approvals: o.Backend, now: o.now, told: map[string]bool{},
	}
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
	cmds := []tea.Cmd{m.link.connect(m.opts.Open)}
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
		if unreachable(msg.err) {
			return m.link.tryAgain(msg.err)
		}
		m.quitErr = msg.err
		m.quitting = true
		return nil
	}
	s := msg.session
	m.link.up()
	m.conv.thread = threadOf(s.AgentID, s.ConversationID)
	m.conv.agentName, m.conv.model, m.conv.offline = s.AgentName, s.Model, s.Offline
	if s.Used > 0 {
		m.conv.contextUsed, m.conv.contextMost = s.Used, s.Window
	}
	if s.AgentNew && m.conv.agentName != "" {
		m.conv.greet = "This is " + m.conv.agentName + ", a new agent. It remembers what you tell it."
	}
	m.history(slices.DeleteFunc(msg.history, func(x api.Message) bool { // its stream tells all of it
		return s.PendingRun != "" && x.RunID == s.PendingRun
	}))
	if msg.historyErr != nil {
		m.ui.failure("earlier messages cannot be read: " + explain(msg.historyErr))
	}
	if s.Notice != "" {
		m.ui.notice(s.Notice)
	}
	if m.link.mode == modeAll {
		m.ui.notice(warnAll)
	}
	m.link.met(s.Status)
	cmds := []tea.Cmd{
		m.conv.loadAgent(), m.conv.loadContext(), m.link.watch(), m.question.look(nil), m.hosts.look(),
		m.trust.look(), m.lookForWritten, m.timeline.look(),
	}
	if s.PendingRun != "" {
		m.conv.foreign = append(m.conv.foreign, s.PendingRun)
	}
	return tea.Batch(append(cmds, m.goOn())...)
}

// history shows the last screenful of a conversation and keeps the rest for the
// transcript.
func (m *Model) history(messages []api.Message) {
	items := itemsOf(messages)
	for _, it := range items {
		if it.Kind == transcript.User {
			words, _ := transcript.Unfold(it.Text)
			m.prompt.Remember(words)
		}
	}
	m.conv.note(messages)
	m.ui.keep(items...)
	m.ui.reprint(items)
}

// submit sends, queues or runs what was typed. Long texts are measured first.
func (m *Model) submit() tea.Cmd {
	text := m.prompt.Text()
	_, _, command := parseCommand(text)
	line, own := ownOf(text)
	switch {
	case command:
	case own:
		return m.runOwn(line)
	case m.question.takesText():
		return m.question.answerTyped(m.prompt.Take())
	case m.link.connected && m.attach.pending(text):
		return m.attach.read(text, m.submit)
	case m.question.stands():
		m.question.offerToDeny(text)
		return nil
	case m.link.connected && len(text)+m.attach.size()+m.own.size() > fitFrom:
		return m.measure(text, transcript.Enclose(text, slices.Concat(m.attach.files, m.own.done)))
	}
	return m.deliver()
}

// deliver takes the prompt's text and sends, queues or runs it.
func (m *Model) deliver() tea.Cmd {
	text := m.prompt.Take()
	if name, arg, ok := parseCommand(text); ok {
		return m.runCommand(text, name, arg)
	}
	text = m.attach.with(text)
	m.outbox.held = false
	if !m.link.connected || m.turn != nil || m.timeline.travelling || m.question.blocks() || m.own.running != nil {
		m.prompt.Enqueue(text)
		if m.turn == nil {
			return nil
		}
		return m.link.wake()
	}
	return m.send(text)
}

// send starts a run with a message.
func (m *Model) send(text string) tea.Cmd {
	text = m.withOwn(text)
	m.ui.showSaid(transcript.Item{Kind: transcript.User, Text: text})
	thread, model := m.conv.thread, m.conv.override
	otid := m.outbox.otid(thread, text)
	return m.begin(&turn{input: text, otid: otid, feed: m.link.send(thread, text, model, otid)})
}

// answer sends what was decided about the calls that wait, and a message behind
// it if there is one.
func (m *Model) answer(req api.AnswerRequest, text string) tea.Cmd {
	thread := m.conv.thread
	t := &turn{answer: true, input: text}
	if text != "" {
		text = m.withOwn(m.attach.with(text))
		t.input = text
		m.ui.showSaid(transcript.Item{Kind: transcript.User, Text: text})
		t.otid = m.outbox.otid(thread, text)
		req.Messages = []api.Input{api.UserInput(text, t.otid)}
	}
	t.feed = m.link.answer(thread, req, m.conv.override)
	return m.begin(t)
}

// follow shows a run that isn't ours.
func (m *Model) follow(run string) tea.Cmd {
	if m.question.stands() {
		m.ui.notice("what waited for you was answered elsewhere")
	}
	m.conv.seen[run] = true
	return m.begin(&turn{foreign: true, run: run, feed: m.link.follow(run, 0)})
}

// stop interrupts the person's own line, or the run being shown.
func (m *Model) stop() tea.Cmd {
	t := m.turn
	if m.own.stop() {
		return nil
	}
	if t == nil || t.cancel {
		return nil
	}
	t.cancel = true
	if t.run == "" {
		return nil // sent as soon as the run has an id
	}
	t.asked = true
	return m.link.cancel(m.conv.thread, t.run)
}

// onChanges handles hints and, when they end, asks again a little later.
func (m *Model) onChanges(msg batchMsg[api.Change]) tea.Cmd {
	if msg.feed != m.link.changes {
		return nil
	}
	var cmds []tea.Cmd
	for _, c := range msg.items {
		m.link.heard()
		switch {
		case c.Kind == api.ChangeRun && threadOf(c.AgentID, c.ConversationID) == m.conv.thread:
			if run := cmp.Or(c.RunID, c.ID); !m.conv.seen[run] {
				m.conv.foreign = append(m.conv.foreign, run)
			} else if m.question.stands() { // a request is cleared without a run of its own
				cmds = append(cmds, m.question.look(nil))
			}
		case c.Kind == api.ChangeAgent && cmp.Or(c.AgentID, c.ID) == m.conv.thread.Agent:
			cmds = append(cmds, m.conv.loadAgent())
		case c.Kind == api.ChangeConversation && threadOf(c.AgentID, cmp.Or(c.ConversationID, c.ID)) == m.conv.thread:
			cmds = append(cmds, m.conv.loadAgent(), m.timeline.look(), m.lookForSummary(), m.question.look(nil), m.hosts.look())
		}
	}
	if msg.over {
		return tea.Batch(append(cmds, m.link.watchAgain(msg.err))...)
	}
	return tea.Batch(append(cmds, m.goOn(), m.link.changes.next)...)
}

func (m *Model) onReopened(msg reopenedMsg) tea.Cmd {
	if again := m.link.down(msg.err); again != nil {
		return again
	}
	m.link.back(msg.status, m.turn == nil) // a turn says so itself
	if client.KindOf(msg.err) == api.KindNotFound {
		m.link.connecting = ""
		return tea.Batch(m.link.watch(), m.lookForThread())
	}
	if m.turn == nil {
		m.history(m.conv.missed(msg.messages))
	}
	m.link.connecting = ""
	return tea.Batch(m.link.watch(), m.followOn(m.turn), m.question.look(nil), m.hosts.look(), m.goOn())
}

// lookForThread reloads the conversation when the last message shown is no
// longer in the home, as after a restore, or says that the agent is gone.
func (m *Model) lookForThread() tea.Cmd {
	thread := m.conv.thread
	return func() tea.Msg {
		_, err := m.backend.Agent(m.ctx, thread.Agent)
		var messages []api.Message
		if err == nil {
			messages, err = m.backend.Messages(m.ctx, thread, lately())
		}
		return loadedMsg{func() tea.Cmd {
			switch {
			case thread != m.conv.thread:
			case client.KindOf(err) == api.KindNotFound:
				m.ui.failure(m.conv.name() + " is not in this home any more: it was restored, or the agent deleted; " +
					"/agents shows who is there")
			case err != nil:
				m.ui.failure("the conversation cannot be read: " + explain(err))
			case m.turn == nil:
				m.conv.replace(m.ui.scrollback, messages)
				m.ui.marked("the home was replaced; what stands above may no longer be part of it · ctrl+o shows what is")
			}
			return m.goOn()
		}}
	}
}

// onThread switches the conversation. If the old one is answering, it is left
// to finish on its own.
func (m *Model) onThread(msg threadMsg) tea.Cmd {
	if msg.err != nil {
		m.ui.flash = explain(msg.err)
		return nil
	}
	if t := m.turn; t != nil {
		t.part.close()
		if t.feed != nil {
			t.feed.stop()
		}
		m.turn = nil
		m.ui.notice(m.conv.name() + " goes on working there")
	}
	m.question.drop()
	m.hosts.drop()
	m.outbox.swap(m.conv.thread, msg.thread)
	m.conv.switchTo(msg.thread, msg.name, msg.model)
	m.ui.forget()
	notice := cmp.Or(msg.notice, "with "+m.conv.name())
	m.ui.notice(notice)
	if msg.quiet {
		m.conv.replace(m.ui.scrollback, msg.history)
		m.ui.keep(transcript.Item{Kind: transcript.Notice, Text: notice})
	} else {
		m.history(msg.history)
	}
	if msg.draft != "" {
		m.outbox.giveBack(msg.draft, "")
	}
	return tea.Batch(
		m.conv.loadAgent(), m.conv.loadContext(), m.question.look(nil), m.hosts.look(), m.timeline.look(), m.goOn(),
	)
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
