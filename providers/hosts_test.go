package providers_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers"
	"loci/providers/providertest"
)

func TestAddressesAreToldApartWithoutBeingKept(t *testing.T) {
	t.Parallel()
	p := resolver(t, &contacts{})
	mine := p.Moved(env(map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1", "OLLAMA_HOST": "gpu.local"}))
	same := p.Moved(
		env(map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:8000", "OPENAI_API_KEY": "k", "OLLAMA_HOST": "http://gpu.local:11434/"}),
	)
	other := p.Moved(env(map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:8001", "OLLAMA_HOST": "nowhere at all"}))
	if diff := cmp.Diff(mine, same); diff != "" || len(mine) != 2 {
		t.Errorf("one address in two spellings (-one +other):\n%s", diff)
	}
	if len(other) != 1 || other["openai"] == mine["openai"] {
		t.Errorf("another address: %q, was %q", other, mine)
	}
	for name, digest := range mine {
		if strings.Contains(digest, "gpu") || strings.Contains(digest, "8000") {
			t.Errorf("the address of %s is kept: %s", name, digest)
		}
	}
	for _, vars := range []map[string]string{{}, {"OPENAI_API_KEY": "k"}, {"OPENAI_BASE_URL": "https://api.openai.com/v1"}} {
		if at := p.Moved(env(vars)); len(at) > 0 {
			t.Errorf("%v moves %q", vars, at)
		}
	}
}

func TestWhatIsNotBuiltIsNamed(t *testing.T) {
	t.Parallel()
	p := resolver(t, &contacts{})
	vars := env(map[string]string{"AWS_ACCESS_KEY_ID": "a"})
	if diff := cmp.Diff([]string{"AWS_ACCESS_KEY_ID"}, p.Unbuilt(vars)); diff != "" {
		t.Error(diff)
	}
	for handle, want := range map[core.Handle]string{
		"aws/claude":     "Amazon Bedrock is not supported yet",
		"bedrock/claude": "Amazon Bedrock is not supported yet",
	} {
		if _, _, err := p.Chat(
			t.Context(),
			handle,
			vars,
		); core.KindOf(err) != core.Unsupported || err.Error() != want ||
			!strings.Contains(core.HintOf(err), "openrouter") {
			t.Errorf("%s: %v (%s)", handle, err, core.HintOf(err))
		}
		if _, _, err := p.Embedder(t.Context(), handle, vars); core.KindOf(err) != core.Unsupported {
			t.Errorf("%s embeds: %v", handle, err)
		}
	}
}

// hosts answers for every host from one server and records who was asked.
type hosts struct {
	server *providertest.Server
	mu     sync.Mutex
	asked  []string
}

func (h *hosts) RoundTrip(req *http.Request) (*http.Response, error) {
	h.mu.Lock()
	h.asked = append(h.asked, req.URL.Host)
	h.mu.Unlock()
	to := req.Clone(req.Context())
	to.URL.Scheme, to.URL.Host, to.Host = "http", strings.TrimPrefix(h.server.URL, "http://"), ""
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(to)
}

func TestARegionalHostKeepsItsVendorsWire(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]providertest.Wire{
		"https://eu.api.openai.com/v1": providertest.Responses, "https://us.api.openai.com/v1": providertest.Responses,
		"https://api.openai.com/v1":             providertest.Responses,
		"https://api.openai.com.example.com/v1": providertest.Chat, "https://notapi.openai.com/v1": providertest.Chat,
		"http://api.openai.com/v1": providertest.Chat,
		"https://api.x.ai/v1":      providertest.Responses, "https://eu.api.x.ai/v1": providertest.Responses,
		"https://proxy.example.com/v1": providertest.Chat,
	} {
		h := &hosts{server: providertest.NewServer(t)}
		h.server.Script(providertest.Turn{Text: "ok"})
		p := providers.New(providers.Config{HTTP: h})
		t.Cleanup(p.Close)
		vars := env(map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": base})
		chat, info, err := p.Chat(t.Context(), "openai/gpt-5.1", vars)
		if err != nil || info.Endpoint != base {
			t.Errorf("%s: %+v %v", base, info, err)
			continue
		}
		if _, err := providertest.Collect(t.Context(), t, chat, providertest.Ask("gpt-5.1", "hi")); err != nil {
			t.Errorf("%s: %v", base, err)
			continue
		}
		if got := h.server.Last().Wire; got != want || !strings.Contains(base, "/"+h.asked[len(h.asked)-1]+"/") {
			t.Errorf("%s is asked on %s, want %s; hosts %v", base, got, want, h.asked)
		}
	}
}

func TestAServersWireAndQuirksAreSetInTheConfiguration(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"vllm", "openai"} {
		s := providertest.NewServer(t)
		s.Models = []providertest.Model{{Name: "m"}}
		s.Script(providertest.Turn{Text: "ok"})
		rows, err := providers.Configure(providers.Rows(), map[string]map[string]string{name: {"base_url": s.V1(), "wire": "responses"}})
		if err != nil {
			t.Fatal(err)
		}
		p := providers.New(providers.Config{Rows: rows})
		t.Cleanup(p.Close)
		chat, info, err := p.Chat(t.Context(), core.Handle(name+"/m"), env(nil))
		if err != nil || info.Endpoint != s.V1() {
			t.Fatalf("%s: %+v %v", name, info, err)
		}
		if _, err := providertest.Collect(
			t.Context(),
			t,
			chat,
			providertest.Ask("m", "hi"),
		); err != nil ||
			s.Last().Wire != providertest.Responses {
			t.Errorf("%s: %v on %s", name, err, s.Last().Wire)
		}
		if found := p.First(t.Context(), env(nil)); !found.OK || !strings.Contains(found.Because, "providers."+name+".base_url is set") {
			t.Errorf("%s: %+v", name, found)
		}
	}
	for want, settings := range map[string]map[string]map[string]string{
		`there is no provider "nobody"`: {"nobody": {"wire": "chat"}}, "wire cannot be": {"vllm": {"wire": "morse"}},
		`there is no setting "colour"`: {"vllm": {"colour": "red"}},
		`there is no setting "wire"`:   {"ollama": {"wire": "chat"}}, "keep_alive cannot be": {"ollama": {"keep_alive": "soon"}},
		"is not the address": {"vllm": {"base_url": "nowhere"}},
	} {
		if _, err := providers.Configure(
			providers.Rows(),
			settings,
		); core.KindOf(err) != core.Invalid ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", settings, err)
		}
	}
}
