package service

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"loci/core"
	"loci/core/engine"
)

// registerWithin is how long registering waits for a provider, where nothing else is said.
const registerWithin = 40 * time.Millisecond

// askMost bounds what goes on asking after nobody waits for it.
const askMost = 10 * time.Second

// errNotYet is why there is no answer: whoever is asked has not given it yet.
var errNotYet = errors.New("there is no answer yet")

// asks are questions to providers that may outlive the request they were asked for: what is answered late is remembered by
// whoever answers, for the run that follows.
type asks struct {
	wg   sync.WaitGroup
	mu   sync.Mutex // guards stop and over
	stop map[*context.CancelFunc]bool
	over bool
}

// start asks one question in a goroutine that close waits for; false after close.
func (a *asks) start(ctx context.Context, ask func(context.Context)) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askMost)
	if a.stop == nil {
		a.stop = map[*context.CancelFunc]bool{}
	}
	a.stop[&cancel] = true
	a.wg.Go(func() {
		defer a.done(&cancel)
		ask(ctx)
	})
	return true
}

func (a *asks) done(cancel *context.CancelFunc) {
	(*cancel)()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.stop, cancel)
}

// close ends all questions and waits for them.
func (a *asks) close() {
	a.mu.Lock()
	a.over = true
	for cancel := range a.stop {
		(*cancel)()
	}
	a.mu.Unlock()
	a.wg.Wait()
}

// within asks and returns the answer, or errNotYet where it is not there before patience, a context below ctx, is over; the
// question goes on then.
func within[T any](ctx, patience context.Context, a *asks, ask func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	answered := make(chan result, 1)
	started := a.start(ctx, func(asking context.Context) {
		value, err := ask(asking)
		answered <- result{value, err}
	})
	if !started {
		return none, core.ErrShutdown
	}
	select {
	case r := <-answered:
		return r.value, r.err
	case <-patience.Done():
		if err := ctx.Err(); err != nil {
			return none, err
		}
		return none, errNotYet
	}
}

// tellModel says which model answers the next run: the one it names, the conversation's, the agent's, or for an agent
// without one of its own the first real one there is. It is sure once it is known that this one can be asked. It reports
// whether more may become known by waiting.
func (c *Clients) tellModel(ctx, patience context.Context, client core.Client, in Open, o *Opened) (more bool) {
	override := cmp.Or(in.Run, o.Conversation.Model)
	choice, err := within(ctx, patience, &c.asking, func(ctx context.Context) (engine.Choice, error) {
		return c.Engine.Choose(ctx, o.Agent, override, client.Env)
	})
	switch {
	case err == nil:
		o.Model, o.Sure = choice.Info, true
		o.Model.Handle = choice.Handle
	case !o.Agent.ModelAuto || override != "":
		o.Model, _ = c.models.remembered(cmp.Or(override, o.Agent.Model))
	case !errors.Is(err, errNotYet):
		o.Unreached = err
		o.Model.Handle = o.Agent.Model
	}
	return errors.Is(err, errNotYet)
}

// tellUse says how full the window is, unless more may become known of the model and its size isn't. It reads the store
// only, and not for long: a chat can ask again without hurry.
func (c *Clients) tellUse(ctx context.Context, more bool, o *Opened) {
	if more && o.Model.ContextWindow <= 0 && o.Agent.Settings.ContextWindow <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.RegisterWithin/4)
	defer cancel()
	if used, window, err := c.Engine.Use(ctx, o.Conversation.ID, o.Model); err == nil {
		o.Used, o.Window = used, window
	}
}
