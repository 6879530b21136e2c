package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"loci/core"
)

// Choice is which model answers, and why.
type Choice struct {
	Handle  core.Handle
	Info    core.ModelInfo
	Chat    core.ChatModel
	Why     string   // flag, agent, default, environment or offline
	Notice  string   // what a person should be told; empty if nothing
	Unbuilt []string // variables whose provider is not built yet
	Move    bool     // nobody named the agent's model: this is its own from now on
	because string   // what led to a model of the environment
	failed  []string // what is set up and did not work
}

// Why a model was chosen.
const (
	whyFlag        = "flag"
	whyAgent       = "agent"
	whyDefault     = "default"
	whyEnvironment = "environment"
	whyOffline     = "offline"
)

// counts reports whether an answer of this choice shows that the home has a real model: one named for a single run does not.
func (c *Choice) counts() bool { return !c.Info.Offline && c.Why != whyFlag }

// Choose resolves the model for an agent: override, else the agent's own, else the configured default, else the first
// that env reaches, else the built-in offline one. A home in which a real model has answered never falls back to
// offline: it is unavailable. It reads only; a Choice with Move set is carried out by the run. With an error, Info is what
// is known all the same of the model that was named.
func (e *Engine) Choose(ctx context.Context, agent core.Agent, override core.Handle, env core.Env) (Choice, error) {
	c, err := e.choose(ctx, agent, override, env)
	return c, unreached(err)
}

// unreached words that a model's provider has no key here as that no model can be reached: nobody was asked, and to a
// person it is the same as where none is set up at all. A key that is of no use stays its own failure.
func unreached(err error) error {
	if !errors.Is(err, core.ErrNoKey) {
		return err
	}
	hint := "choose another model: /model in the chat, --model for one run"
	if own := core.HintOf(err); own != "" {
		hint = own + ", or " + hint
	}
	return core.E(core.Unavailable, "no model can be reached: %w", err).WithHint("%s", hint)
}

func (e *Engine) choose(ctx context.Context, agent core.Agent, override core.Handle, env core.Env) (Choice, error) {
	if override != "" {
		c, err := e.resolve(ctx, override, whyFlag, env)
		if err == nil {
			c.Notice = core.Unlisted(ctx, e.cfg.Models, override, env)
		}
		return c, err
	}
	if !agent.ModelAuto {
		return e.resolve(ctx, agent.Model, whyAgent, env)
	}
	c, err := e.chooseReal(ctx, env)
	if err != nil {
		return Choice{}, err
	}
	if c.Handle == "" && agent.Model != "" && agent.Model.Provider() != core.OfflineHandle.Provider() {
		failed := c.failed // what was chosen when it was made cannot be found now: its own error says most
		if c, err = e.resolve(ctx, agent.Model, whyAgent, env); err != nil {
			return Choice{}, err
		}
		c.because, c.failed = "chosen when it was made", failed
	}
	if c.Handle != "" {
		c.Move = true
		uses, keeps := "This agent uses ", ""
		if !agent.LastRunAt.IsZero() {
			uses, keeps = "This agent now uses ", "; it keeps everything it remembers"
		}
		c.Notice = sentences(
			c.failed,
		) + uses + string(
			c.Handle,
		) + " (" + c.because + ")" + keeps + ". To change that: /model in the chat, --model for one run."
		return c, nil
	}
	if known, err := e.realAnswered(ctx); err != nil {
		return Choice{}, err
	} else if known {
		err := core.E(
			core.Unavailable,
			"no model can be reached: a real one has answered in this home before, so the built-in offline one does not take its place",
		)
		if len(c.failed) > 0 {
			err.Msg = strings.Join(c.failed, "; ") + ": " + err.Msg
		}
		if len(c.Unbuilt) > 0 {
			err.Msg += "; " + strings.Join(c.Unbuilt, ", ") + " is set, but its provider is not built yet"
		}
		return Choice{}, err.WithHint(
			"set the provider's key again or start Ollama, name a model with --model, or use --model %s on purpose",
			core.OfflineHandle,
		)
	}
	off, err := e.resolve(ctx, core.OfflineHandle, whyOffline, env)
	if err != nil {
		return Choice{}, err
	}
	off.Notice = "No language model is connected: the built-in offline model answers. Set a key such as OPENAI_API_KEY, " +
		"ANTHROPIC_API_KEY or GEMINI_API_KEY, or start Ollama, to connect one."
	if len(c.failed) > 0 {
		off.Notice = sentences(c.failed) + "The built-in offline model answers, which is no language model."
	}
	if len(c.Unbuilt) > 0 {
		off.Notice += " " + strings.Join(c.Unbuilt, ", ") + " is set, but its provider is not built yet."
	}
	return off, nil
}

// noModelError is why a run asked nobody: the model that was named for it does not exist.
type noModelError struct{ error }

func (e noModelError) Unwrap() error { return e.error }

// sentences are what failed, each with its full stop and a space after it.
func sentences(failed []string) string {
	var b strings.Builder
	for _, f := range failed {
		b.WriteString(f + ". ")
	}
	return b.String()
}

// ChooseDefault resolves the model that a new agent would get: the configured default, else the first that env reaches,
// else offline. Its Why says which.
func (e *Engine) ChooseDefault(ctx context.Context, env core.Env) (Choice, error) {
	return e.Choose(ctx, core.Agent{ModelAuto: true}, "", env)
}

// chooseReal returns the configured default or the first real model of the environment; without either its Handle is empty.
func (e *Engine) chooseReal(ctx context.Context, env core.Env) (Choice, error) {
	if e.cfg.DefaultModel != "" {
		c, err := e.resolve(ctx, e.cfg.DefaultModel, whyDefault, env)
		c.because = "the model of the settings"
		return c, err
	}
	found := e.cfg.Models.First(ctx, env)
	if !found.OK {
		return Choice{Unbuilt: e.cfg.Models.Unbuilt(env), failed: found.Failed}, nil
	}
	c, err := e.resolve(ctx, found.Info.Handle, whyEnvironment, env)
	c.because, c.failed = found.Because, found.Failed
	return c, err
}

func (e *Engine) resolve(ctx context.Context, h core.Handle, why string, env core.Env) (Choice, error) {
	if err := h.Validate(); err != nil {
		return Choice{}, err
	}
	chat, info, err := e.cfg.Models.Chat(ctx, h, env)
	if err != nil {
		return Choice{Info: info}, err
	}
	return Choice{Handle: h, Info: info, Chat: chat, Why: why, Unbuilt: e.cfg.Models.Unbuilt(env)}, nil
}

// moveAgent gives an agent whose model nobody named its real one, once.
func (e *Engine) moveAgent(ctx context.Context, agent *core.Agent, to core.Handle) error {
	return e.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		a, err := tx.Agents().Get(ctx, agent.ID)
		if err != nil {
			return err
		}
		if a.ModelAuto {
			a.Model, a.ModelAuto, a.UpdatedAt = to, false, e.cfg.Clock()
			a.Rev++
			if err := tx.Agents().Update(ctx, &a); err != nil {
				return err
			}
		}
		*agent = a
		return nil
	})
}

// realAnswered reports whether a real model has answered in this home.
func (e *Engine) realAnswered(ctx context.Context) (bool, error) {
	if e.realKnown() {
		return true, nil
	}
	_, ok, err := e.cfg.Store.Meta().Get(ctx, core.MetaRealAt)
	if ok {
		e.setReal()
	}
	return ok, err
}

// noteReal remembers that a real model has answered, where the choice counts.
func (e *Engine) noteReal(ctx context.Context, tx core.Store, c *Choice, now time.Time) error {
	if !c.counts() || e.realKnown() {
		return nil
	}
	return tx.Meta().Put(ctx, core.MetaRealAt, now.UTC().Format(time.RFC3339))
}

func (e *Engine) realKnown() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.real
}

func (e *Engine) setReal() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.real = true
}
