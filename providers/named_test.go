package providers_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers"
	"loci/providers/providertest"
)

// configured is the catalogue with settings of one provider.
func configured(t *testing.T, name string, settings map[string]string) []providers.Row {
	t.Helper()
	rows, err := providers.Configure(providers.Rows(), map[string]map[string]string{name: settings})
	if err != nil {
		t.Fatalf("%s %v: %v (%s)", name, settings, err, core.HintOf(err))
	}
	return rows
}

func TestAServerOfOnesOwnIsAskedUnderItsNameOnEachWire(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]providertest.Wire{
		"openai": providertest.Chat, "openai-responses": providertest.Responses, "anthropic": providertest.Messages,
		"ollama": providertest.Ollama, "gemini": providertest.Generate,
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			s := providertest.NewServer(t)
			s.Key, s.Models = "geheim", []providertest.Model{{Name: "vendor/m", Window: 20_000}}
			if word == "ollama" {
				s.Key = "" // it takes none of ours
			}
			p := providers.New(providers.Config{Rows: configured(t, "my-box", map[string]string{
				"protocol": word, "base_url": s.URL, "api_key_env": "MY_BOX_KEY",
			})})
			t.Cleanup(p.Close)
			vars := env(map[string]string{"MY_BOX_KEY": "geheim", "OPENAI_BASE_URL": "http://127.0.0.1:1"})
			chat, info, err := p.Chat(t.Context(), "my-box/vendor/m", vars)
			if err != nil || info.Handle != "my-box/vendor/m" || info.Provider != "my-box" {
				t.Fatalf("%+v %v", info, err)
			}
			if _, err := providertest.Collect(t.Context(), t, chat, providertest.Ask("vendor/m", "SAY hi")); err != nil {
				t.Fatal(err)
			}
			if got := s.Last().Wire; got != want {
				t.Errorf("asked on %s, want %s", got, want)
			}
			listed, err := p.List(t.Context(), vars, core.ModelQuery{Provider: "my-box"})
			if err != nil || len(listed) != 1 || listed[0].Handle != "my-box/vendor/m" {
				t.Errorf("listed %+v %v", listed, err)
			}
			if _, _, err := p.Chat(t.Context(), "my-box/vendor/m", env(nil)); core.KindOf(err) != core.Unauthenticated ||
				!strings.Contains(core.HintOf(err), "MY_BOX_KEY") {
				t.Errorf("without its key: %v (%s)", err, core.HintOf(err))
			}
		})
	}
}

func TestAServerOfOnesOwnTakesEveryFormOfItsAddress(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Models = []providertest.Model{{Name: "m"}}
	for _, word := range []string{"openai", "openai-responses", "anthropic", "gemini", "ollama"} {
		forms := []string{"", "/", "/v1", "/v1/"}
		forms = append(forms, map[string][]string{
			"openai": {"/v1/chat/completions", "/v1/models"}, "openai-responses": {"/v1/responses"},
			"anthropic": {"/v1/messages"}, "ollama": {"/api", "/api/"},
			"gemini": {"/v1beta", "/v1beta/", "/v1beta/models/m:generateContent"},
		}[word]...)
		for _, form := range forms {
			p := providers.New(providers.Config{Rows: configured(t, "box", map[string]string{"protocol": word, "base_url": s.URL + form})})
			t.Cleanup(p.Close)
			answers(t, p, "box/m", env(nil), word+" at "+form)
		}
	}
}

// answers checks that a model can be asked.
func answers(t *testing.T, p *providers.Providers, handle core.Handle, vars core.Env, what string) {
	t.Helper()
	chat, _, err := p.Chat(t.Context(), handle, vars)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	_, name, _ := handle.Split()
	if _, err := providertest.Collect(t.Context(), t, chat, providertest.Ask(name, "SAY hi")); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func TestEveryRowTakesEveryFormOfItsAddress(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Models = []providertest.Model{{Name: "m"}}
	six := overIPv6(t, s)
	for _, row := range providers.Rows() {
		if row.Protocol == nil || row.BaseURLVar == "" {
			continue
		}
		whole := map[string]string{
			"openai": "/v1/chat/completions", "anthropic": "/v1/messages", "gemini": "/v1beta/models/m:streamGenerateContent?alt=sse",
			"ollama": "/api",
		}[row.Protocol.Name()]
		bases := []string{s.URL, s.URL + "/", s.URL + "/v1", s.URL + "/v1/", s.URL + whole}
		if six != "" {
			bases = append(bases, six, six+"/v1")
		}
		for _, base := range bases {
			p := providers.New(providers.Config{})
			t.Cleanup(p.Close)
			vars := env(map[string]string{row.BaseURLVar: base, row.KeyVars()[0]: "k"})
			answers(t, p, core.Handle(row.Name+"/m"), vars, row.Name+" at "+base)
		}
	}
}

// overIPv6 serves what s serves at an IPv6 address; "" where this machine has none.
func overIPv6(t *testing.T, s *providertest.Server) string {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp6", "[::1]:0")
	if err != nil {
		return ""
	}
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := &httptest.Server{Listener: l, Config: &http.Server{Handler: httputil.NewSingleHostReverseProxy(to)}}
	front.Start()
	t.Cleanup(front.Close)
	return "http://" + l.Addr().String()
}

func TestAVendorsOwnHostKeepsItsPath(t *testing.T) {
	t.Parallel()
	for _, row := range providers.Rows() {
		if row.Protocol == nil || row.Local || !strings.HasPrefix(row.BaseURL, "https://") || strings.Contains(row.BaseURL, "{") {
			continue
		}
		own, err := url.Parse(row.BaseURL)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{"https://" + own.Host, "https://" + own.Host + "/", row.BaseURL, row.BaseURL + "/"} {
			h := &hosts{server: providertest.NewServer(t)}
			p := providers.New(providers.Config{HTTP: h})
			t.Cleanup(p.Close)
			vars := env(map[string]string{row.BaseURLVar: form, row.KeyVars()[0]: "k"})
			_, info, err := p.Chat(t.Context(), core.Handle(row.Name+"/m"), vars)
			if err != nil || info.Endpoint != row.BaseURL {
				t.Errorf("%s at %s is asked at %q: %v", row.Name, form, info.Endpoint, err)
			}
		}
	}
}

func TestWrongSettingsOfOnesOwnServerSayWhatToWrite(t *testing.T) {
	t.Parallel()
	const at = "http://127.0.0.1:9/v1"
	for _, c := range []struct {
		name     string
		settings map[string]string
		want     string
		hint     string
	}{
		{"box", map[string]string{"base_url": at}, "protocol is missing", "anthropic, gemini, ollama, openai, openai-responses"},
		{"box", map[string]string{"protocol": "openai"}, "base_url is missing", "http://"},
		{"box", map[string]string{"protocol": "morse", "base_url": at}, `protocol cannot be "morse"`, "anthropic"},
		{"box", map[string]string{"protocol": "openai", "base_url": "nowhere"}, "is not the address", "http://"},
		{"box", map[string]string{"protocol": "openai", "base_url": "http://u:p@h/v1"}, "holds credentials", "own variable"},
		{"box", map[string]string{"protocol": "openai", "base_url": at, "api_key_env": "sk-geheim"}, "api_key_env", "MY_SERVER_KEY"},
		{"box", map[string]string{"protocol": "openai", "base_url": at, "api_key": "sk-geheim"}, `no setting "api_key"`, "api_key_env"},
		{"box", map[string]string{"protocol": "openai", "base_url": at, "auth": "smile"}, "auth cannot be", "bearer"},
		{"box", map[string]string{"protocol": "openai", "base_url": at, "context_window": "big"}, "context_window cannot be", "32768"},
		{"box", map[string]string{"protocol": "openai", "base_url": at, "models.m.colour": "red"}, `no setting "colour"`, "context_window"},
		{"Box", map[string]string{"protocol": "openai", "base_url": at}, `"Box" is no name`, "small letters"},
		{"-box", map[string]string{"protocol": "openai", "base_url": at}, "is no name", "dash"},
		{strings.Repeat("b", 33), map[string]string{"protocol": "openai", "base_url": at}, "is no name", "32"},
		{"kimi", map[string]string{"protocol": "openai", "base_url": at}, `"kimi" is taken`, "my-kimi"},
		{"offline", map[string]string{"protocol": "openai", "base_url": at}, "is taken", "my-offline"},
		{"letta", map[string]string{"protocol": "openai", "base_url": at}, "is taken", "my-letta"},
		{"openai", map[string]string{"protocol": "anthropic"}, "protocol cannot be set for OpenAI", "my-openai"},
		{"groq", map[string]string{"api_key_env": "X"}, "api_key_env cannot be set", "my-groq"},
	} {
		_, err := providers.Configure(providers.Rows(), map[string]map[string]string{c.name: c.settings})
		if core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), c.want) || !strings.Contains(core.HintOf(err), c.hint) {
			t.Errorf("%s %v: %v (%s)", c.name, c.settings, err, core.HintOf(err))
		}
		if err != nil && strings.Contains(err.Error()+core.HintOf(err), "geheim") {
			t.Errorf("a key is repeated: %v", err)
		}
	}
}

func TestWhatIsSaidOfModelsCounts(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Models = []providertest.Model{{Name: "a", Window: 8_000}, {Name: "b", Window: 8_000}}
	p := providers.New(providers.Config{Rows: configured(t, "box", map[string]string{
		"protocol": "openai", "base_url": s.URL, "context_window": "50000", "models.b.context_window": "60000",
		"models.b.max_output": "700", "models.b.tools": "off", "models.b.images": "off", "models.deployed.v1.context_window": "9000",
	})})
	t.Cleanup(p.Close)
	listed, err := p.List(t.Context(), env(nil), core.ModelQuery{Provider: "box"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, m := range listed {
		got[m.Name] = m.ContextWindow
		if m.Name == "b" && (m.MaxOutput != 700 || m.Tools || m.Images != core.ImagesRefused) {
			t.Errorf("b: %+v", m)
		}
	}
	if diff := cmp.Diff(map[string]int{"a": 50_000, "b": 60_000, "deployed.v1": 9_000}, got); diff != "" {
		t.Error(diff)
	}
}

func TestModelsOfAServerWithoutAListingAreThoseThatTheSettingsName(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	p := providers.New(providers.Config{Rows: configured(t, "box", map[string]string{
		"protocol": "openai", "base_url": s.URL, "models.gpt-mine.context_window": "9000",
	})})
	t.Cleanup(p.Close)
	if found := p.First(t.Context(), env(nil)); !found.OK || found.Info.Handle != "box/gpt-mine" {
		t.Errorf("%+v", found)
	}
}

func TestTheKeyGoesWhereASettingSays(t *testing.T) {
	t.Parallel()
	for auth, header := range map[string]string{
		"bearer": "Authorization", "x-api-key": "X-Api-Key", "x-goog-api-key": "X-Goog-Api-Key", "api-key": "Api-Key",
	} {
		for _, word := range []string{"openai", "anthropic", "gemini"} {
			s := providertest.NewServer(t)
			p := providers.New(providers.Config{Rows: configured(t, "box", map[string]string{
				"protocol": word, "base_url": s.URL, "api_key_env": "BOX_KEY", "auth": auth,
			})})
			t.Cleanup(p.Close)
			answers(t, p, "box/test-model", env(map[string]string{"BOX_KEY": "geheim"}), word+" by "+auth)
			for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"} {
				if has := s.Last().Header.Get(name) != ""; has != (name == header) {
					t.Errorf("%s by %s: header %s is %v", word, auth, name, has)
				}
			}
		}
	}
}

func TestAVendorsQuirksAreKeptUnderAnotherName(t *testing.T) {
	t.Parallel()
	h := &hosts{server: providertest.NewServer(t)}
	p := providers.New(providers.Config{HTTP: h, Rows: configured(t, "second", map[string]string{
		"protocol": "openai", "base_url": "https://api.openai.com", "api_key_env": "SECOND_KEY",
	})})
	t.Cleanup(p.Close)
	vars := env(map[string]string{"SECOND_KEY": "k"})
	chat, info, err := p.Chat(t.Context(), "second/gpt-5.1", vars)
	if err != nil || info.Endpoint != "https://api.openai.com/v1" {
		t.Fatalf("%+v %v", info, err)
	}
	h.server.Script(providertest.Turn{Text: "ok"})
	_, err = providertest.Collect(t.Context(), t, chat, providertest.Ask("gpt-5.1", "hi"))
	if err != nil || h.server.Last().Wire != providertest.Responses {
		t.Errorf("%v on %s", err, h.server.Last().Wire)
	}
}

func TestATokenThatIsSetForOtherPurposesChoosesNoModel(t *testing.T) {
	t.Parallel()
	h := &hosts{server: providertest.NewServer(t)}
	p := providers.New(providers.Config{HTTP: h})
	t.Cleanup(p.Close)
	vars := env(map[string]string{"HF_TOKEN": "hf", "OLLAMA_HOST": "127.0.0.1:1"})
	if found := p.First(t.Context(), vars); found.OK && found.Info.Provider == "huggingface" {
		t.Errorf("%+v", found)
	}
	if slices.Contains(h.asked, "router.huggingface.co") {
		t.Errorf("asked %v", h.asked)
	}
	answers(t, p, "hf/test-model", vars, "named")
}
