package spend

import (
	"context"
	"encoding/json"
	"iter"

	"loci/core"
)

// noticeBudget is the kind of a notice that most of a budget is used.
const noticeBudget = "budget"

// pictureTokens is what an image is taken to need.
const pictureTokens = 1600

// models meters models.
type models struct {
	core.Models
	ledger *Ledger
}

// Models returns models whose calls are paid for. The built-in one costs nothing and isn't metered.
func (l *Ledger) Models(m core.Models) core.Models { return models{m, l} }

// Chat implements core.Models.
func (m models) Chat(ctx context.Context, handle core.Handle, env core.Env) (core.ChatModel, core.ModelInfo, error) {
	chat, info, err := m.Models.Chat(ctx, handle, env)
	if err != nil || info.Offline {
		return chat, info, err
	}
	return &metered{ChatModel: chat, ledger: m.ledger, info: info}, info, nil
}

// metered is a model whose calls are paid for.
type metered struct {
	core.ChatModel
	ledger *Ledger
	info   core.ModelInfo
}

// Stream implements core.ChatModel.
func (m *metered) Stream(ctx context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) { m.stream(ctx, req, yield) }
}

func (m *metered) stream(ctx context.Context, req core.ChatRequest, yield func(core.Delta, error) bool) {
	c := call{charge: core.ChargeOf(ctx), model: m.info.Handle, price: m.info.Price, prompt: asking(&req)}
	c.answer = m.most(&req, c.prompt)
	g, err := m.ledger.reserve(ctx, c)
	if err != nil {
		yield(core.Delta{}, err)
		return
	}
	if g.reserved {
		req.Most = g.answer
	}
	if limit := req.Settings.MaxOutputTokens; g.answer < c.answer && (limit == 0 || g.answer < limit) {
		req.Settings.MaxOutputTokens = g.answer
	}
	seen := tally{prompt: c.prompt}
	defer func() {
		used, estimated := seen.usage(ctx.Err() != nil)
		m.ledger.settle(ctx, &g, m.info.Price, used, estimated)
	}()
	for _, w := range g.warnings {
		if !yield(core.Delta{Notice: &core.Notice{Kind: noticeBudget, Text: w}}, nil) {
			return
		}
	}
	for d, err := range m.ChatModel.Stream(ctx, req) {
		seen.add(d)
		if !yield(d, err) {
			return
		}
	}
}

// most is how long the answer to a request may be, with what is thought: a limit that is set may leave out thoughts that are asked for.
func (m *metered) most(req *core.ChatRequest, prompt int) int {
	window := req.Window
	if window <= 0 {
		window = m.info.ContextWindow
	}
	room := max(window-prompt, leastAnswer)
	limit := req.Settings.MaxOutputTokens
	switch {
	case limit > 0 && (!m.info.Reasoning || req.Settings.ReasoningEffort == ""):
		return min(limit, room)
	case m.info.MaxOutput > 0:
		return min(m.info.MaxOutput, room)
	}
	return room
}

// tally counts what comes of a call.
type tally struct {
	prompt, answer int
	begun          bool
	told           *core.Usage
}

func (t *tally) add(d core.Delta) {
	if d.Notice != nil {
		return
	}
	t.begun = t.begun || d.End || d.Text != "" || d.Reasoning != "" || d.Call != nil
	t.answer += core.EstimateTokens(d.Text) + core.EstimateTokens(d.Reasoning)
	if d.Call != nil {
		t.answer += core.EstimateTokens(d.Call.Name) + core.EstimateTokens(d.Call.Arguments)
	}
	if d.Usage != nil {
		t.told = d.Usage
	}
}

// usage is what a call used, as the provider says or else as it is estimated. A request that nothing came of counts only if it
// was given up: the provider may have read it.
func (t *tally) usage(givenUp bool) (used *core.Usage, estimated bool) {
	switch {
	case t.told != nil:
		return t.told, false
	case t.begun || givenUp:
		return &core.Usage{Prompt: t.prompt, Completion: t.answer, Total: t.prompt + t.answer}, true
	}
	return nil, false
}

// asking estimates the tokens of a request, and rather more than there are: it decides what is reserved.
func asking(req *core.ChatRequest) int {
	n := core.EstimateTokens(req.System)
	for _, m := range req.Messages {
		n += core.EstimateTokens(m.Text) + core.EstimateTokens(m.Reasoning) + pictureTokens*len(m.Pictures) + perMessage
		for _, c := range m.Calls {
			n += core.EstimateTokens(c.Name) + core.EstimateTokens(c.Arguments)
		}
		for _, r := range m.Returns {
			n += core.EstimateTokens(r.Text) + pictureTokens*len(r.Pictures) + perMessage
		}
	}
	for _, t := range req.Tools {
		schema, _ := json.Marshal(t) // what can't be written isn't sent either
		n += core.EstimateTokens(string(schema))
	}
	return n + n/5
}

// perMessage is what the frame of a message takes, in tokens.
const perMessage = 8

// embedders meters embedding models.
type embedders struct {
	core.Embedders
	ledger *Ledger
}

// Embedders returns embedding models whose calls are paid for. The built-in one costs nothing and isn't metered.
func (l *Ledger) Embedders(e core.Embedders) core.Embedders { return embedders{e, l} }

// Embedder implements core.Embedders.
func (m embedders) Embedder(ctx context.Context, handle core.Handle, env core.Env) (core.Embedder, core.EmbeddingInfo, error) {
	e, info, err := m.Embedders.Embedder(ctx, handle, env)
	if err != nil || info.BuiltIn() {
		return e, info, err
	}
	return &embedder{Embedder: e, ledger: m.ledger, info: info}, info, nil
}

// embedder is an embedding model whose calls are paid for.
type embedder struct {
	core.Embedder
	ledger *Ledger
	info   core.EmbeddingInfo
}

// Embed implements core.Embedder. Nobody says how many tokens the texts were, so these are estimated.
func (m *embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	c := call{charge: core.ChargeOf(ctx), model: m.info.Handle, price: m.info.Price}
	c.charge.For = core.ForEmbedding
	for _, text := range texts {
		c.prompt += core.EstimateTokens(text)
	}
	g, err := m.ledger.reserve(ctx, c)
	if err != nil {
		return nil, err
	}
	out, err := m.Embedder.Embed(ctx, texts)
	var used *core.Usage
	if err == nil || ctx.Err() != nil {
		used = &core.Usage{Prompt: c.prompt, Total: c.prompt}
	}
	m.ledger.settle(ctx, &g, m.info.Price, used, true)
	return out, err
}
