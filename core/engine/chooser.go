package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"loci/core"
	"loci/core/request"
)

// errElsewhere is why a resumed run does not ask who can be asked now.
var errElsewhere = errors.New(
	"the daemon was restarted, and what is set here now leads to another address than the one this run was begun with",
)

// unlistedWithin is how long a run may wait for what its model's provider lists, for the sake of a warning.
const unlistedWithin = 500 * time.Millisecond

// chooser chooses the model that answers a run.
type chooser struct {
	e        *Engine
	conv     core.ConversationID
	agent    core.Agent
	override core.Handle       // the model for this run only: the request's, else the conversation's
	moved    map[string]string // where the run's own client put providers when it began
	env      core.Env          // of who asks; choosing again may find another
	wait     func(why error)   // tells that a client is waited for; nil for the error: no longer
}

func (t *turn) chooser() *chooser {
	c := &chooser{e: t.e, conv: t.run.Conversation, agent: t.agent, override: t.run.Config.Model, moved: t.run.Config.Moved, env: t.env}
	c.wait = func(why error) { t.e.waitForClient(t.j, why) }
	if c.override == "" {
		c.override = t.win.conv.Model
	}
	return c
}

func (c *chooser) choose(ctx context.Context) (Choice, error) {
	return c.e.Choose(ctx, c.agent, c.override, c.env)
}

// unlisted warns of a model that its provider does not list: whoever chose it over the API may not have seen that.
func (c *chooser) unlisted(ctx context.Context, model core.Handle) string {
	ctx, cancel := context.WithTimeout(ctx, unlistedWithin)
	defer cancel()
	return core.Unlisted(ctx, c.e.cfg.Models, model, c.env)
}

// elsewhere is an error where the variables at hand put a provider at another address than the run was begun with: the one
// that answers, each where none is chosen yet, and whoever the run's own client put anywhere.
func (c *chooser) elsewhere() error {
	begun, now := c.moved, c.e.cfg.Models.Moved(c.env)
	own := c.override
	if own == "" && !c.agent.ModelAuto {
		own = c.agent.Model
	}
	names := maps.Clone(now)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, begun)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		_, put := begun[name]
		if (put || own == "" || name == own.Provider()) && begun[name] != now[name] {
			return core.E(core.Unavailable, "%s is not asked: %w", name, errElsewhere).
				WithHint("send the message again, where the address of %s is set", name)
		}
	}
	return nil
}

// again chooses for a run that was taken up again. It asks nobody at another address than the run was begun with,
// and waits for a client with the key or the address that is missing.
func (c *chooser) again(ctx context.Context) (Choice, error) {
	wait, cancel := context.WithTimeout(ctx, c.e.cfg.KeyWait)
	defer cancel()
	for tried := 0; ; {
		var choice Choice
		missing := c.elsewhere()
		if missing == nil {
			choice, missing = c.e.choose(ctx, c.agent, c.override, c.env)
		}
		if !errors.Is(missing, errElsewhere) && core.KindOf(missing) != core.Unauthenticated {
			c.wait(nil)
			return choice, missing
		}
		missing = unreached(missing)
		env, err := c.e.waitForKey(wait, c.conv, &tried, missing, func() { c.wait(missing) })
		if err != nil {
			return Choice{}, err
		}
		c.env = c.e.envOf(env)
	}
}

// take has a model answer from now on.
func (t *turn) take(c Choice) {
	t.choice = c
	t.e.prompts.NoteWindow(c.Handle, c.Info.ContextWindow)
	policy, _ := core.PolicyOf(t.agent.Type)
	t.policy = request.Effective(policy, c.Info)
}

// givesTokens says why a model can't be asked in a run that wants the tokens of its answers.
func (t *turn) givesTokens(c *Choice) error {
	if t.run.Config.Tokens == nil || c.Info.Tokens {
		return nil
	}
	return core.E(core.Unsupported, "the server of %s gives nothing of the tokens that it generates: neither return_token_ids nor "+
		"return_logprobs, and so no top_logprobs", c.Handle).
		WithHint("leave them out, or choose a model on vLLM, SGLang or a server of your own that speaks OpenAI's Chat")
}
