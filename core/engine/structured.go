package engine

import (
	"slices"
	"strings"

	"loci/core"
	"loci/core/rules"
	"loci/core/structured"
)

// noticeForm is the kind of notice of an answer that does not have the form that was asked for.
const noticeForm = "form"

// misfitAlert begins what tells a model that its answer does not have the form that was asked for. A run tells it once.
const misfitAlert = "Your answer does not have the form that was asked for: "

// misfitWords is the whole of it.
func misfitWords(faults string) string {
	return misfitAlert + faults + ". Answer again, with the JSON value and nothing else."
}

// form returns the form that the last answer of the turn is to have; nil is text. What an agent of the older kinds says stands in
// the arguments of a tool, which has a schema of its own.
func (t *turn) form() (*structured.Form, error) {
	if t.policy.SpeakTool != "" {
		if t.run.Config.ResponseFormat != nil {
			return nil, core.E(core.Unsupported, "an agent of type %s answers through a tool and has no structured output", t.agent.Type).
				WithHint("ask an agent of type letta_v1_agent")
		}
		return nil, nil //nolint:nilnil // text has no form
	}
	return structured.Of(t.win.settings().ResponseFormat)
}

// mayForm refuses a form that nobody can judge by, or that nobody would give, before anything is sent.
func (t *turn) mayForm() error {
	form, err := t.form()
	if err == nil && form != nil && t.choice.Info.Offline {
		return core.E(core.Unsupported, "the built-in offline model is no language model and gives no structured output").
			WithHint("connect a model, see loci doctor; or ask without a response format")
	}
	return err
}

// bared returns an answer that is a JSON value in a fence without the fence, where the reader of its pieces takes them back.
func (t *turn) bared(a *answer) *answer {
	form, err := t.form()
	said := a.spoken()
	if err != nil || form == nil || len(a.calls) > 0 || t.run.Config.StreamTokens && t.run.Client.ID == "" {
		return a
	}
	value, err := form.Value(said)
	if err != nil || value == strings.TrimSpace(said) {
		return a
	}
	again := newAnswer(a.policy, a.speak)
	again.message, again.asks, again.one = core.NewMessageID(), a.asks, a.one
	var pieces []piece
	for _, c := range a.content {
		if c.Type == core.ContentReasoning {
			pieces = append(pieces, again.add(core.Delta{Reasoning: c.Text, Signature: c.Signature})...)
		}
	}
	pieces = append(pieces, again.add(core.Delta{Text: value})...)
	t.takeBack(a, "What came so far held more than the value that was asked for.")
	t.show(again, append(pieces, again.add(core.Delta{Native: a.native, End: true, Finish: a.finish, Usage: a.usage, Tokens: a.tokens})...))
	return again
}

// judge looks at the answer that would end a turn: where it does not have its form the model is asked once more, with what is wrong;
// then the run fails with it. A response with calls of tools is no last answer.
func (t *turn) judge(c *commit, outcome rules.Outcome, state *rules.State) {
	form, err := t.form()
	if err != nil || form == nil || !natural(outcome) {
		return
	}
	_, err = form.Value(c.answer.spoken())
	if err == nil {
		return
	}
	again, why := false, "does not fit the form that was asked for, nor did it before"
	switch finish := c.answer.finish; {
	case finish == core.FinishRefused || finish == core.FinishFiltered:
		why = "is none: it was declined"
	case t.toldMisfit():
	case !state.Left():
		why = "does not fit the form that was asked for, and the run has no step left to ask again"
	default:
		again = true
	}
	if again {
		c.misfit = err.Error()
		t.emit(core.Event{Step: t.step.ID, Body: core.Notice{
			Kind: noticeForm, Text: "The answer does not fit the form that was asked for (" + c.misfit + "). The model is asked once more.",
		}})
		return
	}
	c.end = &ending{
		reason: core.StopInvalidLLMResponse,
		err: core.E(core.SchemaMismatch, "the answer of %s %s: %w", t.choice.Handle, why, err).
			WithHint("what it said is kept in the conversation; choose another model, or ask for a simpler form"),
	}
}

// toldMisfit reports whether the model was asked again in this run. It is read from the window, so that a restart knows it.
func (t *turn) toldMisfit() bool {
	return slices.ContainsFunc(t.win.rows, func(r core.InContext) bool {
		m := &r.Message
		given := slices.ContainsFunc(t.run.Input, func(in core.Message) bool { return in.ID == m.ID })
		return m.Run == t.run.ID && m.Role == core.RoleUser && !given && strings.Contains(m.PlainText(), misfitAlert)
	})
}
