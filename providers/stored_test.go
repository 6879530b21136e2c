package providers_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/providers"
	"loci/providers/providertest"
)

// keep stores one provider with the key "geheim".
func keep(t *testing.T, p *providers.Providers, one core.Provider) {
	t.Helper()
	if err := p.Place(&one); err != nil {
		t.Fatal(err)
	}
	one.Sealed = []byte("sealed")
	p.Keep([]core.Provider{one}, func(context.Context, *core.Provider) (core.Secret, error) { return "geheim", nil })
}

func TestAStoredProviderIsThereAtOnceAndGoneWhenItIsRemoved(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Key = "geheim"
	p := providers.New(providers.Config{})
	t.Cleanup(p.Close)
	keep(t, p, core.Provider{Name: "box", Protocol: "openai", BaseURL: s.URL})
	answers(t, p, "box/test-model", env(nil), "stored")
	if found := p.First(t.Context(), env(nil)); !found.OK || !strings.HasPrefix(found.Because, "a key of box is stored") {
		t.Errorf("%+v", found)
	}
	p.Keep(nil, nil)
	if _, _, err := p.Chat(t.Context(), "box/test-model", env(nil)); core.KindOf(err) != core.NotFound {
		t.Errorf("removed: %v", err)
	}
}

func TestAStoredKeyIsSentOnlyToTheAddressItWasStoredFor(t *testing.T) {
	t.Parallel()
	mine, other := providertest.NewServer(t), providertest.NewServer(t)
	rows := configured(t, "vllm", map[string]string{"base_url": mine.URL})
	p := providers.New(providers.Config{Rows: rows})
	t.Cleanup(p.Close)
	keep(t, p, core.Provider{Name: "vllm"})
	answers(t, p, "vllm/test-model", env(nil), "at its own address")
	if got := mine.Last().Header.Get("Authorization"); got != "Bearer geheim" {
		t.Errorf("the key was not sent: %q", got)
	}
	answers(t, p, "vllm/test-model", env(map[string]string{"VLLM_BASE_URL": other.URL}), "elsewhere")
	if got := other.Last().Header.Get("Authorization"); got != "" {
		t.Errorf("the key was sent to another address: %q", got)
	}
	answers(t, p, "vllm/test-model", env(map[string]string{"VLLM_API_KEY": "own"}), "with a variable")
	if got := mine.Last().Header.Get("Authorization"); got != "Bearer own" {
		t.Errorf("a variable comes before what is stored: %q", got)
	}
	if err := p.Place(&core.Provider{Name: "openai", BaseURL: other.URL}); core.KindOf(err) != core.Invalid ||
		!strings.Contains(core.HintOf(err), "my-openai") {
		t.Errorf("a vendor's key for another address: %v (%s)", err, core.HintOf(err))
	}
}

func TestAKeyThatCannotBeOpenedIsSaidAndNotAskedForAgainAtOnce(t *testing.T) {
	t.Parallel()
	opened, now := 0, time.Unix(1, 0)
	p := providers.New(providers.Config{Now: func() time.Time { return now }})
	t.Cleanup(p.Close)
	one := core.Provider{Name: "openai", BaseURL: "https://api.openai.com/v1", Sealed: []byte("x")}
	p.Keep([]core.Provider{one}, func(context.Context, *core.Provider) (core.Secret, error) {
		opened++
		return "", core.E(core.Unavailable, "locked: %w", errors.New("no keyring"))
	})
	for range 3 {
		_, _, err := p.Chat(t.Context(), "openai/gpt-5", env(nil))
		if core.KindOf(err) != core.Unauthenticated || !strings.Contains(err.Error(), "the key of openai: locked") ||
			!strings.Contains(core.HintOf(err), "loci providers add openai") {
			t.Fatalf("%v (%s)", err, core.HintOf(err))
		}
	}
	now = now.Add(time.Minute)
	_, _, _ = p.Chat(t.Context(), "openai/gpt-5", env(nil))
	if opened != 2 {
		t.Errorf("opened %d times", opened)
	}
}

func TestACheckTakesAWholeHandle(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Models = []providertest.Model{{Name: "one"}, {Name: "vendor/two"}}
	p := providers.New(providers.Config{Rows: configured(t, "vllm", map[string]string{"base_url": s.URL})})
	t.Cleanup(p.Close)
	found, err := p.Check(t.Context(), "vllm/vendor/two", "", env(nil))
	if err != nil || len(found) == 0 || !strings.Contains(found[len(found)-1].Detail, "vllm/vendor/two answers") {
		t.Errorf("%+v %v", found, err)
	}
}

func TestEachProviderThatIsSetUpAndSilentSaysWhy(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	s.Key = "geheim"
	rows, err := providers.Configure(providers.Rows(), map[string]map[string]string{
		"box": {"protocol": "openai", "base_url": s.URL, "api_key_env": "BOX_KEY"},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := providers.New(providers.Config{Rows: rows})
	t.Cleanup(p.Close)
	one := core.Provider{Name: "groq", BaseURL: "https://api.groq.com/openai/v1", Sealed: []byte("x")}
	p.Keep([]core.Provider{one}, func(context.Context, *core.Provider) (core.Secret, error) {
		return "", core.E(core.Unavailable, "the keyring is locked")
	})
	why := map[string]string{}
	for _, silent := range p.Silences(t.Context(), env(nil)) {
		why[silent.Provider] = silent.Why + "; " + silent.Hint
	}
	for provider, want := range map[string]string{"box": "set BOX_KEY", "groq": "the keyring is locked; store it again"} {
		if !strings.Contains(why[provider], want) {
			t.Errorf("%s: %q", provider, why[provider])
		}
	}
}
