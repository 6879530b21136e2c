package service

import (
	"context"
	"sync"
	"time"

	"loci/core"
	"loci/core/engine"
)

// How long what is known of a model is believed, and how long a page waits for what is not known yet.
const (
	modelInfoTTL  = time.Minute
	modelInfoWait = 500 * time.Millisecond
	maxKnown      = 256
)

// Models lists and chooses who answers.
type Models struct {
	*parts
	mu    sync.Mutex // guards known
	known map[core.Handle]knownModel
}

type knownModel struct {
	info core.ModelInfo
	at   time.Time
}

// List returns the chat models that the asker can reach, the preferred first.
func (m *Models) List(ctx context.Context, env core.Env) ([]core.ModelInfo, error) {
	infos, err := m.Models.List(ctx, m.env(env))
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		m.remember(info)
	}
	return infos, nil
}

// Choose says which model would answer for an agent and why. An empty agent asks for what a new one would get.
func (m *Models) Choose(ctx context.Context, id core.AgentID, override core.Handle, env core.Env) (engine.Choice, error) {
	agent := core.Agent{ModelAuto: true}
	if id != "" {
		var err error
		if agent, err = m.Store.Agents().Get(ctx, id); err != nil {
			return engine.Choice{}, err
		}
	}
	return m.Engine.Choose(ctx, agent, override, m.env(env))
}

// RealAnswered reports whether a model that is not the built-in one has answered in this home.
func (m *Models) RealAnswered(ctx context.Context) (bool, error) {
	_, ok, err := m.Store.Meta().Get(ctx, core.MetaRealAt)
	return ok, err
}

// first is the model of an agent that names none: the configured default, else the first that can be reached.
func (m *Models) first(ctx context.Context, env core.Env) core.Handle {
	if m.DefaultModel != "" {
		return m.DefaultModel
	}
	found := m.Models.First(ctx, m.env(env))
	if !found.OK {
		return ""
	}
	m.remember(found.Info)
	return found.Info.Handle
}

// resolve checks that a handle names a model: its form, and that there is one, as far as its provider says. A key that is missing or refused now
// may be there when a run needs it, so that is no error.
func (m *Models) resolve(ctx context.Context, handle core.Handle, env core.Env) (core.ModelInfo, error) {
	if err := handle.Validate(); err != nil {
		return core.ModelInfo{}, err
	}
	if err := core.CheckListed(ctx, m.Models, handle, m.env(env)); err != nil {
		return core.ModelInfo{}, err
	}
	_, info, err := m.Models.Chat(ctx, handle, m.env(env))
	switch kind := core.KindOf(err); {
	case err == nil:
		m.remember(info)
		return info, nil
	case kind == core.NotFound || kind == core.Invalid || kind == core.Unsupported:
		return core.ModelInfo{}, err
	default:
		return bareInfo(handle), nil
	}
}

// Info is what is known of a model, to be shown. It never fails: of a model that cannot be asked, only the name is known.
func (m *Models) Info(ctx context.Context, handle core.Handle, env core.Env) core.ModelInfo {
	m.mu.Lock()
	k, ok := m.known[handle]
	m.mu.Unlock()
	if ok && time.Since(k.at) < modelInfoTTL {
		return k.info
	}
	ctx, cancel := context.WithTimeout(ctx, modelInfoWait)
	defer cancel()
	_, info, err := m.Models.Chat(ctx, handle, m.env(env))
	if core.KindOf(err) == core.Unauthenticated { // another client may bring the key
		return bareInfo(handle)
	}
	if err != nil {
		info = bareInfo(handle)
	}
	m.remember(info)
	return info
}

func (m *Models) remember(info core.ModelInfo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= maxKnown {
		clear(m.known)
	}
	m.known[info.Handle] = knownModel{info: info, at: time.Now()}
}

func (p *parts) env(env core.Env) core.Env {
	if env == nil {
		return p.Env
	}
	return env
}

func bareInfo(handle core.Handle) core.ModelInfo {
	provider, name, _ := handle.Split()
	return core.ModelInfo{Handle: handle, Name: name, Provider: provider, Protocol: provider}
}
