package engine

import (
	"context"
	"strings"

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
	Move    bool     // the agent was made offline and moves to this model now
}

// Why a model was chosen.
const (
	whyFlag        = "flag"
	whyAgent       = "agent"
	whyDefault     = "default"
	whyEnvironment = "environment"
	whyOffline     = "offline"
)

// Choose resolves the model for an agent: override, else the agent's own, else the configured default, else the first
// that env reaches, else the built-in offline one. A home in which a real model has answered never falls back to
// offline: it is unavailable. It reads only; a Choice with Move set is carried out by the run.
func (e *Engine) Choose(ctx context.Context, agent core.Agent, override core.Handle, env core.Env) (Choice, error) {
	if override != "" {
		return e.resolve(ctx, override, whyFlag, env)
	}
	if !agent.ModelAuto {
		return e.resolve(ctx, agent.Model, whyAgent, env)
	}
	c, err := e.chooseReal(ctx, env)
	if err != nil {
		return Choice{}, err
	}
	if c.Handle != "" {
		c.Move = true
		c.Notice = "This agent now uses " + string(c.Handle) + "; it was made without a model and keeps everything it remembers."
		return c, nil
	}
	if known, err := e.realAnswered(ctx); err != nil {
		return Choice{}, err
	} else if known {
		err := core.E(core.Unavailable, "no model can be reached: a real one has answered in this home before, so the built-in offline one does not take its place")
		return Choice{}, err.WithHint("set the provider's key again or start Ollama, name a model with --model, or use --model %s on purpose", core.OfflineHandle)
	}
	off, err := e.resolve(ctx, core.OfflineHandle, whyOffline, env)
	if err != nil {
		return Choice{}, err
	}
	off.Unbuilt = c.Unbuilt
	off.Notice = "No language model is connected: the built-in offline model answers. Set OPENAI_API_KEY or start Ollama to connect one."
	if len(c.Unbuilt) > 0 {
		off.Notice += " " + strings.Join(c.Unbuilt, ", ") + " is set, but its provider is not built yet."
	}
	return off, nil
}

// ChooseDefault resolves the model that a new agent would get: the configured default, else the first that env reaches,
// else offline. Its Why says which.
func (e *Engine) ChooseDefault(ctx context.Context, env core.Env) (Choice, error) {
	return e.Choose(ctx, core.Agent{ModelAuto: true}, "", env)
}

// chooseReal returns the configured default or the first real model of the environment; without either its Handle is empty.
func (e *Engine) chooseReal(ctx context.Context, env core.Env) (Choice, error) {
	if e.cfg.DefaultModel != "" {
		return e.resolve(ctx, e.cfg.DefaultModel, whyDefault, env)
	}
	info, ok, unbuilt := e.cfg.Models.First(ctx, env)
	if !ok {
		return Choice{Unbuilt: unbuilt}, nil
	}
	c, err := e.resolve(ctx, info.Handle, whyEnvironment, env)
	c.Unbuilt = unbuilt
	return c, err
}

func (e *Engine) resolve(ctx context.Context, h core.Handle, why string, env core.Env) (Choice, error) {
	if err := h.Validate(); err != nil {
		return Choice{}, err
	}
	chat, info, err := e.cfg.Models.Chat(ctx, h, env)
	if err != nil {
		return Choice{}, err
	}
	return Choice{Handle: h, Info: info, Chat: chat, Why: why}, nil
}

// moveAgent gives an agent that was made offline its real model, once.
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
