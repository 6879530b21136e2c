package jobs

import (
	"cmp"
	"context"
	"slices"
	"time"

	"loci/core"
)

// List returns the jobs of an agent, or of all, the oldest first.
func (r *Registry) List(agent core.AgentID) []Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Job
	for _, e := range r.jobs {
		if agent == "" || e.job.Agent == agent {
			all = append(all, e.job)
		}
	}
	slices.SortFunc(all, func(a, b Job) int { return cmp.Or(a.BeganAt.Compare(b.BeganAt), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Get returns a job.
func (r *Registry) Get(id string) (Job, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.findLocked(id)
	if err != nil {
		return Job{}, err
	}
	return e.job, nil
}

// See returns a job of a conversation for its agent to see, after it has ended or the time is over, whichever is first. Whose
// end was seen is not told of it.
func (r *Registry) See(ctx context.Context, conversation core.ConversationID, id string, wait time.Duration) (Job, error) {
	r.mu.Lock()
	e, err := r.findLocked(id)
	if err == nil && e.job.Conversation != conversation {
		err = unknown(id)
	}
	r.mu.Unlock()
	if err != nil {
		return Job{}, err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-e.done:
	case <-timer.C:
	case <-ctx.Done():
		return Job{}, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	j := e.job
	if j.Ended() {
		if e.seen {
			j.result.Tells = nil
		}
		e.seen = true
		e.quiet()
	}
	return j, nil
}

// Stop stops a job and returns it when it has ended; one that has ended already stays as it is.
func (r *Registry) Stop(ctx context.Context, id string) (Job, error) {
	r.mu.Lock()
	e, err := r.findLocked(id)
	if err == nil && !e.job.Ended() {
		e.job.Stopped = true
		e.cancel(core.E(core.Cancelled, "the job was stopped"))
	}
	r.mu.Unlock()
	if err != nil {
		return Job{}, err
	}
	select {
	case <-e.done:
	case <-ctx.Done():
		return Job{}, context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return e.job, nil
}

// Behind sends a job to the background: its call returns, and it goes on.
func (r *Registry) Behind(id string) (Job, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.findLocked(id)
	switch {
	case err != nil:
		return Job{}, err
	case e.job.Background:
		return e.job, nil
	case e.job.Ended():
		return Job{}, core.E(core.Conflict, "the job %s has ended", id)
	case e.stays:
		return Job{}, core.E(core.Conflict, "a call of a tool can't go on in the background").WithHint("wait for it, or stop it")
	}
	if err := r.roomLocked(); err != nil {
		return Job{}, err
	}
	e.job.Background = true
	e.giveLocked(MaxBehind)
	close(e.behind)
	r.changedLocked(e)
	return e.job, nil
}

// Running is how many jobs run.
func (r *Registry) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, e := range r.jobs {
		if !e.job.Ended() {
			n++
		}
	}
	return n
}

// Forget drops the jobs that have ended, with what they wrote.
func (r *Registry) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, e := range r.jobs {
		if e.job.Ended() && e.job.Background {
			delete(r.jobs, id)
		}
	}
}

func (r *Registry) findLocked(id string) (*entry, error) {
	if e := r.jobs[id]; e != nil {
		return e, nil
	}
	return nil, unknown(id)
}

func unknown(id string) error {
	return core.E(core.NotFound, "there is no such job: %.40q", id).
		WithHint("jobs end with the daemon, and of old ones only the newest are remembered")
}
