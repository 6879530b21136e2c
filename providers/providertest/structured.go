package providertest

import (
	"strings"
	"testing"

	"loci/core"
)

// structuredSchema is a schema as requests have it.
const structuredSchema = `{"additionalProperties":false,"properties":{"city":{"type":"string"}},"required":["city"],"type":"object"}`

// structuredForm is a schema of the answer where a wire has it in its requests.
func structuredForm(w Wire) string {
	return map[Wire]string{
		Chat: `"response_format":{"json_schema":{"name":"answer","schema":` + structuredSchema +
			`,"strict":true},"type":"json_schema"}`,
		Responses: `"text":{"format":{"type":"json_schema","name":"answer","schema":` + structuredSchema + `,"strict":true}}`,
		Messages:  `"output_config":{"format":{"type":"json_schema","schema":` + structuredSchema + `}}`,
		Generate:  `"responseMimeType":"application/json","responseJsonSchema":` + structuredSchema,
		Ollama:    `"format":` + structuredSchema,
	}[w]
}

// structuredAsk asks for an answer by a schema.
func (s Subject) structuredAsk(tools bool) core.ChatRequest {
	req := Ask(orText(s.Enforces, s.Model), "hello")
	req.Settings.ResponseFormat = map[string]any{"type": "json_schema", "json_schema": map[string]any{"schema": map[string]any{
		"type": "object", "additionalProperties": false, "required": []any{"city"},
		"properties": map[string]any{"city": map[string]any{"type": "string"}},
	}}}
	if !tools {
		req.Tools = nil
	}
	return req
}

func suiteStructured(t *testing.T, s Subject) {
	t.Helper()
	t.Run("a schema of the answer stands where the wire has it", func(t *testing.T) {
		t.Parallel()
		server, model := s.start(t, Turn{Text: `{"city":"Oslo"}`})
		if a, err := Collect(t.Context(), t, model, s.structuredAsk(false)); err != nil || a.Text != `{"city":"Oslo"}` {
			t.Fatalf("%+v: %v", a, err)
		}
		if r := server.Last(); !strings.Contains(string(r.Body), structuredForm(r.Wire)) {
			t.Errorf("no %s in %s", structuredForm(r.Wire), r.Body)
		}
	})
	t.Run("a schema that is refused is asked for in words from then on", func(t *testing.T) {
		t.Parallel()
		refusal := "response_format (output_config.format, response_schema): structured output is not supported by this model"
		server, model := s.start(
			t, Turn{Fail: &Fail{Status: 400, Message: refusal}}, Turn{Text: `{"city":"Oslo"}`}, Turn{Text: `{"city":"Rome"}`})
		for _, want := range []string{`{"city":"Oslo"}`, `{"city":"Rome"}`} {
			if a, err := Collect(t.Context(), t, model, s.structuredAsk(false)); err != nil || a.Text != want {
				t.Fatalf("%+v: %v", a, err)
			}
		}
		requests := server.Requests()
		if len(requests) != 3 {
			t.Fatalf("%d requests, want 3", len(requests))
		}
		for _, r := range requests[1:] {
			last := r.Messages[len(r.Messages)-1].Text
			if strings.Contains(string(r.Body), structuredForm(r.Wire)) || !strings.Contains(last, structuredSchema) {
				t.Errorf("%s", r.Body)
			}
		}
	})
	t.Run("tools are called before an answer by a schema", func(t *testing.T) {
		t.Parallel()
		call := Call{ID: "call_1", Name: "weather", Arguments: `{"city":"Oslo"}`}
		_, model := s.start(t, Turn{Calls: []Call{call}}, Turn{Text: `{"city":"Oslo"}`})
		req := s.structuredAsk(true)
		a, err := Collect(t.Context(), t, model, req)
		if err != nil || len(a.Calls) != 1 {
			t.Fatalf("%+v: %v", a, err)
		}
		req.Messages = append(req.Messages, Continue(a, "rain")...)
		if a, err = Collect(t.Context(), t, model, req); err != nil || a.Text != `{"city":"Oslo"}` {
			t.Errorf("%+v: %v", a, err)
		}
	})
	t.Run("an answer by a schema that looks like a call is none", func(t *testing.T) {
		t.Parallel()
		text := `{"name":"clock","arguments":{"city":"Oslo"}}`
		_, model := s.start(t, Turn{Text: text})
		req := s.structuredAsk(true)
		req.Info.TextCalls = "json"
		if a, err := Collect(t.Context(), t, model, req); err != nil || a.Text != text || len(a.Calls) != 0 {
			t.Errorf("%+v: %v", a, err)
		}
	})
	t.Run("any JSON object is asked for where no parameter says it", func(t *testing.T) {
		t.Parallel()
		server, model := s.start(t, Turn{Text: "{}"})
		req := s.structuredAsk(false)
		req.Settings.ResponseFormat = map[string]any{"type": "json_object"}
		if _, err := Collect(t.Context(), t, model, req); err != nil {
			t.Fatal(err)
		}
		r := server.Last()
		want := map[Wire]string{Generate: `"responseMimeType":"application/json"`, Ollama: `"format":"json"`}[r.Wire]
		if !strings.Contains(string(r.Body), orText(want, "one JSON object and nothing else")) {
			t.Errorf("%s", r.Body)
		}
	})
}
