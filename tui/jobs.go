package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/panel"
	"loci/tui/transcript"
)

// jobBackend is the shell lines that run.
type jobBackend interface {
	// Jobs returns those of an agent, with the last rows that each has written.
	Jobs(ctx context.Context, agent string, tail int) ([]api.Job, error)
	Job(ctx context.Context, id string) (api.Job, error)
	StopJob(ctx context.Context, id string) (api.Job, error)
	SendJobBack(ctx context.Context, id string) (api.Job, error)
}

// What a line writes is looked at twice a second while the run waits for it.
const (
	lookEvery = 500 * time.Millisecond
	tailRows  = 3
)

// jobs is the shell lines of the open agent, and the calls of tools that somebody wrote.
type jobs struct {
	ui      *display
	conv    *conversation
	backend jobBackend
	now     func() time.Time

	running map[string]api.Job // those that the run waits for, by call
	looked  time.Time
	looking bool
}

// look asks what the lines write that a run waits for.
func (j *jobs) look(t *turn) tea.Cmd {
	if !t.runsLine() {
		j.running = nil
		return nil
	}
	if j.looking || j.now().Sub(j.looked) < lookEvery {
		return nil
	}
	j.looking = true
	agent := j.conv.thread.Agent
	return func() tea.Msg {
		all, err := j.backend.Jobs(j.ui.ctx, agent, tailRows)
		return loadedMsg{func() tea.Cmd {
			j.looking, j.looked = false, j.now()
			if err != nil {
				return nil // it is asked again
			}
			j.running = map[string]api.Job{}
			for _, job := range all {
				if job.EndedAt == nil && !job.Background {
					j.running[job.ToolCallID] = job
				}
			}
			return nil
		}}
	}
}

// runsLine reports whether a run may wait for a shell line, or for a tool that somebody wrote, whose packages are installed first.
func (t *turn) runsLine() bool {
	for _, c := range t.calls {
		if !c.Done {
			return true
		}
	}
	return false
}

// rows is what the line of a call has written last.
func (j *jobs) rows(call string) []string {
	job, ok := j.running[call]
	if !ok || job.Output == "" {
		return nil
	}
	var rows []string
	for row := range strings.SplitSeq(job.Output, "\n") {
		rows = append(rows, transcript.Short(j.ui.theme.Dim.Render("  │ "+transcript.OneLine(row)), j.ui.width()))
	}
	return rows
}

// sendBack lets the line go on in the background that the run waits for. Without one the key is the prompt's.
func (m *Model) sendBack() (cmd tea.Cmd, taken bool) {
	if m.turn == nil {
		return nil, false
	}
	for _, c := range m.turn.calls {
		if job, ok := m.jobs.running[c.ID]; ok {
			return m.jobs.sendBack(job), true
		}
	}
	return nil, false
}

func (j *jobs) sendBack(job api.Job) tea.Cmd {
	send := func(ctx context.Context) (api.Job, error) { return j.backend.SendJobBack(ctx, job.ID) }
	return load(j.ui, send, func(job api.Job) tea.Cmd {
		delete(j.running, job.ToolCallID)
		j.ui.notice("goes on in the background as " + job.ID + "; /jobs shows and stops it")
		return nil
	})
}

// open is /jobs.
func (j *jobs) open() tea.Cmd {
	agent := j.conv.thread.Agent
	list := func(ctx context.Context) ([]api.Job, error) { return j.backend.Jobs(ctx, agent, 0) }
	return load(j.ui, list, func(all []api.Job) tea.Cmd {
		l := &panel.List{Theme: j.ui.theme, Title: "Shell lines of " + j.conv.name(), Empty: "none runs"}
		for _, job := range all {
			line := transcript.OneLine(transcript.Reveal(job.Command))
			l.Entries = append(l.Entries, panel.Entry{
				Title: transcript.Short(line, j.ui.width()/2), Note: j.state(job), Current: job.EndedAt == nil,
				Whole: line + dot + j.state(job),
			})
		}
		l.Select(len(all) - 1)
		j.ui.push(l, func(a panel.Action) tea.Cmd { return j.show(all[a.Index].ID) })
		return nil
	})
}

// state is how a line stands, in a few words.
func (j *jobs) state(job api.Job) string {
	if job.EndedAt != nil {
		return transcript.OneLine(job.Ended)
	}
	text := "runs"
	if job.Background {
		text = "in the background"
	}
	return text + ", " + j.now().Sub(job.BeganAt.Time).Round(time.Second).String()
}

// show opens what a line has written.
func (j *jobs) show(id string) tea.Cmd {
	get := func(ctx context.Context) (api.Job, error) { return j.backend.Job(ctx, id) }
	return load(j.ui, get, func(job api.Job) tea.Cmd {
		j.ui.push(j.text(job), func(panel.Action) tea.Cmd { return j.stop(id) })
		return nil
	})
}

// text is a line with what it has written, and the key that stops it.
func (j *jobs) text(job api.Job) *panel.Text {
	head := transcript.Reveal(job.Command) + "\n" + j.state(job) + " · " + job.ID + "\n\n"
	text := &panel.Text{Theme: j.ui.theme, Title: "Shell line", End: true, Draw: func(width int) string {
		return wrapTo(transcript.Clean(head+job.Output), width)
	}}
	if job.EndedAt != nil {
		return text
	}
	text.Foot = "s stops it"
	text.Keys = func(msg tea.KeyPressMsg) (panel.Action, bool) {
		return panel.Action{Kind: panel.Choose}, msg.String() == "s"
	}
	return text
}

func (j *jobs) stop(id string) tea.Cmd {
	stop := func(ctx context.Context) (api.Job, error) { return j.backend.StopJob(ctx, id) }
	return load(j.ui, stop, func(job api.Job) tea.Cmd {
		j.ui.closePanels()
		j.ui.push(j.text(job), nil)
		return nil
	})
}
