package providers

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"loci/core"
	"loci/providers/embed"
	"loci/providers/protocol"
)

// Limits of one embedding request.
const (
	embedBatch = 64
	embedChars = 24_000 // per text: models read about 8,000 tokens
)

var _ core.Embedders = (*Providers)(nil)

// Embedder implements core.Embedders. It doesn't contact the server: the first text shows whether the model exists.
func (p *Providers) Embedder(_ context.Context, handle core.Handle, env core.Env) (core.Embedder, core.EmbeddingInfo, error) {
	if handle == "" || handle == core.WordsHandle {
		return p.words, wordsInfo(), nil
	}
	if err := handle.Validate(); err != nil {
		return nil, core.EmbeddingInfo{}, err
	}
	name, model, _ := handle.Split()
	row, ok := p.find(name)
	switch {
	case !ok || row.Offline:
		return nil, core.EmbeddingInfo{}, core.E(core.NotFound, "no provider %q embeds texts", name).
			WithHint("the providers are %s; the built-in embedding is %s", strings.Join(builtNames(p.known()), ", "), core.WordsHandle)
	case !row.Built():
		return nil, core.EmbeddingInfo{}, core.E(core.Unsupported, "%s is not supported yet", row.Title)
	}
	e, err := p.endpoint(row, env)
	if err != nil {
		return nil, core.EmbeddingInfo{}, err
	}
	info := e.embeddingInfo(model)
	if e.keyVar == "" && !e.keyless() {
		return nil, info, e.noKey()
	}
	s, err := p.hold(e)
	if err != nil {
		return nil, core.EmbeddingInfo{}, err
	}
	defer p.release(s)
	if _, ok := s.wire.(protocol.Embedder); !ok {
		return nil, core.EmbeddingInfo{}, core.E(core.NotFound, "%s does not embed texts", row.Title).
			WithHint("the built-in embedding is %s", core.WordsHandle)
	}
	return &embedding{providers: p, endpoint: e, model: model}, info, nil
}

func wordsInfo() core.EmbeddingInfo {
	return core.EmbeddingInfo{
		Handle:   core.WordsHandle,
		Name:     "words",
		Provider: "builtin",
		Protocol: "builtin",
		Dim:      embed.Dim,
		Batch:    256,
		MaxChars: core.MaxPassageChars,
	}
}

func (e endpoint) embeddingInfo(model string) core.EmbeddingInfo {
	known := e.price(model, e.known(protocol.Model{Name: model}).Price)
	return core.EmbeddingInfo{
		Handle: core.Handle(e.row.Name + "/" + model), Name: model, Provider: e.row.Name, Protocol: e.protocol.Name(), Endpoint: e.base,
		Batch: embedBatch, MaxChars: embedChars, Price: e.row.embeddingPrice(model, known),
	}
}

// Embeddings implements core.Embedders.
func (p *Providers) Embeddings(ctx context.Context, env core.Env, provider string) []core.EmbeddingInfo {
	endpoints, _ := p.reachable(env, provider)
	lists := make([][]core.EmbeddingInfo, len(endpoints))
	var wg sync.WaitGroup
	for i, e := range endpoints {
		wg.Go(func() { lists[i] = p.embeddingsAt(ctx, e) })
	}
	wg.Wait()
	return append([]core.EmbeddingInfo{wordsInfo()}, slices.Concat(lists...)...)
}

// embeddingsAt returns the embedding models that one endpoint lists; none if it can't be reached.
func (p *Providers) embeddingsAt(ctx context.Context, e endpoint) []core.EmbeddingInfo {
	s, err := p.hold(e)
	if err != nil {
		return nil
	}
	defer p.release(s)
	if _, ok := s.wire.(protocol.Embedder); !ok {
		return nil
	}
	models, _ := s.all(ctx, 0)
	var out []core.EmbeddingInfo
	for _, m := range models {
		if m.Embeds {
			out = append(out, e.embeddingInfo(m.Name))
		}
	}
	return out
}

// embedding is an embedding model behind its server's gate, with retries.
type embedding struct {
	providers *Providers
	endpoint  endpoint
	model     string
}

// Embed implements core.Embedder.
func (m *embedding) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	start := time.Now()
	s, err := m.providers.hold(m.endpoint)
	if err != nil {
		return nil, err
	}
	defer m.providers.release(s)
	for attempt := 1; ; attempt++ {
		out, err := m.once(ctx, s, texts)
		if err == nil {
			return out, nil
		}
		next := plan(ctx, err, attempt, false, time.Since(start))
		if !next.again {
			return nil, err
		}
		s.log.LogAttrs(ctx, slog.LevelInfo, "embedding asked again", slog.String("provider", s.row.Name), slog.String("model", m.model),
			slog.Int("attempt", attempt), slog.Duration("wait", next.wait), slog.String("kind", string(core.KindOf(err))))
		if !pause(ctx, next.wait) {
			return nil, s.who.Network(ctx, nil, ctx.Err())
		}
	}
}

func (m *embedding) once(ctx context.Context, s *server, texts []string) ([][]float32, error) {
	leave, err := s.gate.enter(ctx)
	if err != nil {
		return nil, s.who.Network(ctx, nil, err)
	}
	defer leave()
	wire, ok := s.wire.(protocol.Embedder)
	if !ok {
		return nil, core.E(core.Unsupported, "%s does not embed texts", s.row.Title)
	}
	out, err := wire.Embed(ctx, m.model, texts)
	s.limited(err)
	return out, err
}
