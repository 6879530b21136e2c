package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/theme"
)

// Update handles a message. What it prints appears with the next view.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.handle(msg)
	if m.quitting {
		return m, tea.Quit
	}
	return m, cmd
}

// handle passes a message to its handler.
func (m *Model) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		m.paste(msg.Content)
	case tea.KeyboardEnhancementsMsg:
		m.keysOK = msg.SupportsKeyDisambiguation()
	case tea.BackgroundColorMsg:
		m.background(msg.IsDark())
		return m.settle()
	case tea.ColorProfileMsg:
		m.ui.screen.SetProfile(msg.Profile)
	case batchMsg[api.Message]:
		return m.take(msg)
	case batchMsg[api.Change]:
		return m.onChanges(msg)
	case loadedMsg:
		return tea.Batch(msg.show(), m.goOn()) // the queue may have waited for it
	default:
		return m.handleRest(msg)
	}
	return nil
}

func (m *Model) handleRest(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case firstFrameMsg:
		if !m.ground {
			return tea.Batch(m.askGround, tea.Tick(groundWithin, func(time.Time) tea.Msg { return groundMsg{} }))
		}
	case groundMsg:
		return m.settle()
	case connectedMsg:
		return m.onConnected(msg)
	case retryMsg:
		return m.link.connect(m.opts.Open)
	case agentMsg:
		return m.conv.onAgent(msg)
	case contextMsg:
		m.conv.onContext(msg)
	case latestRewindMsg:
		if m.turn == nil {
			return m.timeline.onRewound(msg)
		}
	case threadMsg:
		return m.onThread(msg)
	case waitingMsg:
		if m.turn == nil { // a turn looks at its end
			return tea.Batch(m.question.found(msg), m.goOn())
		}
	case ownTickMsg:
		return m.own.ticked(msg)
	case ownDoneMsg:
		m.own.ended(msg)
		return tea.Batch(m.trust.look(), m.goOn())
	case settledMsg:
		return tea.Batch(m.question.settled(msg), m.hosts.settled(msg), m.trust.settled(msg))
	case ringMsg:
		return m.question.ring(msg)
	case noteMsg:
		m.ui.notice(string(msg))
		return m.nextNote
	case tickMsg:
		m.ticking = false
		if m.turn != nil {
			m.spin++
			return tea.Batch(m.tick(), m.jobs.look(m.turn))
		}
	case disarmMsg:
		if m.armed {
			m.armed, m.ui.flash = false, ""
		}
	case cancelMsg:
		if msg.err != nil && m.turn != nil {
			m.ui.flash = "cannot stop it: " + explain(msg.err)
			m.turn.cancel, m.turn.asked = false, false
		}
	case statusMsg:
		if msg.err == nil {
			m.link.met(msg.status)
		}
	case tea.FocusMsg:
		m.caller.looks(true)
		return m.trust.look() // the person may come from where they changed something
	case tea.BlurMsg:
		m.caller.looks(false)
		m.hosts.ring()
		return m.question.looksAway()
	case tea.ResumeMsg:
		m.ui.screen.Resume()
	case editedMsg:
		m.ui.screen.Resume()
		msg.done(m.ui)
	case followMsg:
		return m.followOn(msg.turn)
	case reopenMsg:
		return m.link.reopen(m.conv.thread, m.conv.lastID)
	case reopenedMsg:
		return m.onReopened(msg)
	}
	return nil
}

// askGround asks the terminal for its background.
func (m *Model) askGround() tea.Msg {
	m.out.Send(ansi.RequestBackgroundColor)
	return nil
}

// background corrects the theme once the terminal has reported its colour.
func (m *Model) background(dark bool) {
	kind := theme.Light
	if dark {
		kind = theme.Dark
	}
	if m.ground || m.ui.theme.Kind == kind {
		return
	}
	m.ui.setTheme(theme.New(kind))
	m.prompt.SetTheme(m.ui.theme)
}

// settle carries on with a connection that was waiting for the terminal's
// colour.
func (m *Model) settle() tea.Cmd {
	m.ground = true
	msg := m.early
	if m.early = nil; msg == nil {
		return nil
	}
	return m.onConnected(*msg)
}

func (m *Model) paste(text string) {
	if top, ok := m.ui.top(); ok {
		top.Paste(text)
		return
	}
	if text == "" { // what a terminal makes of an image on the clipboard
		m.ui.flash = imagesByPath
		return
	}
	if marks, ok := client.Dropped(text); ok {
		text = marks + " "
	}
	m.caller.pressed()
	m.question.pasted(text)
	m.hosts.pasted(text)
	m.trust.pasted(text)
	m.outbox.keepApart()
	m.prompt.Paste(text)
}

// leave ends the chat. A run goes on in the daemon.
func (m *Model) leave() tea.Cmd {
	if m.turn != nil && !m.turn.cancel {
		m.ui.farewell(m.conv.name() + " goes on working; `loci` shows the answer")
	}
	if m.question.stands() {
		m.ui.farewell("a tool call waits for your answer; `loci` asks again, and so does `loci approvals`")
	}
	for _, text := range m.outbox.unsent() { // here it can be copied
		m.ui.farewell("not sent: " + text)
	}
	m.ui.closePanels()
	m.quitting = true
	return nil
}
