package service

import (
	"cmp"
	"context"
	"errors"
	"time"

	"loci/core"
	"loci/core/await"
	"loci/core/engine"
)

// registerWithin is how long registering waits for a provider, where nothing else is said.
const registerWithin = 40 * time.Millisecond

// tellModel says which model answers the next run: the one it names, the conversation's, the agent's, or for an agent
// without one of its own the first real one there is. It is sure once it is known that this one can be asked. It reports
// whether more may become known by waiting.
func (c *Clients) tellModel(ctx, patience context.Context, client core.Client, in Open, o *OpenResult) (more bool) {
	override := cmp.Or(in.Run, o.Conversation.Model)
	choice, err := await.Within(ctx, patience, &c.asking, func(ctx context.Context) (engine.Choice, error) {
		return c.Engine.Choose(ctx, o.Agent, override, client.Env)
	})
	switch {
	case err == nil:
		o.Model, o.Sure = choice.Info, true
		o.Model.Handle = choice.Handle
	case choice.Info.ContextWindow > 0:
		o.Model = choice.Info
	case !o.Agent.ModelAuto || override != "":
		o.Model, _ = c.models.remembered(cmp.Or(override, o.Agent.Model))
	case !errors.Is(err, await.ErrNotYet):
		o.Unreached = err
		o.Model.Handle = o.Agent.Model
	}
	return errors.Is(err, await.ErrNotYet)
}

// tellUse says how full the window is, unless more may become known of the model and its size isn't. It reads the store
// only, and not for long: a chat can ask again without hurry.
func (c *Clients) tellUse(ctx context.Context, more bool, o *OpenResult) {
	if more && o.Model.ContextWindow <= 0 && o.Agent.Settings.ContextWindow <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.RegisterWithin/4)
	defer cancel()
	if used, window, err := c.Engine.Use(ctx, o.Conversation.ID, o.Model); err == nil {
		o.Used, o.Window = used, window
	}
}
