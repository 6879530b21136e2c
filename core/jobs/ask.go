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
	SettingsTime = 5 * time.Minute // for settings of git: the line has ended by then, and only its agent waits
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
	// Opens reports whether rules of permission, as they stand now, open something to such lines.
	Opens(c core.Client, o core.Opening) bool
	// KeepOpen keeps the rules that open it, as Keep does.
	KeepOpen(c, answering core.Client, o core.Opening, scope Scope) error
}

// Question is what a running line asks a person: for a host, or to open something else to it.
type Question struct {
	ID   string
	Job  Job
	Host core.HostAsk
	Open *core.Opening // nil: it asks for the host, or for settings
	// Settings of git that the line left behind, all of which are allowed or none.
	Settings []core.JobSetting
	Lasting  bool // it can be allowed for longer than this line
	AskedAt  time.Time
	Until    time.Time
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

// Behind reports whether the line goes on in the background.
func (l Line) Behind() bool {
	l.registry.mu.Lock()
	defer l.registry.mu.Unlock()
	return l.entry.job.Background
}

// Ask asks a person for a host, while the line waits and its time does not run. Several who ask for the same share one question.
// Refused says why the line does not reach it; empty: it does.
func (l Line) Ask(ctx context.Context, host core.HostAsk, lasting bool) (refused string, final bool) {
	r, client := l.registry, l.entry.job.Client
	if r.cfg.Person == nil || !r.cfg.Person.Attends(client) {
		return noRule, false
	}
	const enough = noRule + ", and the person was asked for enough other hosts"
	if r.askedEnough(l.entry, host) {
		return enough, false
	}
	if lasting && r.cfg.Person.Allowed(client, host.Host) {
		return "", false
	}
	q, ok := r.join(l.entry, Question{Host: host, Lasting: lasting})
	if !ok {
		return enough, false
	}
	return r.await(ctx, q)
}

// AskSettings asks a person for settings of git that the line has left behind, while its time does not run. It is asked once of a
// line. Refused says why they are not written, as for Ask.
func (l Line) AskSettings(ctx context.Context, settings []core.JobSetting) (refused string, final bool) {
	r := l.registry
	if r.cfg.Person == nil || !r.cfg.Person.Attends(l.entry.job.Client) {
		return noRule, false
	}
	q, ok := r.join(l.entry, Question{Settings: settings})
	if !ok {
		return noRule, false
	}
	return r.await(ctx, q)
}

// noRule is why something stays closed about which nobody can be asked.
const noRule = "no rule allows it"

// await waits for the answer to a question.
func (r *Registry) await(ctx context.Context, q *question) (refused string, final bool) {
	timer := time.NewTimer(time.Until(q.Until))
	defer timer.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for away := 0; refused == ""; {
		select {
		case <-q.done:
			if q.answer == ScopeNo {
				return "the person does not allow it", true
			}
			return "", false
		case <-timer.C:
			refused = "the person did not answer"
		case <-ctx.Done():
			refused = "the line did not wait for the person's answer"
		case <-look.C:
			if away++; r.cfg.Person.Attends(q.Job.Client) {
				away = 0
			}
			if away == mostAway {
				refused = "nobody is there any more to be asked"
			}
		}
	}
	r.leave(q)
	return refused, false
}

// While a question is asked it is looked now and then whether anybody is still there to answer it. A chat may connect anew.
const (
	lookEvery = 2 * time.Second
	mostAway  = 3 // looks in a row at which nobody was
)

// AskOpening asks a person to open something that the sandbox kept from the line, as Ask does for a host. Refused says why it
// stays closed; empty: it is open to this line from now on.
func (l Line) AskOpening(ctx context.Context, o core.Opening) (refused string) {
	r, client := l.registry, l.entry.job.Client
	if len(o.Rules) > 0 && r.cfg.Person != nil && r.cfg.Person.Opens(client, o) {
		return ""
	}
	if !o.Asks || r.cfg.Person == nil || !r.cfg.Person.Attends(client) {
		return noRule
	}
	q, ok := r.join(l.entry, Question{Open: &o, Lasting: len(o.Rules) > 0})
	if !ok {
		return "the person was asked enough already"
	}
	refused, _ = r.await(ctx, q)
	return refused
}

// askedEnough reports whether a line may not ask one more question.
func (r *Registry) askedEnough(e *entry, host core.HostAsk) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sameLocked(e, &Question{Host: host}) == nil && e.asked >= MaxQuestions
}

// sameLocked is the question that asks for the same already; nil: none does.
func (r *Registry) sameLocked(e *entry, as *Question) *question {
	for _, q := range r.questions {
		switch {
		case q.of != e || (q.Open == nil) != (as.Open == nil) || q.Settings != nil || as.Settings != nil: // those are asked for once
		case q.Open == nil && q.Host.Host == as.Host.Host, q.Open != nil && q.Open.Same(*as.Open):
			return q
		}
	}
	return nil
}

// join adds one who waits to a question, which is new if nobody asks it yet.
func (r *Registry) join(e *entry, as Question) (*question, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q := r.sameLocked(e, &as); q != nil {
		q.waiting++
		return q, true
	}
	if as.Settings == nil && e.asked >= MaxQuestions || e.job.Ended() {
		return nil, false
	}
	now := time.Now() // as its timers have it
	within := AskTime
	if as.Settings != nil {
		within = SettingsTime
	}
	as.ID, as.Job, as.AskedAt, as.Until = "question-"+strings.ToLower(rand.Text()[:12]), e.job, now, now.Add(within)
	q := &question{Question: as, of: e, waiting: 1, done: make(chan struct{})}
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
		return core.E(core.Invalid, "%s can only be allowed this once", q.what())
	}
	q.taken = true
	r.mu.Unlock()
	var err error
	switch keeps := scope == ScopeSession || scope == ScopeFolder; {
	case keeps && q.Open != nil:
		err = r.cfg.Person.KeepOpen(q.Job.Client, answering, *q.Open, scope)
	case keeps:
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

// what is asked for, in a word.
func (q *Question) what() string {
	switch {
	case q.Settings != nil:
		return "a setting of git is written and then stands: it"
	case q.Open == nil:
		return q.Host.Host
	}
	return string(q.Open.Kind)
}
