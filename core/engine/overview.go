package engine

import (
	"context"

	"loci/core"
	"loci/core/compact"
	"loci/core/memory"
	"loci/core/request"
)

// Overview is the use of a context window by the next request, in estimated tokens: what is sent beside new input. The
// parts add up to Current, which is what a compaction's trigger compares with the window.
type Overview struct {
	Window, Current                                int
	System, Memory, Directories, Rules, Facts      int // the parts of the system prompt; System is the text without the others
	Tools, Summary, Messages                       int // Messages are without the summary, hidden records among them
	SystemText                                     string
	MemoryText, DirectoriesText, RulesText, Stored string
	SummaryText                                    string
	ToolSpecs                                      []core.ToolSpec
	Context                                        []core.InContext // message 0 first
	MessageCount, PassageCount                     int
}

// Overview says what the next request of a conversation would hold. Where no model can be reached, known is what is known of
// the one that should answer.
func (e *Engine) Overview(ctx context.Context, conv core.ConversationID, env core.Env, known core.ModelInfo) (Overview, error) {
	t, end, err := e.aside(ctx, conv, env)
	if err != nil {
		return Overview{}, err
	}
	defer end()
	if err := t.forecast(ctx, known); err != nil {
		return Overview{}, err
	}
	o := Overview{
		Window: core.WindowOf(&t.agent, t.choice.Info), SystemText: t.win.pinned.System,
		MessageCount: t.win.conv.MessageCount, PassageCount: t.agent.PassageCount,
	}
	if t.choice.Info.Tools {
		o.ToolSpecs = t.win.pinned.Tools
	}
	o.measure(t)
	if o.Context, err = e.cfg.Store.Messages().Context(ctx, conv); err != nil {
		return Overview{}, err
	}
	return o, nil
}

// Use says how much of its window, in estimated tokens, the next request of a conversation takes beside new input when the
// model of info answers it. It asks no provider.
func (e *Engine) Use(ctx context.Context, conv core.ConversationID, info core.ModelInfo) (used, window int, err error) {
	t, end, err := e.aside(ctx, conv, nil)
	if err != nil {
		return 0, 0, err
	}
	defer end()
	t.choice = unasked(info)
	if err := t.decidePin(ctx); err != nil {
		return 0, 0, err
	}
	return t.win.tokens(), core.WindowOf(&t.agent, info), nil
}

// forecast readies a turn as the next run would, and changes nothing. Where no model can be reached, known stands for the one
// that should answer.
func (t *turn) forecast(ctx context.Context, known core.ModelInfo) error {
	choice, err := t.chooser().choose(ctx)
	if err != nil {
		if choice.Info.ContextWindow > 0 {
			known = choice.Info
		}
		choice = unasked(known)
	}
	t.choice = choice
	return t.decidePin(ctx)
}

// unasked is the choice of a model that wasn't asked. One of which nothing is known is taken for one that calls tools.
func unasked(info core.ModelInfo) Choice {
	if info.ContextWindow <= 0 {
		info.Tools = true
	}
	return Choice{Info: info}
}

// measure counts the parts.
func (o *Overview) measure(t *turn) {
	s := memory.Cut(t.agent.System, t.win.pinned.System)
	o.MemoryText, o.DirectoriesText, o.RulesText, o.Stored = s.Blocks, s.Directories, s.Rules, s.Facts
	parts := []*int{&o.Memory, &o.Directories, &o.Rules, &o.Facts}
	o.System = core.EstimateTokens(t.win.pinned.System)
	for i, text := range []string{s.Blocks, s.Directories, s.Rules, s.Facts} {
		*parts[i] = min(core.EstimateTokens(text), o.System) // each is rounded up, and together they are no more than the whole
		o.System -= *parts[i]
	}
	o.Current = t.win.tokens()
	o.Tools = t.win.fixedTokens() - core.EstimateTokens(t.win.pinned.System)
	for i := range t.win.rows {
		m, tokens := &t.win.rows[i].Message, request.TokensInContext(&t.win.rows[i])
		if m.Role != core.RoleSummary {
			o.Messages += tokens
			continue
		}
		o.Summary += tokens
		o.SummaryText, _ = compact.Summary(m.PlainText())
	}
}
