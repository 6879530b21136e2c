package tui

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/daemon/client"
)

const (
	retryFirst = 250 * time.Millisecond
	retryMost  = 10 * time.Second
)

// linkBackend is the part of the daemon that answers while everything else may
// be away.
type linkBackend interface {
	// Open registers the chat and finds or creates the agent to talk to. It starts
	// the daemon if it isn't running.
	Open(ctx context.Context, open api.Open) (api.Session, error)
	// Status identifies the running daemon, among other things.
	Status(ctx context.Context) (api.Status, error)
	messageReader

	// Send starts a run in the permission mode of ctx and yields its messages until
	// it ends, reconnecting as often as necessary. Sending again with the same otid
	// doesn't start a second run.
	Send(ctx context.Context, t Thread, text, model, otid string) iter.Seq2[api.Message, error]
	// Answer answers what waits for a person, and yields the run that goes on from
	// there as Send does.
	Answer(ctx context.Context, t Thread, req api.AnswerRequest, model string) iter.Seq2[api.Message, error]
	// Follow yields the messages of a run somebody else started, those after a
	// seq_id.
	Follow(ctx context.Context, run string, after int64) iter.Seq2[api.Message, error]
	Cancel(ctx context.Context, t Thread, run string) error
	// Changes yields hints that something changed, until the connection breaks.
	Changes(ctx context.Context) iter.Seq2[api.Change, error]
}

// link is the connection to the daemon. It finds out that the daemon went away,
// asks for it again ever more rarely, and tells the person once about each
// absence.
type link struct {
	ctx     context.Context
	wg      *sync.WaitGroup
	backend linkBackend
	ui      *display
	about   func(api.Status) string // what to say about a daemon; may be nil

	connected  bool
	connecting string // why it is taking long
	over       string // why no daemon answers and we start none; set once the person was told
	retry      time.Duration
	daemonPID  int
	mode       string // the permission mode of what is sent from now on
	sandbox    string // how much of the sandbox works, where it is less than all
	effort     string // the reasoning effort of it; empty: the agent's
	toldAway   int    // pid of the daemon whose absence a turn has announced

	changes *feed[api.Change]
	changed time.Duration // wait before asking for changes again
}

type (
	connectedMsg struct {
		session api.Session
		history []api.Message
		err     error

		historyErr error // the agent opened anyway
	}
	retryMsg    struct{}
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

func newLink(ctx context.Context, wg *sync.WaitGroup, b linkBackend, ui *display, about func(api.Status) string) *link {
	return &link{ctx: ctx, wg: wg, backend: b, ui: ui, about: about, retry: retryFirst, changed: retryFirst}
}

// after waits, and doubles the wait for next time.
func after(wait *time.Duration, msg tea.Msg) tea.Cmd {
	d := *wait
	*wait = min(2*d, retryMost)
	return tea.Tick(d, func(time.Time) tea.Msg { return msg })
}

// unreachable reports whether an error means that no daemon answers.
func unreachable(err error) bool {
	kind := client.KindOf(err)
	return kind == api.KindUnavailable || kind == api.KindTimeout
}

// connect registers the chat and reads the end of the conversation.
func (l *link) connect(open api.Open) tea.Cmd {
	return func() tea.Msg {
		s, err := l.backend.Open(l.ctx, open)
		if err != nil {
			return connectedMsg{err: err}
		}
		msg := connectedMsg{session: s}
		if s.RecallCount > 0 {
			msg.history, msg.historyErr = l.backend.Messages(l.ctx, threadOf(s.AgentID, s.ConversationID), lately())
		}
		return msg
	}
}

// tryAgain says why there is no connection yet, and makes another attempt.
func (l *link) tryAgain(err error) tea.Cmd {
	l.connecting = explain(err) + " · trying again"
	return after(&l.retry, retryMsg{})
}

func (l *link) up() { l.connected, l.connecting, l.retry = true, "", retryFirst }

// watch listens for changes made elsewhere.
func (l *link) watch() tea.Cmd {
	l.changes = startFeed(l.ctx, l.wg, l.backend.Changes)
	return l.changes.next
}

// heard notes that the daemon is there.
func (l *link) heard() { l.changed, l.toldAway = retryFirst, 0 }

// watchAgain waits before changes are asked for again. It is nil if that is no
// use: the daemon has none to tell, or the chat is ending.
func (l *link) watchAgain(err error) tea.Cmd {
	if k := client.KindOf(err); k == api.KindNotFound || k == api.KindUnsupported || l.ctx.Err() != nil {
		return nil
	}
	return after(&l.changed, reopenMsg{})
}

// reopen asks for what we missed while we heard nothing.
func (l *link) reopen(thread Thread, last string) tea.Cmd {
	return func() tea.Msg {
		status, err := l.backend.Status(l.ctx)
		if err != nil {
			return reopenedMsg{err: err}
		}
		messages, err := l.backend.Messages(l.ctx, thread, Span{After: last, Limit: historyMost})
		return reopenedMsg{status, messages, err}
	}
}

// down says why no daemon answers, and asks again later. It is nil if one
// answered.
func (l *link) down(err error) tea.Cmd {
	switch {
	case errors.Is(err, client.ErrStopped) || errors.Is(err, client.ErrHomeGone):
		l.ended(err)
	case unreachable(err):
		l.connecting = explain(err) + " · trying again"
	default:
		return nil
	}
	return after(&l.changed, reopenMsg{})
}

// back notes which daemon answers after an absence. With tell, it says so,
// unless a turn has.
func (l *link) back(s api.Status, tell bool) {
	if tell && s.PID != l.daemonPID && l.daemonPID != 0 && l.toldAway != l.daemonPID {
		l.ui.notice("the daemon was away and is back")
	}
	l.over = ""
	l.met(s)
}

// met notes which daemon is answering, and says what there is to know about it.
func (l *link) met(s api.Status) {
	if s.PID == 0 || s.PID == l.daemonPID {
		return
	}
	l.sandbox = s.Sandbox
	l.daemonPID = s.PID
	if l.about != nil {
		l.ui.noticeOnce(l.about(s))
	}
}

// ended says once that the daemon was stopped on purpose. The chat doesn't
// restart it by itself: it checks from time to time whether somebody else has.
func (l *link) ended(err error) {
	text, state := "the daemon was stopped; the next message starts it", "the daemon is stopped"
	if errors.Is(err, client.ErrHomeGone) {
		text, state = "this home is gone: it was uninstalled, or its folder removed; nothing can be sent from here", "the home is gone"
	}
	l.connecting = state
	if l.over == text {
		return
	}
	l.over = text
	l.ui.notice(text)
}

// wake starts a daemon that was stopped during a run. It resumes that run and
// then takes the person's message.
func (l *link) wake() tea.Cmd {
	if l.over == "" {
		return nil
	}
	return func() tea.Msg {
		s, err := l.backend.Status(client.Asked(l.ctx))
		return statusMsg{s, err}
	}
}

// send starts a run with a message.
func (l *link) send(t Thread, text, model, otid string) *feed[api.Message] {
	mode, effort := l.mode, l.effort
	return startFeed(l.ctx, l.wg, func(ctx context.Context) iter.Seq2[api.Message, error] {
		return l.backend.Send(client.WithEffort(client.InMode(ctx, mode), effort), t, text, model, otid)
	})
}

// answer answers what waits for a person.
func (l *link) answer(t Thread, req api.AnswerRequest, model string) *feed[api.Message] {
	mode, effort := l.mode, l.effort
	return startFeed(l.ctx, l.wg, func(ctx context.Context) iter.Seq2[api.Message, error] {
		return l.backend.Answer(client.WithEffort(client.InMode(ctx, mode), effort), t, req, model)
	})
}

// follow reads a run from where its messages were last seen.
func (l *link) follow(run string, seq int64) *feed[api.Message] {
	return startFeed(l.ctx, l.wg, func(ctx context.Context) iter.Seq2[api.Message, error] {
		return l.backend.Follow(ctx, run, seq)
	})
}

func (l *link) cancel(t Thread, run string) tea.Cmd {
	return func() tea.Msg { return cancelMsg{l.backend.Cancel(l.ctx, t, run)} }
}
