package engine

import (
	"context"
	"slices"

	"loci/core"
)

// lane is the one place where a conversation's runs execute, in order. It has a goroutine only while it has work.
type lane struct {
	accept  chan struct{} // a token: held while a run of this lane is accepted, so that order is the order of commits
	queue   []*job
	queued  chan struct{} // filled when a run enters the queue, for a resumed run that waits for its key
	current *job
	held    bool    // Exclusive works on the conversation
	upkeep  *upkeep // what it does while nobody wants anything; it never begins while anybody holds or waits for accept
	users   int     // who holds or waits for accept; the lane is dropped when nobody needs it
}

// job is an accepted run until it is over.
type job struct {
	run    core.Run
	env    core.Env
	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the run is over, or left for the next start by a shutdown
	over   chan struct{} // closed before, when the end is a fact and the window is still made smaller
	seq    int64         // of the last event appended
	waits  string        // what it waits for, under the engine's lock; empty: for nothing
	step   *core.Step    // step 1, when it was recorded as pending at acceptance
	resume bool          // taken up after a restart
	ratio  float64       // true tokens to estimated ones, where its run left a window that is to be summarised ahead; 0: it did not
}

// enter returns the lane of a conversation with its accept token taken; leave gives it back. behind says that the caller
// may take a place behind a run that is over but for its window.
func (e *Engine) enter(ctx context.Context, conv core.ConversationID, behind bool) (*lane, error) {
	if err := e.loud(ctx); err != nil {
		return nil, err
	}
	if e.closed {
		e.mu.Unlock()
		return nil, core.ErrShutdown
	}
	l := e.laneLocked(conv)
	l.users++
	e.mu.Unlock()
	select {
	case l.accept <- struct{}{}:
		if err := e.letPass(ctx, l, behind); err != nil {
			e.leave(conv, l)
			return nil, err
		}
		return l, nil
	case <-ctx.Done():
		e.mu.Lock()
		l.users--
		e.dropLocked(conv, l)
		e.mu.Unlock()
		return nil, ctx.Err()
	}
}

// letPass ends the lane's upkeep, and waits for a run whose end is a fact already but that has not left its lane, so that a
// caller that has just seen the run finish doesn't get Busy. One that may wait behind it need not.
func (e *Engine) letPass(ctx context.Context, l *lane, behind bool) error {
	e.mu.Lock()
	j, upkeep := l.current, l.upkeep
	e.mu.Unlock()
	if j == nil {
		return upkeep.over(ctx)
	}
	run, err := e.cfg.Store.Runs().Get(ctx, j.run.ID)
	if err != nil || !run.Status.Final() {
		return err
	}
	var over chan struct{}
	if behind {
		over = j.over
	}
	select {
	case <-j.done:
		return nil
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isOver reports whether a job's run is over but for its window.
func (j *job) isOver() bool {
	select {
	case <-j.over:
		return true
	default:
		return false
	}
}

func (e *Engine) leave(conv core.ConversationID, l *lane) {
	<-l.accept
	e.mu.Lock()
	l.users--
	e.dropLocked(conv, l)
	e.mu.Unlock()
}

func (e *Engine) laneLocked(conv core.ConversationID) *lane {
	l := e.lanes[conv]
	if l == nil {
		l = &lane{accept: make(chan struct{}, 1), queued: make(chan struct{}, 1)}
		e.lanes[conv] = l
	}
	return l
}

func (e *Engine) dropLocked(conv core.ConversationID, l *lane) {
	if e.lanes[conv] == l && !l.wanted() && l.upkeep == nil {
		delete(e.lanes, conv)
		e.lessLocked()
	}
}

// wanted reports whether anybody wants anything of a lane.
func (l *lane) wanted() bool { return l.users > 0 || l.current != nil || len(l.queue) > 0 || l.held }

// work executes the lane's runs until none is left, or another goroutine has taken the lane over: the lane is free before
// the end of a run is announced, so that a caller that has just seen the end doesn't get Busy.
func (e *Engine) work(conv core.ConversationID, l *lane) {
	for {
		e.mu.Lock()
		j := l.current
		e.mu.Unlock()
		last := e.execute(j)
		e.mu.Lock()
		l.current = nil
		e.mu.Unlock()
		e.announceEnd(j, last)
		e.mu.Lock()
		if l.current != nil || l.held || len(l.queue) == 0 {
			keepUp := e.keepUpLocked(l, j)
			e.dropLocked(conv, l)
			e.mu.Unlock()
			keepUp()
			return
		}
		l.current, l.queue = l.queue[0], l.queue[1:]
		e.mu.Unlock()
	}
}

// announceEnd appends the last events of a run, takes it out of the registry and wakes whoever waits for it.
func (e *Engine) announceEnd(j *job, last []core.Event) {
	e.appendEvents(j, last)
	e.mu.Lock()
	e.forgetLocked(j)
	e.mu.Unlock()
	e.hub.announce(core.Change{Agent: j.run.Agent, Conversation: j.run.Conversation, Run: j.run.ID})
}

// forgetLocked takes a run that is over out of the registry and wakes whoever waits for it.
func (e *Engine) forgetLocked(j *job) {
	delete(e.active, j.run.ID)
	e.lessLocked()
	j.cancel(nil)
	close(j.done)
	e.hub.changed(j.run.ID)
}

// enqueueLocked registers a run behind everything the lane has, which gets a goroutine if it has none. The engine is not
// closed: a shutdown waits for what began before it.
func (e *Engine) enqueueLocked(l *lane, j *job) {
	e.active[j.run.ID] = j
	if l.current == nil && len(l.queue) == 0 {
		l.current = j
		e.wg.Go(func() { e.work(j.run.Conversation, l) })
		return
	}
	l.queue = append(l.queue, j)
	select {
	case l.queued <- struct{}{}:
	default: // nobody waits for it
	}
}

// Active returns the runs of a conversation that are running or waiting, in order.
func (e *Engine) Active(conv core.ConversationID) []core.RunID {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.lanes[conv]
	if l == nil {
		return nil
	}
	var ids []core.RunID
	if l.current != nil {
		ids = append(ids, l.current.run.ID)
	}
	for _, j := range l.queue {
		ids = append(ids, j.run.ID)
	}
	return ids
}

// Idle reports whether nothing runs or waits.
func (e *Engine) Idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.active) == 0
}

// Cancel asks a run to stop, whether it waits, asks a model or is inside a tool; it returns when the run is over or ctx
// ends. A run that is over is a no-op.
func (e *Engine) Cancel(ctx context.Context, run core.RunID) error {
	e.mu.Lock()
	j := e.active[run]
	if j == nil {
		e.mu.Unlock()
		return e.cancelAfter(ctx, run)
	}
	if l := e.lanes[j.run.Conversation]; l != nil {
		if i := slices.Index(l.queue, j); i >= 0 {
			l.queue = slices.Delete(l.queue, i, i+1)
			e.dropLocked(j.run.Conversation, l)
			e.wg.Go(func() { e.endWaiting(j) })
		}
	}
	e.mu.Unlock()
	j.cancel(core.ErrCancelled)
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cancelAfter is the cancel of a run that is over: it ends what its lane does since.
func (e *Engine) cancelAfter(ctx context.Context, id core.RunID) error {
	run, err := e.cfg.Store.Runs().Get(ctx, id)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if l := e.lanes[run.Conversation]; l != nil {
		l.upkeep.end()
	}
	return nil
}

// endWaiting ends a run that was cancelled before its turn came.
func (e *Engine) endWaiting(j *job) {
	e.announceEnd(j, e.execute(j))
}

// Exclusive runs fn in one transaction while no run of the conversation is active, else Busy.
func (e *Engine) Exclusive(ctx context.Context, conv core.ConversationID, fn func(ctx context.Context, tx core.Store) error) error {
	release, err := e.Hold(ctx, conv)
	if err != nil {
		return err
	}
	defer release()
	return e.cfg.Store.Tx(ctx, fn)
}

// Hold keeps runs of a conversation from starting until release; it is Busy while one is active.
func (e *Engine) Hold(ctx context.Context, conv core.ConversationID) (release func(), err error) {
	l, err := e.hold(ctx, conv)
	if err != nil {
		return nil, err
	}
	return func() { e.letGo(conv, l) }, nil
}

// hold keeps a lane from working until letGo; it is Busy while a run is active.
func (e *Engine) hold(ctx context.Context, conv core.ConversationID) (*lane, error) {
	l, err := e.enter(ctx, conv, false)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	if l.current != nil || len(l.queue) > 0 {
		err := busy(l)
		e.mu.Unlock()
		e.leave(conv, l)
		return nil, err
	}
	l.held = true
	e.mu.Unlock()
	return l, nil
}

func (e *Engine) letGo(conv core.ConversationID, l *lane) {
	e.mu.Lock()
	l.held = false
	e.mu.Unlock()
	e.leave(conv, l)
}

// full is the conflict of a request that finds as many waiting as may wait.
func full(l *lane, waiting int) error {
	err := core.E(core.Busy, "%d messages wait in this conversation already, as many as may: this one was not taken", waiting).
		WithHint("wait for some of them to be answered, or cancel runs: loci runs --active")
	if l.current != nil {
		err.Run = l.current.run.ID
	}
	return err
}

// busy is the conflict of a request that may not wait; it names the run in the way.
func busy(l *lane) error {
	var id core.RunID
	switch {
	case l.current != nil:
		id = l.current.run.ID
	case len(l.queue) > 0:
		id = l.queue[0].run.ID
	}
	err := core.E(
		core.Busy,
		"Cannot send a new message: Another request (run_id=%s) is currently being processed for this conversation. Please "+
			"wait for it to complete.",
		id,
	)
	err.Run = id
	return err
}
