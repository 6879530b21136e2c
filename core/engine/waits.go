package engine

import (
	"cmp"

	"loci/core"
)

// noteWait remembers what a run waits for, as its events tell it. The wait is over with the next event that is no notice.
func (e *Engine) noteWait(j *job, last core.Event) {
	waits := ""
	if n, ok := last.Body.(core.Notice); ok {
		if !n.Waits() {
			return
		}
		waits = n.Text
	}
	e.setWait(j, waits)
}

// setWait is called by the one goroutine that appends to the run's log.
func (e *Engine) setWait(j *job, waits string) {
	if waits == j.waits {
		return
	}
	e.mu.Lock()
	j.waits = waits
	e.mu.Unlock()
}

// Waits says what a run that has not ended waits for: the run before it, a provider, or a client with its key. It is empty for
// one that is at work.
func (e *Engine) Waits(id core.RunID) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.active[id]
	if j == nil {
		return ""
	}
	if l := e.lanes[j.run.Conversation]; l != nil && l.current != nil && l.current != j {
		return "The run before it in this conversation goes first: " + string(l.current.run.ID)
	}
	return j.waits
}

// waitForClient tells, once, that the run goes on when a client comes with what is missing; without an error it does.
func (e *Engine) waitForClient(j *job, why error) {
	if why == nil {
		e.setWait(j, "")
		return
	}
	text := "This run waits for a client that can reach its model (" + why.Error() + "). Open a chat where that is set: " +
		cmp.Or(core.HintOf(why), "the key and the address") + ". To end it: loci runs cancel " + string(j.run.ID)
	if j.waits == "" {
		e.appendEvents(j, []core.Event{{Body: core.Notice{Kind: core.NoticeWaiting, Text: text}}})
	}
}
