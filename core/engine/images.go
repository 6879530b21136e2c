package engine

import (
	"context"
	"strings"
	"time"

	"loci/core"
)

const (
	// seeingWithin is how long a refusal may wait for the names of models that would take an image.
	seeingWithin = 2 * time.Second
	mostSeeing   = 3
)

// checkImages refuses a message with images for a model that takes none, before anything of it is stored. The built-in model
// gets a line of text in their place, and says that it cannot see. A model that cannot be chosen now is the run's to tell.
func (e *Engine) checkImages(ctx context.Context, req Request) error {
	holds := false
	for _, in := range req.Input {
		m := core.Message{Content: in.Content}
		holds = holds || len(m.Images()) > 0
	}
	if !holds {
		return nil
	}
	agent, err := e.cfg.Store.Agents().Get(ctx, req.Agent)
	if err != nil {
		return err
	}
	conv, err := e.cfg.Store.Conversations().Get(ctx, req.Conversation)
	if err != nil {
		return err
	}
	override, env := req.Config.Model, e.envOf(req.Client.Env)
	if override == "" {
		override = conv.Model
	}
	c, err := e.Choose(ctx, agent, override, env)
	if err != nil || c.Info.Offline || c.Info.Images != core.ImagesRefused {
		return nil //nolint:nilerr // the run tells why no model can be asked
	}
	refused := core.E(core.Invalid, "%s takes no images", c.Handle)
	if see := e.seeing(ctx, env); len(see) > 0 {
		return refused.WithHint("send it to a model that does, like %s: /model in the chat, --model for one run", strings.Join(see, ", "))
	}
	return refused.WithHint("send the message without images, or choose a model that takes them: loci models")
}

// seeing names a few models that take images.
func (e *Engine) seeing(ctx context.Context, env core.Env) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, seeingWithin)
	defer cancel()
	all, err := e.cfg.Models.List(ctx, env, core.ModelQuery{})
	if err != nil {
		return nil
	}
	for _, m := range all {
		if m.Images == core.ImagesTaken && m.Hidden == "" && len(names) < mostSeeing {
			names = append(names, string(m.Handle))
		}
	}
	return names
}

// keepImages stores what a tool showed and returns how its return names it.
func (e *Engine) keepImages(ctx context.Context, p *pendingCall) error {
	shown := p.result.Images
	if len(shown) == 0 {
		return nil
	}
	if len(shown) > core.MaxImages {
		shown = shown[:core.MaxImages]
	}
	p.images = nil
	for _, pic := range shown {
		if err := e.cfg.Store.Images().Put(ctx, pic); err != nil {
			return err
		}
		p.images = append(p.images, pic.Image)
	}
	return nil
}
