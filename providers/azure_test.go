package providers_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"loci/core"
	"loci/providers"
)

// resource is one of Azure's, as its clients see it.
type resource struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // method, path with its query, model and what signed it
	lists bool
}

func newResource(t *testing.T, lists bool) *resource {
	t.Helper()
	r := &resource{lists: lists}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP answers deployments and chats.
func (r *resource) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	raw, _ := io.ReadAll(req.Body)
	var body struct {
		Model string `json:"model"`
		Limit int    `json:"max_completion_tokens"`
	}
	_ = json.Unmarshal(raw, &body)
	signed := "key " + req.Header.Get("Api-Key")
	if bearer := req.Header.Get("Authorization"); bearer != "" {
		signed = bearer
	}
	r.mu.Lock()
	r.asked = append(r.asked, strings.Join([]string{req.Method, req.URL.RequestURI(), body.Model, signed}, " "))
	r.mu.Unlock()
	switch {
	case strings.HasPrefix(req.URL.Path, "/openai/deployments") && req.Method == http.MethodGet:
		if !r.lists {
			http.Error(w, `{"error":{"code":"404","message":"Resource not found"}}`, http.StatusNotFound)
			return
		}
		fmt.Fprint(w, `{"data":[{"id":"ours","model":"gpt-4o-mini","status":"succeeded"},
			{"id":"deep","model":"gpt-5.4","status":"succeeded"},
			{"id":"vectors","model":"text-embedding-3-small","status":"succeeded"},
			{"id":"half","model":"gpt-4o","status":"creating"}],"object":"list"}`)
	case strings.HasSuffix(req.URL.Path, "/chat/completions"):
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n"+
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\","+
			"\"content_filter_results\":{}}]}\n\n"+
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n")
	case strings.HasSuffix(req.URL.Path, "/responses"):
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"delta\":\"Deep\"}\n\n"+
			"data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"id\":\"m\","+
			"\"content\":[{\"type\":\"output_text\",\"text\":\"Deep\"}]}],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n")
	default:
		http.Error(w, `{"error":{"code":"404","message":"Resource not found"}}`, http.StatusNotFound)
	}
}

func (r *resource) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[len(r.asked)-1]
}

// azureWith are the providers with settings for Azure.
func azureWith(t *testing.T, settings map[string]string) *providers.Providers {
	t.Helper()
	rows, err := providers.Configure(providers.Rows(), map[string]map[string]string{"azure": settings})
	if err != nil {
		t.Fatal(err)
	}
	p := providers.New(providers.Config{Rows: rows})
	t.Cleanup(p.Close)
	return p
}

func answerOf(t *testing.T, p *providers.Providers, handle core.Handle, vars core.Env) (string, core.ModelInfo) {
	t.Helper()
	chat, info, err := p.Chat(t.Context(), handle, vars)
	if err != nil {
		t.Fatal(err)
	}
	_, name, _ := handle.Split()
	text := ""
	req := core.ChatRequest{Model: name, Messages: []core.ChatMessage{{Role: core.ChatUser, Text: "hi"}}}
	for d, err := range chat.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		text += d.Text
	}
	return text, info
}

func TestTheDeploymentsOfAzureAppearWithOnlyItsVariablesSet(t *testing.T) {
	t.Parallel()
	r := newResource(t, true)
	p := providers.New(providers.Config{})
	t.Cleanup(p.Close)
	vars := env(map[string]string{"AZURE_OPENAI_ENDPOINT": r.URL + "/", "AZURE_OPENAI_API_KEY": "k"})
	models, err := p.List(t.Context(), vars, core.ModelQuery{Provider: "azure"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range models {
		got = append(got, fmt.Sprint(m.Handle, " ", m.Base, " ", m.ContextWindow, " ", m.Hidden))
	}
	slices.Sort(got)
	want := []string{
		"azure/deep gpt-5.4 1050000 ", "azure/half gpt-4o 128000 its deployment is creating", "azure/ours gpt-4o-mini 128000 ",
		"azure/vectors text-embedding-3-small 8191 it embeds texts",
	}
	if !slices.Equal(got, want) {
		t.Errorf("there are\n%s", strings.Join(got, "\n"))
	}
	if text, _ := answerOf(t, p, "azure/ours", vars); text != "Hi" || r.last() != "POST /openai/v1/chat/completions ours key k" {
		t.Errorf("%q by %s", text, r.last())
	}
	if text, _ := answerOf(t, p, "azure/deep", vars); text != "Deep" || r.last() != "POST /openai/v1/responses deep key k" {
		t.Errorf("what reasons is asked otherwise: %q by %s", text, r.last())
	}
}

func TestWhatIsMissingForAzureIsOneLine(t *testing.T) {
	t.Parallel()
	r := newResource(t, false)
	p := providers.New(providers.Config{})
	t.Cleanup(p.Close)
	for name, c := range map[string]struct {
		env  map[string]string
		says string
	}{
		"no address": {map[string]string{"AZURE_OPENAI_API_KEY": "k"}, "AZURE_OPENAI_ENDPOINT to the whole address"},
		"no listing": {map[string]string{"AZURE_OPENAI_ENDPOINT": r.URL, "AZURE_OPENAI_API_KEY": "k"}, "base_model"},
	} {
		said := p.Silent(t.Context(), env(c.env))
		if len(said) != 1 || !strings.Contains(said[0], c.says) || strings.Contains(said[0], "\n") {
			t.Errorf("%s: %q", name, said)
		}
	}
	vars := env(map[string]string{"AZURE_OPENAI_ENDPOINT": r.URL, "AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_DEPLOYMENT": "mine"})
	models, err := p.List(t.Context(), vars, core.ModelQuery{Provider: "azure"})
	if err != nil || len(models) != 1 || models[0].Name != "mine" {
		t.Errorf("a deployment that a variable names: %v %v", models, err)
	}
}

func TestADeploymentIsTheModelThatTheConfigurationSays(t *testing.T) {
	t.Parallel()
	r := newResource(t, false)
	p := azureWith(t, map[string]string{"models.prod.base_model": "gpt-5.4", "base_url": r.URL + "/openai"})
	vars := env(map[string]string{"AZURE_API_KEY": "k"})
	text, info := answerOf(t, p, "azure/prod", vars)
	if text != "Deep" || info.ContextWindow != 1_050_000 || info.Base != "gpt-5.4" || r.last() != "POST /openai/v1/responses prod key k" {
		t.Errorf("%q %+v by %s", text, info, r.last())
	}
	models, err := p.List(t.Context(), vars, core.ModelQuery{Provider: "azure"})
	if err != nil || len(models) != 1 || models[0].Handle != "azure/prod" {
		t.Errorf("%v %v", models, err)
	}
}

func TestAzuresOlderAddressesNameTheDeploymentAndAVersion(t *testing.T) {
	t.Parallel()
	r := newResource(t, true)
	vars := env(map[string]string{
		"AZURE_OPENAI_ENDPOINT":    r.URL + "/openai/deployments/ours/chat/completions?api-version=2024-06-01",
		"AZURE_OPENAI_API_VERSION": "2024-10-21", "AZURE_OPENAI_AD_TOKEN": "t",
	})
	p := azureWith(t, nil)
	const want = "POST /openai/deployments/deep/chat/completions?api-version=2024-10-21 deep Bearer t"
	if text, _ := answerOf(t, p, "azure/deep", vars); text != "Hi" || r.last() != want {
		t.Errorf("%q by %s", text, r.last())
	}
	wrong := map[string]map[string]string{"azure": {"api_version": "newest"}}
	if _, err := providers.Configure(providers.Rows(), wrong); core.KindOf(err) != core.Invalid {
		t.Errorf("%v", err)
	}
}

func TestATokenThatACommandPrintsSignsUntilItExpires(t *testing.T) {
	t.Parallel()
	r := newResource(t, true)
	script := filepath.Join(t.TempDir(), "token")
	count := filepath.Join(t.TempDir(), "count")
	text := "#!/bin/sh\necho run >> \"" + count + "\"\necho printed\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	p := azureWith(t, map[string]string{"base_url": r.URL, "token_command": "'" + script + "' --resource x"})
	for range 2 {
		if text, _ := answerOf(t, p, "azure/ours", env(nil)); text != "Hi" || !strings.HasSuffix(r.last(), " Bearer printed") {
			t.Errorf("%q by %s", text, r.last())
		}
	}
	if runs, err := os.ReadFile(count); err != nil || strings.Count(string(runs), "run") != 1 {
		t.Errorf("it ran %q, %v", runs, err)
	}
	broken := azureWith(t, map[string]string{"base_url": r.URL, "token_command": "/no/such/program"})
	if said := broken.Silent(t.Context(), env(nil)); len(said) != 1 {
		t.Errorf("a command that doesn't run: %q", said)
	}
}
