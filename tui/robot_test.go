package tui

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/tui/panel"
	"loci/tui/term"
	"loci/tui/transcript"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// robot drives a model without a terminal: it runs the commands and feeds their
// results back. What would be printed stays in the model's items.
type robot struct {
	t    *testing.T
	m    *Model
	f    *fake
	msgs chan tea.Msg
	ctx  context.Context
	now  time.Time
}

func newRobot(t *testing.T, f *fake, width, height int, opts ...func(*Options)) *robot {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "tty")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	out := term.NewOutput(file)
	var wg sync.WaitGroup
	o := Options{Backend: f, NoColor: true}
	for _, opt := range opts {
		opt(&o)
	}
	r := &robot{t: t, f: f, msgs: make(chan tea.Msg, 256), ctx: ctx, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	o.now = func() time.Time { return r.now }
	r.m = newModel(ctx, &wg, o, out, width, height)
	t.Cleanup(func() {
		cancel()
		_ = out.Close()
		wg.Wait()
		_ = file.Close()
	})
	r.run(r.m.Init())
	return r
}

func (r *robot) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				r.run(c)
			}
		default:
			select {
			case r.msgs <- msg:
			case <-r.ctx.Done():
			}
		}
	}()
}

func (r *robot) feed(msg tea.Msg) {
	_, cmd := r.m.Update(msg)
	r.m.View()
	r.run(cmd)
}

// until feeds incoming messages until ok returns true.
func (r *robot) until(what string, ok func() bool) {
	r.t.Helper()
	limit := time.After(time.Minute)
	look := time.NewTicker(5 * time.Millisecond) // for changes that come without a message
	defer look.Stop()
	for !ok() {
		select {
		case <-look.C:
		case msg := <-r.msgs:
			r.feed(msg)
		case <-limit:
			r.t.Fatalf("%s did not happen. Status: %s\nitems:\n%s", what, r.status(), r.said())
		}
	}
}

func (r *robot) connect() *robot {
	r.t.Helper()
	r.until("the connection", func() bool {
		return r.m.link.connected && r.m.conv.contextMost > 0 && r.m.conv.contextUsed > 0 && r.m.link.daemonPID > 0 && r.f.watches() > 0 &&
			r.m.timeline.opened == r.m.conv.thread
	})
	return r
}

func (r *robot) key(k tea.Key) { r.feed(tea.KeyPressMsg(k)) }

func (r *robot) enter() { r.key(tea.Key{Code: tea.KeyEnter}) }

// holds checks the prompt's text.
func (r *robot) holds(text string) {
	r.t.Helper()
	if got := r.m.prompt.Text(); got != text {
		r.t.Errorf("the prompt holds %q, want %q", got, text)
	}
}

func (r *robot) typ(text string) {
	for _, c := range text {
		r.key(tea.Key{Code: c, Text: string(c)})
	}
}

func (r *robot) say(text string) {
	r.typ(text)
	r.enter()
}

func (r *robot) idle() {
	r.t.Helper()
	r.until("the end of the turn", func() bool { return r.m.turn == nil })
}

func (r *robot) status() string { return ansi.Strip(r.m.status()) }

// said is what was printed, one item after another.
func (r *robot) said() string {
	var b strings.Builder
	for _, it := range r.m.ui.items {
		b.WriteString(ansi.Strip(transcript.NewRenderer(r.m.ui.theme, 200).Item(it, false)) + "\n")
	}
	return b.String()
}

// view is the screen as text, without styles.
func (r *robot) view() string {
	v := ansi.Strip(r.m.View().Content)
	rows := strings.Split(v, "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return strings.Join(rows, "\n")
}

func (r *robot) top() panel.Panel {
	top, _ := r.m.ui.top()
	return top.Panel
}

// keyOf is the key of a letter.
func keyOf(c rune) tea.Key { return tea.Key{Code: c, Text: string(c)} }
