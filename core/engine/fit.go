package engine

import (
	"context"
	"unicode/utf8"

	"loci/core"
	"loci/core/request"
)

// Fit says how much of a message a run would send.
type Fit struct {
	Characters, Sent int
	Window           int // of the model, in tokens
	Model            core.Handle
}

// Fit tells before a message is sent how much of it the next run of a conversation would cut. An override is the model of
// that run alone. Nothing is stored.
func (e *Engine) Fit(ctx context.Context, conv core.ConversationID, text string, override core.Handle, env core.Env) (Fit, error) {
	t, end, err := e.aside(ctx, conv, env)
	if err != nil {
		return Fit{}, err
	}
	defer end()
	t.run.Config.Model = override
	if err := t.forecast(ctx, core.ModelInfo{}); err != nil {
		return Fit{}, err
	}
	m := core.Message{Role: core.RoleUser, Content: []core.Content{core.Text(text)}}
	m.Tokens = request.Tokens(&m)
	n := utf8.RuneCountInString(text)
	f := Fit{Characters: n, Sent: n, Window: core.WindowOf(&t.agent, t.choice.Info), Model: t.choice.Handle}
	if room := t.win.room(); room > 0 { // where there is none the run says so
		f.Sent = t.win.sentOf(&m, m.Tokens, t.win.inputShare(room))
	}
	return f, nil
}
