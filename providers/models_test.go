package providers_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers"
	"loci/providers/providertest"
)

func TestListShowsChatModelsInOrderAndOfflineLast(t *testing.T) {
	t.Parallel()
	s, local := providertest.NewServer(t), providertest.NewServer(t)
	s.Models = []providertest.Model{
		{Name: "text-embedding-3-small"},
		{Name: "llama-guard"},
		{Name: "plain", NoTools: true},
		{Name: "other", Window: 9000},
		{Name: "openai/gpt-oss-120b"},
	}
	local.Models = []providertest.Model{
		{Name: "nomic-embed", Embed: true},
		{Name: "tiny:latest", NoTools: true, Window: 2048},
		{Name: "qwen3", Thinking: true, Window: 40960, Running: 32768},
	}
	p := resolver(t, &contacts{}, s, local)
	vars := env(map[string]string{"GROQ_API_KEY": "k", "GROQ_BASE_URL": s.URL, "OLLAMA_HOST": strings.TrimPrefix(local.URL, "http://")})
	list, err := p.List(t.Context(), vars, core.ModelQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var got, hidden []string
	list = slices.DeleteFunc(list, func(m core.ModelInfo) bool {
		if m.Hidden != "" {
			hidden = append(hidden, string(m.Handle)+": "+m.Hidden)
		}
		return m.Hidden != ""
	})
	for _, m := range list {
		got = append(got, string(m.Handle))
	}
	why := []string{
		"groq/text-embedding-3-small: its name says embedding",
		"ollama/nomic-embed: its capabilities are embedding, not completion",
	}
	if diff := cmp.Diff(why, hidden); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(
		[]string{
			"groq/openai/gpt-oss-120b",
			"groq/other",
			"groq/llama-guard",
			"groq/plain",
			"ollama/qwen3",
			"ollama/tiny:latest",
			"offline/loci",
		},
		got,
	); diff != "" {
		t.Error(diff)
	}
	if m := list[4]; m.ContextWindow != 32768 || !m.Reasoning || !m.Tools || m.ForcedTools {
		t.Errorf("qwen3: %+v", m)
	}
	if m := list[5]; m.ContextWindow != 2048 || m.Tools {
		t.Errorf("tiny: %+v", m)
	}
	before := s.Listings()
	if _, _, err := p.Chat(t.Context(), "groq/other", vars); err != nil || s.Listings() != before {
		t.Errorf("the listing was fetched again: %v", err)
	}
}

func TestTheFirstModelIsThatOfTheFirstReachableProvider(t *testing.T) {
	t.Parallel()
	custom, local := providertest.NewServer(t), providertest.NewServer(t)
	custom.Models = []providertest.Model{{Name: "no-tools", NoTools: true}, {Name: "with-tools"}}
	local.Models = []providertest.Model{{Name: "llama", NoTools: true, Window: 8192}}
	down := providertest.Start()
	down.Close()
	for name, c := range map[string]struct {
		vars map[string]string
		want core.Handle
	}{
		"a custom server, tools first": {
			map[string]string{"OPENAI_BASE_URL": custom.V1(), "OPENAI_API_KEY": "k", "OLLAMA_HOST": local.URL}, "openai/with-tools",
		},
		"a custom server needs no key": {map[string]string{"OPENAI_BASE_URL": custom.V1()}, "openai/with-tools"},
		"an unreachable provider is passed over": {
			map[string]string{"OPENAI_BASE_URL": down.V1(), "OPENAI_API_KEY": "k", "OLLAMA_HOST": local.URL}, "ollama/llama",
		},
		"tools before order": {map[string]string{"OLLAMA_HOST": local.URL, "VLLM_BASE_URL": custom.URL}, "vllm/with-tools"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := resolver(t, &contacts{}, custom, local, down)
			found := p.First(t.Context(), env(c.vars))
			if !found.OK || found.Info.Handle != c.want ||
				!strings.Contains(found.Because, "; it is asked on this machine, at 127.0.0.1:") {
				t.Errorf("got %+v, want %q", found, c.want)
			}
		})
	}
}

func TestWhatIsSetUpAndDoesNotWorkIsNamed(t *testing.T) {
	t.Parallel()
	keyed, empty := providertest.NewServer(t), providertest.NewServer(t)
	keyed.Key, empty.Models = "right", []providertest.Model{}
	mute := providertest.NewServer(t)
	mute.Models = []providertest.Model{{Name: "text-embedding-3-small"}, {Name: "dall-e-3"}}
	down := providertest.Start()
	down.Close()
	for want, vars := range map[string]map[string]string{
		"OPENAI_API_KEY is set, but OpenAI at " + keyed.V1() + " refused it": {
			"OPENAI_BASE_URL": keyed.V1(), "OPENAI_API_KEY": "wrong",
		},
		"OPENAI_BASE_URL is set, but OpenAI at " + keyed.V1() + " wants a key: set OPENAI_API_KEY": {"OPENAI_BASE_URL": keyed.V1()},
		"GROQ_API_KEY is set, but Groq at " + down.V1() + " cannot be reached": {
			"GROQ_BASE_URL": down.V1(), "GROQ_API_KEY": "k",
		},
		"VLLM_BASE_URL is set, but vLLM at " + empty.V1() + " lists no model: name one with --model": {"VLLM_BASE_URL": empty.URL},
		"OPENAI_BASE_URL is not the address of a server": {
			"OPENAI_BASE_URL": "nowhere", "OPENAI_API_KEY": "k",
		},
		"VLLM_BASE_URL is set, but vLLM at " + mute.V1() + " lists 2 models, none for chats (text-embedding-3-small: " +
			"its name says embedding): " +
			"loci models --all shows them, and any can be named with --model": {"VLLM_BASE_URL": mute.URL},
	} {
		found := resolver(t, &contacts{}, keyed, empty, mute, down).First(t.Context(), env(vars))
		if diff := cmp.Diff(core.Reach{Failed: []string{want}}, found); diff != "" {
			t.Error(diff)
		}
	}
}

func TestListingIsBoundedInTime(t *testing.T) {
	t.Parallel()
	// Naming a host means knowing about it.
	for host, want := range map[string]time.Duration{"": 300 * time.Millisecond, "127.0.0.1:9": 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			p, start := providers.New(providers.Config{HTTP: thinker(time.Hour)}), time.Now()
			if p.First(t.Context(), env(map[string]string{"OLLAMA_HOST": host})).OK {
				t.Error("a model was found")
			}
			if d := time.Since(start); d != want {
				t.Errorf("gave the server %q up after %v, want %v", host, d, want)
			}
		})
	}
}

func TestAModelThatOllamaHasNotIsNotFound(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	p := resolver(t, &contacts{}, s)
	vars := env(map[string]string{"OLLAMA_HOST": s.URL})
	_, _, err := p.Chat(t.Context(), "ollama/missing", vars)
	if core.KindOf(err) != core.NotFound || !strings.Contains(core.HintOf(err), "loci models pull ollama/missing") {
		t.Errorf("got %v, hint %q", err, core.HintOf(err))
	}
	if _, _, err := p.Chat(t.Context(), "ollama/test-model", vars); err != nil {
		t.Error(err)
	}
}

func TestAnErrorInPlaceOfOllamasListingIsSaid(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"error":"the disk is full"}`)
	}))
	t.Cleanup(server.Close)
	p := providers.New(providers.Config{})
	t.Cleanup(p.Close)
	got := p.Silent(t.Context(), env(map[string]string{"OLLAMA_HOST": server.URL}))
	want := []string{"OLLAMA_HOST is set, but Ollama at " + server.URL + " did not list its models: the disk is full"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// lister is a server that lists what it is told to, and a clock.
type lister struct {
	there            atomic.Pointer[string]
	listings, passed atomic.Int64
}

func newLister(t *testing.T) (*lister, *providers.Providers, core.Env) {
	t.Helper()
	l := &lister{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		l.listings.Add(1)
		_, _ = io.WriteString(w, `{"data":[`+*l.there.Load()+`]}`)
	}))
	t.Cleanup(server.Close)
	start := time.Unix(1e9, 0)
	p := providers.New(providers.Config{Now: func() time.Time { return start.Add(time.Duration(l.passed.Load())) }})
	t.Cleanup(p.Close)
	return l, p, env(map[string]string{"VLLM_BASE_URL": server.URL})
}

func TestAListingThatIsAskedForIsNoOldOne(t *testing.T) {
	t.Parallel()
	l, p, vars := newLister(t)
	l.there.Store(new(`{"id":"one"}`))
	listed := func(q core.ModelQuery) (names []string) {
		list, err := p.List(t.Context(), vars, q)
		if err != nil {
			t.Error(err)
		}
		for _, m := range list {
			names = append(names, m.Name)
		}
		return names
	}
	fresh := core.ModelQuery{MaxAge: time.Second}
	listed(fresh)
	l.there.Store(new(`{"id":"one"},{"id":"two"}`))
	if got := listed(fresh); len(got) != 1 || l.listings.Load() != 1 {
		t.Errorf("at once: %v of %d listings", got, l.listings.Load())
	}
	l.passed.Add(int64(2 * time.Second))
	if got := listed(core.ModelQuery{}); len(got) != 1 || l.listings.Load() != 1 {
		t.Errorf("at any age: %v of %d listings", got, l.listings.Load())
	}
	if got := listed(fresh); len(got) != 2 || l.listings.Load() != 2 {
		t.Errorf("anew: %v of %d listings", got, l.listings.Load())
	}
	if len(p.Silent(t.Context(), vars)) != 0 || l.listings.Load() != 2 {
		t.Error("what follows a listing asks again")
	}
	l.there.Store(new(`{"id":"one"},{"id":"two"},{"id":"three"}`))
	if said := core.Unlisted(t.Context(), p, "vllm/two", vars); said != "" || l.listings.Load() != 2 {
		t.Errorf("a listed model: %q after %d listings", said, l.listings.Load())
	}
	l.passed.Add(int64(time.Minute))
	if said := core.Unlisted(t.Context(), p, "vllm/three", vars); said != "" || l.listings.Load() != 3 {
		t.Errorf("a model that is new: %q after %d listings", said, l.listings.Load())
	}
	if said := core.Unlisted(t.Context(), p, "vllm/four", vars); !strings.Contains(said, `does not list "four"`) || l.listings.Load() != 3 {
		t.Errorf("a model that is not there: %q after %d listings", said, l.listings.Load())
	}
}

func TestTheWindowOfAModelLoadedSinceTheListingIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	l, p, vars := newLister(t)
	const assumed = 32_768
	for _, step := range []struct {
		lists    string
		after    time.Duration
		model    string
		window   int
		listings int64
	}{
		{`{"id":"one","max_model_len":9000},{"id":"two"}`, 0, "one", 9000, 1},
		{`{"id":"one","max_model_len":9000},{"id":"two"}`, 2 * time.Second, "one", 9000, 1},
		{`{"id":"two","max_model_len":7000},{"id":"new","max_model_len":8000}`, 0, "new", 8000, 2}, // it was not listed
		{`{"id":"two"},{"id":"new","max_model_len":8000}`, 2 * time.Second, "two", 7000, 2},
		{`{"id":"two"}`, 6 * time.Minute, "two", assumed, 3},
		{`{"id":"two","max_model_len":7000}`, 2 * time.Second, "two", assumed, 3}, // it was looked for just now
		{`{"id":"two","max_model_len":7000}`, 10 * time.Second, "two", 7000, 4},   // its window was not known
		{`{"id":"two","max_model_len":7000}`, 2 * time.Second, "absent", assumed, 5},
		{`{"id":"absent","max_model_len":7000}`, 2 * time.Second, "absent", assumed, 5}, // it was looked for just now
		{`{"id":"absent","max_model_len":7000}`, 10 * time.Second, "absent", 7000, 6},
	} {
		l.there.Store(&step.lists)
		l.passed.Add(int64(step.after))
		_, info, err := p.Chat(t.Context(), core.Handle("vllm/"+step.model), vars)
		if err != nil || info.ContextWindow != step.window || l.listings.Load() != step.listings {
			t.Errorf("%+v: a window of %d after %d listings, %v", step, info.ContextWindow, l.listings.Load(), err)
		}
	}
}

func TestPreferredModelsComeFirst(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Models = []providertest.Model{
		{Name: "aaa"},
		{Name: "google/gemini-9"},
		{Name: "anthropic/claude-sonnet-9"},
		{Name: "anthropic/claude-sonnet"},
	}
	p := resolver(t, &contacts{}, s)
	list, err := p.List(t.Context(), env(map[string]string{"OPENROUTER_API_KEY": "k", "OPENROUTER_BASE_URL": s.URL}), core.ModelQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, m.Name)
	}
	if diff := cmp.Diff(
		[]string{"anthropic/claude-sonnet", "anthropic/claude-sonnet-9", "google/gemini-9", "aaa", "loci"},
		got,
	); diff != "" {
		t.Error(diff)
	}
	if !list[0].BindsPrefix {
		t.Error("reasoning that is bound to its prefix is not known to be")
	}
}

// oneAnswers is a network in which one host lists a model and nobody else ever says anything.
type oneAnswers string

func (host oneAnswers) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != string(host) {
		return thinker(time.Hour).RoundTrip(req)
	}
	return &http.Response{
		StatusCode: http.StatusOK,
		Body:       io.NopCloser(strings.NewReader(`{"data":[{"id":"chatty"},{"id":"small-embed"}]}`)),
		Request:    req,
	}, nil
}

func TestForOneHandleNoOtherProviderIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := providers.New(providers.Config{HTTP: oneAnswers("api.groq.com")})
		vars, begun := env(map[string]string{"GROQ_API_KEY": "k", "OPENAI_API_KEY": "k", "VLLM_BASE_URL": "http://10.0.0.1"}), time.Now()
		if said := core.Unlisted(t.Context(), p, "groq/nope", vars); !strings.Contains(said, `groq does not list "nope"`) {
			t.Errorf("a model that is not listed: %q", said)
		}
		var names []string
		for _, m := range p.Embeddings(t.Context(), vars, "groq") {
			names = append(names, string(m.Handle))
		}
		if diff := cmp.Diff([]string{string(core.WordsHandle), "groq/small-embed"}, names); diff != "" {
			t.Error(diff)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}
