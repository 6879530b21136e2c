package providers_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"loci/core"
	"loci/providers"
	"loci/providers/providertest"
)

// fault checks a provider and returns the first fault.
func fault(t *testing.T, p *providers.Providers, name, model string, vars map[string]string) core.Finding {
	t.Helper()
	found, err := p.Check(t.Context(), name, model, env(vars))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, f := range found {
		if strings.Contains(f.Detail+f.Hint, "geheim") {
			t.Errorf("the key is shown: %+v", f)
		}
		if !f.Good {
			return f
		}
	}
	return core.Finding{Good: true}
}

// box makes a resolver that knows one server, whose key is in BOX_KEY.
func box(t *testing.T, protocol, base string) *providers.Providers {
	t.Helper()
	p := providers.New(providers.Config{Rows: configured(t, "box", map[string]string{
		"protocol": protocol, "base_url": base, "api_key_env": "BOX_KEY",
	})})
	t.Cleanup(p.Close)
	return p
}

func key() map[string]string { return map[string]string{"BOX_KEY": "geheim"} }

func TestACheckOfWhatWorksEndsWithAnAnswer(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"openai", "openai-responses", "anthropic", "ollama"} {
		s := providertest.NewServer(t)
		p := box(t, word, s.URL)
		if f := fault(t, p, "box", "", key()); !f.Good {
			t.Errorf("%s: %+v", word, f)
		}
		if len(s.Requests()) != 1 {
			t.Errorf("%s: %d requests", word, len(s.Requests()))
		}
	}
}

func TestACheckExplainsWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Key, s.Models = "geheim", []providertest.Model{{Name: "qwen3-32b"}, {Name: "llama-70b"}}
	poor := providertest.NewServer(t)
	poor.Reply = func(providertest.Request) providertest.Turn {
		return providertest.Turn{Fail: &providertest.Fail{Status: 402, Code: "insufficient_quota", Message: "Insufficient credits"}}
	}
	missing := providertest.NewServer(t)
	missing.Models = s.Models
	missing.Reply = func(providertest.Request) providertest.Turn {
		return providertest.Turn{Fail: &providertest.Fail{Status: 404, Code: "model_not_found", Message: "The model does not exist"}}
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	deaf, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + deaf.Addr().String()
	_ = deaf.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html><body>Welcome to the router</body></html>"))
	}))
	t.Cleanup(page.Close)
	for name, c := range map[string]struct {
		base, model  string
		vars         map[string]string
		about        string
		detail, hint string
	}{
		"no key":         {s.URL, "", nil, "key", "no key for box", "BOX_KEY"},
		"a wrong key":    {s.URL, "", map[string]string{"BOX_KEY": "wrong"}, "key", "Incorrect API key", "check BOX_KEY"},
		"nobody":         {nobody, "", key(), "connection", "nothing listens at", "start the server"},
		"no such host":   {"http://no-such-host.invalid", "", key(), "name", "no-such-host.invalid is not found", "how it is written"},
		"not trusted":    {secure.URL, "", key(), "certificate", "signed the server's certificate", "SSL_CERT_FILE"},
		"no TLS":         {strings.Replace(s.URL, "http:", "https:", 1), "", key(), "connection", "speaks no TLS", "http://"},
		"TLS":            {strings.Replace(secure.URL, "https:", "http:", 1), "", key(), "connection", "wants TLS", "https://"},
		"no credit":      {poor.URL, "", key(), "credit", "Insufficient credits", "add credit"},
		"no such model":  {missing.URL, "qwen3-32", key(), "model", "does not exist", "box/qwen3-32b"},
		"something else": {page.URL, "", key(), "path", "lists no models", "correct base_url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fault(t, box(t, "openai", c.base), "box", c.model, c.vars)
			if f.Good || f.Name != c.about || !strings.Contains(f.Detail, c.detail) || !strings.Contains(f.Hint, c.hint) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// under serves some pages of a server below a path, and nothing elsewhere.
func under(t *testing.T, path string, s *providertest.Server, pages ...string) string {
	t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, ok := strings.CutPrefix(r.URL.Path, path)
		if !ok || !slices.Contains(pages, rest) {
			http.NotFound(w, r)
			return
		}
		req, err := http.NewRequestWithContext(r.Context(), r.Method, s.URL+rest, r.Body)
		if err != nil {
			return
		}
		req.Header = r.Header.Clone()
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		var body json.RawMessage
		_ = json.NewDecoder(resp.Body).Decode(&body)
		_, _ = w.Write(body)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

func TestACheckFindsTheRightPathAndProtocol(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Key = "geheim"
	for name, c := range map[string]struct{ at, path, protocol, hint string }{
		"a missing part":  {"/api", "/v1", "openai", "/api/v1"},
		"a part too many": {"", "/v1/openai", "openai", "/v1"},
		"a foreign path":  {"", "/some/path", "openai", "/v1"},
		"another path":    {"/inference", "/v1", "openai", "/inference/v1"},
		"the wrong wire":  {"/anthropic", "/v1", "openai", "/anthropic/v1"},
	} {
		front := under(t, c.at, s, "/v1/models")
		f := fault(t, box(t, c.protocol, front+c.path), "box", "", key())
		if f.Good || f.Name != "path" || !strings.HasPrefix(f.Hint, "set base_url to "+front+c.hint) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	tags := under(t, "", providertest.NewServer(t), "/api/tags", "/api/version", "/api/show", "/api/ps")
	f := fault(t, box(t, "anthropic", tags), "box", "", key())
	if f.Name != "path" || f.Hint != "set base_url to "+tags+", and protocol to ollama" {
		t.Errorf("Ollama behind another protocol: %+v", f)
	}
}

func TestACheckAndARedirectSendTheKeyToNobodyElse(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var leaked []string
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		leaked = append(leaked, r.URL.Path+" "+r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(thief.Close)
	for _, word := range []string{"openai", "anthropic", "ollama"} {
		for _, status := range []int{301, 302, 307, 308} {
			front := httptest.NewServer(http.RedirectHandler(thief.URL+"/v1/models", status))
			p := box(t, word, front.URL)
			f := fault(t, p, "box", "some-model", key())
			told := strings.Contains(f.Detail, "no key was sent there") && strings.Contains(f.Hint, thief.URL)
			if f.Good || f.Name != "address" || !told {
				t.Errorf("%s %d: %+v", word, status, f)
			}
			if chat, _, err := p.Chat(t.Context(), "box/some-model", env(key())); err == nil {
				_, _ = providertest.Collect(t.Context(), t, chat, providertest.Ask("some-model", "hi"))
			}
			_, _ = p.List(t.Context(), env(key()), core.ModelQuery{Provider: "box"})
			front.Close()
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(leaked) > 0 {
		t.Errorf("another origin was asked: %q", leaked)
	}
}
