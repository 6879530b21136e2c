package prompt

import (
	"fmt"
	"slices"
	"strings"

	"loci/tui/term"
	"loci/tui/transcript"
)

// A queued message that is being edited is taken out of the queue, so that it
// isn't sent in the meantime, and goes back to its old position afterwards.
// none means no position.
const none = -1

// Enqueue adds the text taken last. If it came from the queue, it returns to
// its position there.
func (p *Prompt) Enqueue(text string) {
	at := len(p.Queue)
	if p.from != none {
		at = min(p.from, at)
	}
	p.Queue, p.from = slices.Insert(p.Queue, at, text), none
}

// Next takes the oldest message of the queue.
func (p *Prompt) Next() (string, bool) {
	if len(p.Queue) == 0 {
		return "", false
	}
	text := p.Queue[0]
	p.Queue = p.Queue[1:]
	if p.place > 0 {
		p.place--
	}
	return text, true
}

// queueNext reports whether ↑ moves a queued message into the editor.
func (p *Prompt) queueNext() bool {
	if p.place != none {
		return p.place > 0
	}
	return len(p.Queue) > 0 && (p.Empty() || p.at == len(p.history))
}

// olderQueued edits the message before the current one, or else the newest.
func (p *Prompt) olderQueued() {
	at := len(p.Queue) - 1
	if p.place == none {
		p.put(p.Text()) // keeps what was being typed in the history
		p.draft = p.Text()
	} else {
		at = p.place - 1
		p.putBack()
	}
	p.edit(at)
}

// newerQueued edits the message after the current one, or else what was being
// typed before.
func (p *Prompt) newerQueued() {
	at := p.place
	if p.putBack() {
		at++
	}
	if at < len(p.Queue) {
		p.edit(at)
		return
	}
	p.Set(p.draft)
}

func (p *Prompt) edit(at int) {
	p.Set(p.Queue[at])
	p.Queue, p.place = slices.Delete(slices.Clone(p.Queue), at, at+1), at
}

// putBack returns the message being edited to its position, unless it was
// emptied.
func (p *Prompt) putBack() bool {
	text, at := p.Text(), min(p.place, len(p.Queue))
	p.place = none
	if strings.TrimSpace(text) == "" {
		return false
	}
	p.Queue = slices.Insert(slices.Clone(p.Queue), at, text)
	return true
}

func (p *Prompt) queueView() []string {
	var rows []string
	for i, q := range p.Queue {
		if i == queueRows-1 && len(p.Queue) > queueRows {
			rows = append(rows, p.theme.Dim.Render(transcript.Short(fmt.Sprintf("⋯ and %d more", len(p.Queue)-i), p.width)))
			break
		}
		rows = append(rows, p.theme.Dim.Render(transcript.Short("⋯ "+transcript.OneLine(q), p.width)))
	}
	hint := ""
	switch {
	case len(p.list()) > 0:
	case p.place != none:
		hint = fmt.Sprintf("  editing %d of %d · ↑↓", p.place+1, len(p.Queue)+1)
	case p.queueNext():
		hint = "  ↑ edits"
	}
	if len(rows) > 0 && hint != "" {
		rows[len(rows)-1] += p.theme.Dim.Render(transcript.Short(hint, p.width-term.Width(rows[len(rows)-1])))
	}
	return rows
}
