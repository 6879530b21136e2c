package server

import (
	"net/http"
	"strings"
	"testing"

	"loci/daemon/api"
)

func TestOneWindowFeedsEverythingThatIsShownOfAnAgent(t *testing.T) {
	t.Parallel()
	type shown struct{ window, open, chars, answer, context, session int }
	for name, c := range map[string]struct {
		set  func(*script)
		body map[string]any
		want shown
	}{
		"a provider without a key, of which nothing is known": {
			func(m *script) { m.keyless.Store(true) }, nil, shown{32_768, 5, 15_000, 0, 32_768, 32_768},
		},
		"a provider without a key, whose models are known": {
			func(m *script) { m.keyless.Store(true); m.told.Store(true) }, nil, shown{100_000, 10, 25_000, 4000, 100_000, 100_000},
		},
		"the agent's own limit, without a key": {
			func(m *script) { m.keyless.Store(true) }, map[string]any{"context_window_limit": 8000}, shown{8000, 3, 5000, 0, 8000, 8000},
		},
		"a larger window than the contract shows": {
			func(m *script) { m.window.Store(400_000) }, nil, shown{128_000, 10, 25_000, 0, 400_000, 400_000},
		},
		"a larger window that was asked for": {
			func(m *script) { m.window.Store(400_000) },
			map[string]any{"context_window_limit": 200_000},
			shown{200_000, 10, 40_000, 0, 200_000, 200_000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, always("ok"))
			c.set(f.model)
			a := f.agent(map[string]any{"model": "test/model"})
			if c.body != nil {
				a = f.agent(with(c.body, "model", "test/model"))
			}
			used := as[api.ContextWindow](f.call("GET", "/v1/agents/"+a.ID+"/context", nil))
			s := as[api.Session](f.socket("POST", api.PathClients, api.Client{Kind: "chat", Open: &api.Open{Agent: a.ID}}, ""))
			got := shown{
				a.LLMConfig.ContextWindow, api.Val(a.MaxFilesOpen), api.Val(a.PerFileViewWindowCharLimit),
				api.Val(a.ModelSettings.MaxOutputTokens), used.ContextWindowSizeMax, s.Window,
			}
			if got != c.want {
				t.Errorf("shown are %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestNumbersAndWordsThatTheContractDoesNotHaveAreRefusedWhereTheyStand(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(human())
	conv := as[api.Conversation](f.call("POST", "/v1/conversations?agent_id="+a.ID, nil))
	f.call("POST", "/v1/agents/"+a.ID+"/messages", text("hi")).want(http.StatusOK)
	step := as[[]api.Step](f.call("GET", "/v1/steps", nil))[0]
	agent, thread := "/v1/agents/"+a.ID, "/v1/conversations/"+conv.ID
	settings := []struct{ body, at string }{
		{`"provider_type":"ollama"`, "provider_type"},
		{`"provider_type":""`, "provider_type"},
		{`"provider_type":5`, "provider_type"},
		{`"provider_type":"openai","temperature":-0.1`, "temperature"},
		{`"temperature":2.1`, "temperature"},
		{`"temperature":"hot"`, "temperature"},
		{`"max_output_tokens":-1`, "max_output_tokens"},
		{`"max_output_tokens":1.5`, "max_output_tokens"},
		{`"effort":"utmost"`, "effort"},
		{`"verbosity":"chatty"`, "verbosity"},
		{`"reasoning":{"reasoning_effort":"utmost"}`, `reasoning","reasoning_effort`},
		{`"thinking":{"type":"maybe"}`, `thinking","type`},
		{`"thinking":{"budget_tokens":-1}`, `thinking","budget_tokens`},
		{`"response_format":{"type":"xml"}`, `response_format","type`},
		{`"response_format":{"a":1}`, "response_format"},
		{`"response_format":{"schema":{}}`, "response_format"},
		{`"response_format":{"type":null}`, `response_format","type`},
		{`"response_schema":{}`, "response_schema"},
	}
	for _, s := range settings {
		for _, to := range [][2]string{
			{"POST", "/v1/agents"}, {"PATCH", agent}, {"POST", "/v1/conversations?agent_id=" + a.ID}, {"PATCH", thread},
		} {
			f.refuses(to[0], to[1], `{"model_settings":{`+s.body+`}}`, `"body","model_settings","`+s.at+`"`)
		}
		f.refuses("PATCH", agent, `{"compaction_settings":{"model_settings":{`+s.body+`}}}`, `"model_settings","`+s.at+`"`)
	}
	for _, key := range []string{"context_window_limit", "max_tokens", "max_files_open", "per_file_view_window_char_limit"} {
		for _, value := range []string{"-1", `"1"`, "0.5", "1e400", "99999999999999999999"} {
			at := `"body","` + key + `"`
			if value[0] == '9' || value[1] == 'e' { // more than a number here can be
				at = `"body"`
			}
			f.refuses("POST", "/v1/agents", `{"`+key+`":`+value+`}`, at)
			f.refuses("PATCH", agent, `{"`+key+`":`+value+`}`, at)
		}
	}
	for body, at := range map[string]string{
		`{"llm_config":{"model":"model","model_endpoint_type":"banana"}}`:  `"llm_config","model_endpoint_type"`,
		`{"llm_config":{"model":"model","context_window":-1}}`:             `"llm_config","context_window"`,
		`{"llm_config":{"model_endpoint_type":"openai","temperature":-1}}`: `"llm_config","temperature"`,
		`{"llm_config":{"model_endpoint_type":"openai","max_tokens":-1}}`:  `"llm_config","max_tokens"`,
		`{"compaction_settings":{"mode":"none"}}`:                          `"compaction_settings","mode"`,
		`{"compaction_settings":{"clip_chars":-1}}`:                        `"compaction_settings","clip_chars"`,
		`{"compaction_settings":{"sliding_window_percentage":2}}`:          `"sliding_window_percentage"`,
		`{"tool_rules":[{"type":"banana","tool_name":"x"}]}`:               `"body","tool_rules"`,
		`{"last_stop_reason":"bored"}`:                                     `"body","last_stop_reason"`,
		`{"response_format":{"a":1}}`:                                      `"body","response_format"`,
		`{"response_format":{"type":"json_schema"}}`:                       `"response_format","json_schema"`,
		`{"model_settings":{"response_format":{"type":"json_schema"}}}`:    `"model_settings","response_format","json_schema"`,
		`{"llm_config":{"response_format":{"type":"json_schema"}}}`:        `"llm_config","response_format","json_schema"`,
	} {
		f.refuses("PATCH", agent, body, at)
		if !strings.Contains(body, "last_stop_reason") {
			f.refuses("POST", "/v1/agents", body, at)
		}
	}
	f.call("PATCH", agent, `{"response_format":{"type":"json_schema","json_schema":{"name":"a"}}}`).want(http.StatusOK)
	f.call("PATCH", agent, `{"response_format":null}`).want(http.StatusOK)
	f.refuses("POST", "/v1/blocks", `{"label":"a","value":"","limit":-1}`, `"body","limit"`)
	f.refuses("PATCH", "/v1/blocks/"+a.Blocks[0].ID, `{"limit":0}`, `"body","limit"`)
	f.refuses("PATCH", "/v1/steps/"+step.ID+"/feedback", `{"feedback":"great"}`, `"body","feedback"`)
	f.refuses("POST", agent+"/messages", `{"messages":[{"type":"banana","role":"user","content":"x"}]}`, `"0","type"`)
	f.refuses("POST", "/v1/messages/search", `{"query":"x","limit":0}`, `"body","limit"`)
	f.refuses("POST", "/v1/agents/messages/search", `{"query":"x","limit":101}`, `"body","limit"`)
	f.refuses("POST", "/v1/passages/search", `{"query":"x","limit":-1}`, `"body","limit"`)
	f.refuses("POST", "/v1/passages/search", `{"query":"x","tag_match_mode":"some"}`, `"body","tag_match_mode"`)
	f.refuses("GET", "/v1/runs?limit=0", "", `"query","limit"`)
	f.refuses("GET", "/v1/runs?stop_reason=bored", "", `"query","stop_reason"`)
	f.refuses("GET", "/v1/steps?feedback=great", "", `"query","feedback"`)
	f.refuses("GET", "/v1/conversations?order=up", "", `"query","order"`)
	f.call("PATCH", "/v1/steps/"+step.ID+"/feedback", `{"feedback":null}`).want(http.StatusOK)
	nulls := `{"max_tokens":null,"context_window_limit":null,"model_settings":null,"last_stop_reason":null}`
	f.call("PATCH", agent, nulls).want(http.StatusOK)
	f.call("PATCH", agent, `{"model_settings":{"provider_type":"openai","temperature":2}}`).want(http.StatusOK)
}

// refuses checks that a request is answered with 422, which names the place: a part of the JSON in the detail's text.
func (f *fixture) refuses(method, path, body, at string) {
	f.t.Helper()
	r := f.call(method, path, body)
	if r.status != http.StatusUnprocessableEntity || !strings.Contains(string(r.body), strings.ReplaceAll(at, `"`, `\"`)) {
		f.t.Errorf("%s %s %s = %d %s, want 422 at %s", method, path, body, r.status, r.body, at)
	}
}

// TestTwoSpellingsOfAKeyDoNotSmuggleANumberIn: keys are matched whatever their case, so one may be checked and the other used.
func TestTwoSpellingsOfAKeyDoNotSmuggleANumberIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(nil)
	conv := as[api.Conversation](f.call("POST", "/v1/conversations?agent_id="+a.ID, nil))
	for _, body := range []string{
		`{"model_settings":{"temperature":1,"Temperature":9}}`,
		`{"model_settings":{"temperature":9},"model_settings":{"provider_type":"openai"}}`,
		`{"model_settings":{"max_output_tokens":1,"Max_Output_Tokens":-9}}`,
		`{"max_tokens":1,"MAX_TOKENS":-9}`,
		`{"context_window_limit":1000,"Context_Window_Limit":-9}`,
	} {
		for _, to := range [][2]string{
			{"POST", "/v1/agents"},
			{"PATCH", "/v1/agents/" + a.ID},
			{"POST", "/v1/conversations?agent_id=" + a.ID},
			{"PATCH", "/v1/conversations/" + conv.ID},
		} {
			r := f.call(to[0], to[1], body)
			for _, wrong := range []string{":9", ":-9"} {
				if r.status == http.StatusOK && strings.Contains(string(r.body), wrong+",") {
					t.Errorf("%s %s %s = %s", to[0], to[1], body, r.body)
				}
			}
		}
	}
}

func TestTheLimitOfAnAnswerStaysUnlessItIsGiven(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	a := f.agent(map[string]any{"max_tokens": 700})
	path := "/v1/agents/" + a.ID
	for _, c := range []struct {
		body string
		want int
	}{
		{`{"model_settings":{"provider_type":"openai","temperature":0.3}}`, 700},
		{`{"model":"test/model","model_settings":{"provider_type":"openai"}}`, 700},
		{`{"llm_config":{"model":"model","model_endpoint_type":"openai","handle":"test/model","context_window":0}}`, 700},
		{`{"model_settings":{"provider_type":"openai","max_output_tokens":300}}`, 300},
		{`{"model_settings":{"provider_type":"openai"}}`, 300},
		{`{"model_settings":{"provider_type":"openai"},"max_tokens":200}`, 200},
		{`{"max_tokens":null}`, 0},
	} {
		if got := as[api.AgentState](f.call("PATCH", path, c.body)); api.Val(got.ModelSettings.MaxOutputTokens) != c.want {
			t.Errorf("after %s an answer has %d tokens, want %d", c.body, api.Val(got.ModelSettings.MaxOutputTokens), c.want)
		}
	}
	f.call("PATCH", path, `{"max_tokens":500}`).want(http.StatusOK)
	for body, want := range map[string]int{
		`{"model_settings":{"provider_type":"openai","temperature":0.3}}`:     500,
		`{"model_settings":{"provider_type":"openai","max_output_tokens":9}}`: 9,
	} {
		conv := as[api.Conversation](f.call("POST", "/v1/conversations?agent_id="+a.ID, body))
		f.call("POST", "/v1/conversations/"+conv.ID+"/messages", with(text("hi"), "streaming", false)).want(http.StatusOK)
		if got := f.model.requests[len(f.model.requests)-1].Settings.MaxOutputTokens; got != want {
			t.Errorf("a conversation with %s asks for %d tokens, want %d", body, got, want)
		}
	}
}
