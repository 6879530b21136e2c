package server

import (
	"net/http"
	"strings"
	"testing"

	"loci/daemon/api"
)

func TestProvidersAreStoredByTheContractAndTheirKeysAreNowhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	made := f.call("POST", "/v1/providers", map[string]any{
		"name": "mine", "provider_type": "anthropic", "api_key": "sk-geheim", "base_url": "http://127.0.0.1:9",
	}).want(http.StatusOK)
	p := as[api.Provider](made)
	if p.Name != "mine" || p.ProviderType != "anthropic" || p.ProviderCategory != "byok" || api.Val(p.BaseURL) != "http://127.0.0.1:9/v1" ||
		!strings.HasPrefix(api.Val(p.ID), "provider-") {
		t.Errorf("%+v", p)
	}
	at := "/v1/providers/" + api.Val(p.ID)
	for _, got := range []string{
		string(made.body), string(f.call("GET", "/v1/providers", nil).want(http.StatusOK).body),
		string(f.call("GET", at, nil).want(http.StatusOK).body),
		string(f.call("PATCH", at, map[string]any{"api_key": "sk-geheim-2"}).want(http.StatusOK).body),
		string(f.call("PATCH", at+"/refresh", nil).want(http.StatusOK).body),
		string(f.call("POST", at+"/check", nil).want(http.StatusBadRequest).body),
		string(f.call("POST", "/v1/providers/check", map[string]any{
			"provider_type": "openai", "api_key": "sk-geheim", "base_url": "http://127.0.0.1:9",
		}).want(http.StatusBadRequest).body),
	} {
		if strings.Contains(got, "geheim") {
			t.Errorf("a key is shown: %s", got)
		}
	}
	for _, wrong := range []map[string]any{
		{"name": "mine", "provider_type": "openai", "api_key": "k"},     // the name is taken
		{"name": "openai", "provider_type": "openai", "api_key": "k"},   // by a provider that is known
		{"name": "other", "provider_type": "baseten", "api_key": "k"},   // not supported
		{"name": "other", "provider_type": "openai", "api_key": "a\nb"}, // no key
	} {
		f.call("POST", "/v1/providers", wrong).want(http.StatusBadRequest)
	}
	f.call("DELETE", at, nil).want(http.StatusOK)
	f.call("GET", at, nil).want(http.StatusNotFound)
	f.call("POST", "/v1/providers", map[string]any{
		"name": "mine", "provider_type": "ollama", "api_key": "", "base_url": "http://127.0.0.1:9",
	}).want(http.StatusOK)
}

func TestNoAnswerRepeatsAKeyThatWasSentInAWrongForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	for path, bodies := range map[string][]string{
		"/v1/providers": {
			`{"name":"mine","provider_type":"openai","api_key":1234567}`, `{"name":"mine","provider_type":"openai","api_key":"sk-1234567`,
		},
		"/v1/agents": {`{"secrets":1234567}`, `{"secrets":{"TOKEN":1234567}}`, `{"tool_exec_environment_variables":{"TOKEN":1234567}}`},
	} {
		for _, body := range bodies {
			if r := f.call("POST", path, body); r.status != http.StatusUnprocessableEntity || strings.Contains(string(r.body), "1234567") {
				t.Errorf("%s: %d %s", body, r.status, r.body)
			}
		}
	}
}

func TestAProvidersListDoesNotBeginAtOneThatIsNotThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"))
	for _, cursor := range []string{"after", "before"} {
		f.call(http.MethodGet, "/v1/providers?"+cursor+"=provider-00000000-0000-4000-8000-000000000000", nil).want(http.StatusNotFound)
	}
}
