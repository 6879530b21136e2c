package providertest

import (
	"context"
	"iter"
	"strings"
	"testing"

	"loci/core"
)

// suiteTexts checks calls that a model writes into its text: they are calls where the form is known, and stay text where
// they are quoted or the form isn't, which a person is told.
func suiteTexts(t *testing.T, s Subject) {
	t.Helper()
	const call = "<tool_call>\n<function=weather>\n<parameter=city>\nÅs\n</parameter>\n</function>\n</tool_call>"
	ask := func(t *testing.T, form, text string, bytes bool) (Answer, []string, *Server) {
		t.Helper()
		server, model := s.start(t, Turn{Reasoning: "They want the weather.", Text: text})
		server.Form = Form{Bytes: bytes}
		req := Ask(s.Model, "hello")
		req.Info.TextCalls, req.Info.Handle = form, core.Handle("my-box/"+s.Model)
		var told []string
		a, err := Collect(t.Context(), t, noticing{model, &told}, req)
		if err != nil {
			t.Fatal(err)
		}
		return a, told, server
	}
	t.Run("become calls", func(t *testing.T) {
		t.Parallel()
		for _, bytes := range []bool{false, true} {
			a, told, _ := ask(t, "qwen3-coder", "I look.\n"+call, bytes)
			if a.Text != "I look.\n" || len(a.Calls) != 1 || a.Calls[0].Name != "weather" || a.Calls[0].Arguments != `{"city":"Ås"}` {
				t.Errorf("%+v", a)
			}
			if len(told) > 0 {
				t.Errorf("told is %q", told)
			}
		}
	})
	t.Run("go back as calls", func(t *testing.T) {
		t.Parallel()
		server, model := s.start(t, Turn{Reasoning: "They want the weather.", Text: call}, Turn{Text: "Fine."})
		req := Ask(s.Model, "hello")
		req.Info.TextCalls = "qwen3-coder"
		a, err := Collect(t.Context(), t, model, req)
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, Continue(a, "22 °C")...)
		if _, err := Collect(t.Context(), t, model, req); err != nil {
			t.Fatal(err)
		}
		last := server.Last()
		if n := len(last.Messages); n < 3 || len(last.Messages[n-2].Calls) != 1 || strings.Contains(string(last.Body), "parameter=") {
			t.Errorf("sent is %s", last.Body)
		}
	})
	t.Run("stay text without the setting, and a person is told", func(t *testing.T) {
		t.Parallel()
		for _, form := range []string{"", "mistral"} {
			a, told, _ := ask(t, form, call, false)
			if a.Text != call || len(a.Calls) > 0 || len(told) != 1 || !strings.Contains(told[0], `text_calls = "qwen3-coder"`) {
				t.Errorf("%q: %+v, told %q", form, a, told)
			}
		}
	})
	t.Run("stay text where they are switched off", func(t *testing.T) {
		t.Parallel()
		if a, told, _ := ask(t, core.TextCallsOff, call, false); a.Text != call || len(a.Calls) > 0 || len(told) > 0 {
			t.Errorf("%+v, told %q", a, told)
		}
	})
	t.Run("stay text where they are quoted", func(t *testing.T) {
		t.Parallel()
		text := "Such a model writes\n```\n" + call + "\n```"
		if a, told, _ := ask(t, "qwen3-coder", text, true); a.Text != text || len(a.Calls) > 0 || len(told) > 0 {
			t.Errorf("%+v, told %q", a, told)
		}
	})
}

// noticing keeps the notices of an answer.
type noticing struct {
	core.ChatModel
	told *[]string
}

// Stream implements core.ChatModel.
func (n noticing) Stream(ctx context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		for d, err := range n.ChatModel.Stream(ctx, req) {
			if d.Notice != nil {
				*n.told = append(*n.told, d.Notice.Text)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}
