package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"loci/core"
)

// Bounds of what running lines ask.
const (
	MaxQuestions = 5 // of one line
	AskTime      = 60 * time.Second
)

// Scope says for how long a person allows what a running line asks.
type Scope string

// The scopes.
const (
	ScopeNo      Scope = "no"
	ScopeOnce    Scope = "once" // to this line, to its end
	ScopeSession Scope = "session"
	ScopeFolder  Scope = "folder"
)

// Person is whoever can be asked.
type Person interface {
	// Attends reports whether somebody is there who sees what lines of a client's run ask.
	Attends(c core.Client) bool
	// Allowed reports whether rules of permission, as they stand now, allow a host to such lines.
	Allowed(c core.Client, host string) bool
	// Keep keeps a rule that allows a host to such lines: for the session, also that of the client that answers, or the folder.
	Keep(c, answering core.Client, host string, scope Scope) error
}

// Question is what a running line asks a person.
type Question struct {
	ID      string
	Job     Job
	Host    core.HostAsk
	Lasting bool // it can be allowed for longer than this line
	AskedAt time.Time
	Until   time.Time
}

// question is one in the registry. It goes when it is answered, when its time is over, and when nobody waits for it any more.
type question struct {
	Question
	of      *entry
	waiting int           // who wait for the answer
	taken   bool          // somebody is answering
	done    chan struct{} // closed when answer is there
	answer  Scope
}

// Line is a job that runs, as its own work sees it.
type Line struct {
	registry *Registry
	entry    *entry
}

// Ask asks a person for a host, while the line waits and its time does not run. Several who ask for the same share one question.
// Refused says why the line does not reach it; empty: it does.
func (l Line) Ask(ctx context.Context, host core.HostAsk, lasting bool) (refused string, final bool) {
	r, client := l.registry, l.entry.job.Client
	if r.cfg.Person == nil || !r.cfg.Person.Attends(client) {
		return "no rule allows it", false
	}
	const enough = "no rule allows it, and the person was asked for enough other hosts"
	if r.askedEnough(l.entry, host) {
		return enough, false
	}
	if lasting && r.cfg.Person.Allowed(client, host.Host) {
		return "", false
	}
	q, ok := r.join(l.entry, host, lasting)
	if !ok {
		return enough, false
	}
	timer := time.NewTimer(time.Until(q.Until))
	defer timer.Stop()
	refused = "the person did not answer"
	select {
	case <-q.done:
		if q.answer == ScopeNo {
			return "the person does not allow it", true
		}
		return "", false
	case <-timer.C:
	case <-ctx.Done():
		refused = "the line did not wait for the person's answer"
	}
	r.leave(q)
	return refused, false
}

// askedEnough reports whether a line may not ask one more question.
func (r *Registry) askedEnough(e *entry, host core.HostAsk) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sameLocked(e, host) == nil && e.asked >= MaxQuestions
}

// sameLocked is the question that asks for a host already; nil: none does.
func (r *Registry) sameLocked(e *entry, host core.HostAsk) *question {
	for _, q := range r.questions {
		if q.of == e && q.Host.Host == host.Host {
			return q
		}
	}
	return nil
}

// join adds one who waits to a question, which is new if nobody asks it yet.
func (r *Registry) join(e *entry, host core.HostAsk, lasting bool) (*question, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q := r.sameLocked(e, host); q != nil {
		q.waiting++
		return q, true
	}
	if e.asked >= MaxQuestions || e.job.Ended() {
		return nil, false
	}
	now := time.Now() // as its timers have it
	q := &question{
		Question: Question{
			ID: "question-" + strings.ToLower(rand.Text()[:12]), Job: e.job, Host: host, Lasting: lasting, AskedAt: now,
			Until: now.Add(AskTime),
		},
		of: e, waiting: 1, done: make(chan struct{}),
	}
	r.questions[q.ID] = q
	e.asked++
	e.pauseLocked()
	r.changedLocked(e)
	return q, true
}

// leave ends a wait that brought no answer.
func (r *Registry) leave(q *question) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.waiting--; q.waiting == 0 {
		r.dropLocked(q)
	}
}

func (r *Registry) dropLocked(q *question) {
	if r.questions[q.ID] == q {
		delete(r.questions, q.ID)
		q.of.goOnLocked()
		r.changedLocked(q.of)
	}
}

// pauseLocked stops the time of a line while a person is asked.
func (e *entry) pauseLocked() {
	if e.open++; e.open == 1 && e.limit.Stop() {
		e.left = time.Until(e.until)
	}
}

// goOnLocked lets it run again.
func (e *entry) goOnLocked() {
	if e.open--; e.open == 0 && !e.job.Ended() {
		e.giveLocked(e.left)
	}
}

// giveLocked gives a line so much time from now on, or from when nobody is asked any more.
func (e *entry) giveLocked(d time.Duration) {
	e.left, e.until = d, time.Now().Add(d)
	if e.open == 0 {
		e.limit.Reset(d)
	}
}

// Questions returns what lines of an agent ask, or of all, the oldest first.
func (r *Registry) Questions(agent core.AgentID) []Question {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Question
	for _, q := range r.questions {
		if !q.taken && (agent == "" || q.Job.Agent == agent) {
			all = append(all, q.Question)
		}
	}
	slices.SortFunc(all, func(a, b Question) int { return cmp.Or(a.AskedAt.Compare(b.AskedAt), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Answer answers a question. The first answer counts; what it allows for longer than the line is kept before the line goes on.
func (r *Registry) Answer(id string, scope Scope, answering core.Client) error {
	r.mu.Lock()
	q := r.questions[id]
	switch {
	case q == nil || q.taken:
		r.mu.Unlock()
		return core.E(core.Conflict, "nothing asks this any more: it was answered, or the line went on without an answer")
	case (scope == ScopeSession || scope == ScopeFolder) && !q.Lasting:
		r.mu.Unlock()
		return core.E(core.Invalid, "a rule asks about %s each time: it can only be allowed this once", q.Host.Host)
	}
	q.taken = true
	r.mu.Unlock()
	var err error
	if scope == ScopeSession || scope == ScopeFolder {
		err = r.cfg.Person.Keep(q.Job.Client, answering, q.Host.Host, scope)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.taken = false; err != nil {
		return err
	}
	q.answer = scope
	close(q.done)
	r.dropLocked(q)
	return nil
}
