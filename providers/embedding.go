package providers

import (
	"context"
	"log/slog"
	"strings"

	"loci/core"
	"loci/providers/embed"
)

// Bounds on one embedding request.
const (
	embedBatch = 64
	embedChars = 24_000 // of one text: models read about 8,000 tokens
)

var _ core.Embedders = (*Providers)(nil)

// Embedder implements core.Embedders. It asks no server: whether the model exists shows with the first text.
func (p *Providers) Embedder(_ context.Context, handle core.Handle, env core.Env) (core.Embedder, core.EmbeddingInfo, error) {
	if handle == "" || handle == core.WordsHandle {
		return p.words, core.EmbeddingInfo{Handle: core.WordsHandle, Name: "words", Provider: "builtin", Protocol: "builtin", Dim: embed.Dim, Batch: 256, MaxChars: core.MaxPassageChars}, nil
	}
	if err := handle.Validate(); err != nil {
		return nil, core.EmbeddingInfo{}, err
	}
	name, model, _ := handle.Split()
	row, ok := find(name)
	switch {
	case !ok || row.Protocol == Offline:
		return nil, core.EmbeddingInfo{}, core.E(core.NotFound, "no provider %q embeds texts", name).WithHint("the providers are %s; the built-in embedding is %s", strings.Join(builtNames(), ", "), core.WordsHandle)
	case !row.Built:
		return nil, core.EmbeddingInfo{}, core.E(core.Unsupported, "%s is not supported yet", row.Title)
	}
	e, err := endpointOf(row, env)
	if err != nil {
		return nil, core.EmbeddingInfo{}, err
	}
	info := core.EmbeddingInfo{
		Handle: handle, Name: model, Provider: row.Name, Protocol: string(row.Protocol), Endpoint: e.base, Batch: embedBatch, MaxChars: embedChars,
	}
	if e.key == "" && !e.keyless() {
		return nil, info, core.E(core.Unauthenticated, "there is no key for %s", row.Title).WithHint("set %s", row.KeyVars[0])
	}
	return &embedding{server: p.server(e), model: model}, info, nil
}

// embedding is an embedding model behind its server's gate, repeated where that may help.
type embedding struct {
	server *server
	model  string
}

// Embed implements core.Embedder.
func (m *embedding) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	for attempt := 1; ; attempt++ {
		out, err := m.once(ctx, texts)
		if err == nil {
			return out, nil
		}
		wait, again := plan(ctx, err, attempt, false)
		if !again {
			return nil, err
		}
		m.server.log.LogAttrs(ctx, slog.LevelInfo, "embedding asked again", slog.String("provider", m.server.row.Name), slog.String("model", m.model),
			slog.Int("attempt", attempt), slog.Duration("wait", wait), slog.String("kind", string(core.KindOf(err))))
		if !pause(ctx, wait) {
			return nil, m.server.who.Network(ctx, nil, ctx.Err())
		}
	}
}

func (m *embedding) once(ctx context.Context, texts []string) ([][]float32, error) {
	leave, err := m.server.gate.enter(ctx)
	if err != nil {
		return nil, m.server.who.Network(ctx, nil, err)
	}
	defer leave()
	var out [][]float32
	if m.server.ollama != nil {
		out, err = m.server.ollama.Embed(ctx, m.model, texts)
	} else {
		out, err = m.server.openai.Embed(ctx, m.model, texts)
	}
	m.server.limited(err)
	return out, err
}
