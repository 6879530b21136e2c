package service

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"loci/core"
	"loci/core/embedding"
	"loci/core/engine"
)

// How long facts about a model are cached, and how long a page waits for unknown ones.
const (
	modelInfoTTL  = time.Minute
	modelInfoWait = 500 * time.Millisecond
	maxKnown      = 256
)

// Models lists and chooses models.
type Models struct {
	*parts
	mu    sync.Mutex // guards known
	known map[core.Handle]knownModel
}

type knownModel struct {
	info core.ModelInfo
	at   time.Time
}

// List returns the models that the caller can reach, in order of preference; with hidden, also those that can't chat.
func (m *Models) List(ctx context.Context, env core.Env, hidden bool) ([]core.ModelInfo, error) {
	infos, err := m.Models.List(ctx, m.env(env), core.ModelQuery{MaxAge: core.ListedNow})
	if err != nil {
		return nil, err
	}
	if !hidden {
		infos = slices.DeleteFunc(infos, func(i core.ModelInfo) bool { return i.Hidden != "" })
	}
	for _, info := range infos {
		m.remember(info, nil)
	}
	return infos, nil
}

// Silent says which providers that the caller has set up offer no model, and why.
func (m *Models) Silent(ctx context.Context, env core.Env) []string {
	return m.Models.Silent(ctx, m.env(env))
}

// Embeddings returns the embedding models that the caller can use, the built-in one first.
func (m *Models) Embeddings(ctx context.Context, env core.Env) ([]core.EmbeddingInfo, error) {
	if m.Embedders == nil {
		return nil, nil
	}
	return m.Embedders.Embeddings(ctx, m.env(env), ""), nil
}

// checkEmbedding refuses an embedding that nobody can make.
func (p *parts) checkEmbedding(ctx context.Context, handle core.Handle, env core.Env) error {
	return embedding.Check(ctx, p.Embedders, handle, p.env(env))
}

// Choose says which model would answer for an agent, and why. With no agent it says what a new one would get.
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

// first returns the model of an agent that names none: the configured default, else the first that can be reached.
func (m *Models) first(ctx context.Context, env core.Env) core.Handle {
	if m.DefaultModel != "" {
		return m.DefaultModel
	}
	found := m.Models.First(ctx, m.env(env))
	if !found.OK {
		return ""
	}
	m.remember(found.Info, nil)
	return found.Info.Handle
}

// resolve checks that a handle's form and provider are valid. It warns about a model that the provider doesn't list. A
// key that is missing or refused now may be there when a run needs it, so that is no error.
func (m *Models) resolve(ctx context.Context, handle core.Handle, env core.Env) (core.ModelInfo, error) {
	if err := handle.Validate(); err != nil {
		return core.ModelInfo{}, err
	}
	_, info, err := m.Models.Chat(ctx, handle, m.env(env))
	switch kind := core.KindOf(err); {
	case err == nil:
		info.Notice = core.Unlisted(ctx, m.Models, handle, m.env(env))
	case kind == core.NotFound || kind == core.Invalid || kind == core.Unsupported:
		return core.ModelInfo{}, err
	case info.Handle == "":
		info = bareInfo(handle)
	}
	m.remember(info, err)
	return info, nil
}

// Info returns what is known about a model, for display. It never fails: for a model that can't be asked, it returns
// only the name.
func (m *Models) Info(ctx context.Context, handle core.Handle, env core.Env) core.ModelInfo {
	if info, ok := m.remembered(handle); ok {
		return info
	}
	ctx, cancel := context.WithTimeout(ctx, modelInfoWait)
	defer cancel()
	_, info, err := m.Models.Chat(ctx, handle, m.env(env))
	if info.Handle == "" {
		info = bareInfo(handle)
	}
	m.remember(info, err)
	return info
}

// Overview says what the next request of a conversation would hold, by what is remembered of its model if it can't be reached.
func (m *Models) Overview(ctx context.Context, conv core.Conversation, env core.Env) (engine.Overview, error) {
	agent, err := m.Store.Agents().Get(ctx, conv.Agent)
	if err != nil {
		return engine.Overview{}, err
	}
	known, _ := m.remembered(cmp.Or(conv.Model, agent.Model))
	return m.Engine.Overview(ctx, conv.ID, env, known)
}

// remembered returns what was recently found out about a model, or else only its name.
func (m *Models) remembered(handle core.Handle) (core.ModelInfo, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k, ok := m.known[handle]; ok && m.Clock().Sub(k.at) < modelInfoTTL {
		return k.info, true
	}
	return bareInfo(handle), false
}

// remember keeps what is known of a model, here for a while and for prompts until more is known.
func (m *Models) remember(info core.ModelInfo, err error) {
	m.Engine.Prompts().NoteWindow(info.Handle, info.ContextWindow)
	if core.KindOf(err) == core.Unauthenticated { // another client may bring the key
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= maxKnown {
		clear(m.known)
	}
	m.known[info.Handle] = knownModel{info: info, at: m.Clock()}
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

// Pull has a server download a model.
func (m *Models) Pull(ctx context.Context, name string, env core.Env) iter.Seq2[core.Pulled, error] {
	if m.Puller != nil {
		return m.Puller.Pull(ctx, name, m.env(env))
	}
	return func(yield func(core.Pulled, error) bool) {
		yield(core.Pulled{}, core.E(core.Unsupported, "no model can be downloaded here"))
	}
}
