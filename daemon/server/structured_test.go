package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"loci/core"
	"loci/daemon/api"
)

// cityFormat asks for an object with a name.
func cityFormat() map[string]any {
	return map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "city", "schema": map[string]any{
		"type": "object", "required": []string{"name"}, "properties": map[string]any{"name": map[string]any{"type": "string"}},
	}}}
}

func TestAResponseFormatIsForTheAgentOrForOneRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always(`{"name":"Oslo"}`))
	plain, formed := f.agent(nil), f.agent(map[string]any{"response_format": cityFormat()})
	f.call("POST", "/v1/agents/"+plain.ID+"/messages", with(text("hi"), "override_response_format", cityFormat())).want(http.StatusOK)
	f.call("POST", "/v1/agents/"+plain.ID+"/messages", text("hi")).want(http.StatusOK)
	f.call("POST", "/v1/agents/"+formed.ID+"/messages", text("hi")).want(http.StatusOK)
	f.model.mu.Lock()
	defer f.model.mu.Unlock()
	for i, want := range []core.AnswerKind{core.AnswerSchema, core.AnswerText, core.AnswerSchema} {
		if got := core.AnswerFormatOf(f.model.requests[i].Settings.ResponseFormat).Kind; got != want {
			t.Errorf("request %d asks for %q, want %q", i, got, want)
		}
	}
}

func TestAnAnswerWithoutItsFormIsAnErrorThatNoSDKRetries(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("Oslo."))
	a := f.agent(nil)
	r := f.call("POST", "/v1/agents/"+a.ID+"/messages", with(text("hi"), "override_response_format", cityFormat())).
		want(http.StatusBadGateway)
	if r.header.Get(api.HeaderError) != api.KindSchemaMismatch || r.header.Get("X-Should-Retry") != "false" {
		t.Errorf("%v", r.header)
	}
	runs := as[[]api.Run](f.call("GET", "/v1/runs?agent_id="+a.ID, nil).want(http.StatusOK))
	if got := api.Val(runs[0].StopReason); got != "invalid_llm_response" {
		t.Errorf("the run ended with %s", got)
	}
}

func TestASchemaThatNobodyCanJudgeByIsRefusedWhereItStands(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(context.Context, int, core.ChatRequest) []any { t.Error("the model was asked"); return nil })
	a := f.agent(nil)
	deep := strings.Repeat(`{"type":"array","items":`, 100) + `{}` + strings.Repeat(`}`, 100)
	for _, schema := range []string{`{"type":"city"}`, `{"pattern":"("}`, `{"$ref":"https://example.com/a.json"}`, deep, `[]`, `7`} {
		format := `{"type":"json_schema","json_schema":{"name":"a","schema":` + schema + `}}`
		f.refuses("POST", "/v1/agents/"+a.ID+"/messages", `{"input":"hi","override_response_format":`+format+`}`,
			`"override_response_format","json_schema"`)
		f.refuses("PATCH", "/v1/agents/"+a.ID, `{"response_format":`+format+`}`, `"response_format","json_schema"`)
	}
}
