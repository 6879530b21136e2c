package providers_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
	"loci/providers"
	"loci/providers/providertest"
)

// shelved is a resolver that keeps listings in a file, with a server of the person's own.
func shelved(t *testing.T, file, base string) *providers.Providers {
	t.Helper()
	rows := configured(t, "box", map[string]string{"protocol": "openai", "base_url": base, "api_key_env": "BOX_KEY"})
	p := providers.New(providers.Config{Rows: rows, Listings: file})
	t.Cleanup(p.Close)
	return p
}

// boxes are the models of that server, and why each can't be asked.
func boxes(t *testing.T, p *providers.Providers) map[core.Handle]string {
	t.Helper()
	all, err := p.List(t.Context(), env(map[string]string{"BOX_KEY": "sk-secret-0123456789"}), core.ModelQuery{MaxAge: core.ListedNow})
	if err != nil {
		t.Fatal(err)
	}
	out := map[core.Handle]string{}
	for _, m := range all {
		if m.Provider == "box" {
			out[m.Handle] = m.Hidden
		}
	}
	return out
}

func TestTheModelsOfAProviderThatIsGoneAreListedWithTheReason(t *testing.T) {
	t.Parallel()
	s := providertest.Start()
	file := filepath.Join(t.TempDir(), "models.json")
	if got := boxes(t, shelved(t, file, s.V1())); len(got) != 1 || got["box/test-model"] != "" {
		t.Fatalf("%v", got)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), "sk-secret") || !strings.Contains(string(text), "test-model") {
		t.Errorf("%v: %s", err, text)
	}
	base := s.V1()
	s.Close()
	again := shelved(t, file, base)
	if got := boxes(t, again); len(got) != 1 || !strings.Contains(got["box/test-model"], "cannot be reached (listed ") {
		t.Errorf("%v", got)
	}
	if warning := core.Unlisted(t.Context(), again, "box/test-model", env(nil)); warning != "" {
		t.Errorf("a model that was listed: %s", warning)
	}
	again.Keep([]core.Provider{{ID: "provider-1", Name: "other"}}, nil)
	again.Keep([]core.Provider{{ID: "provider-1", Name: "other"}, {ID: "provider-2", Name: "box"}}, nil)
	if got := boxes(t, again); len(got) != 0 {
		t.Errorf("a provider of that name was stored since: %v", got)
	}
}

func TestALateListingIsStoodInForAndFetchedInTheBackground(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	let := make(chan struct{})
	var slow atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slow.Load() {
			select {
			case <-let:
			case <-r.Context().Done():
				return
			}
		}
		resp, err := http.Get(s.URL + r.URL.Path)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		_, _ = io.Copy(w, resp.Body) // a client that has left needs no answer
	}))
	t.Cleanup(front.Close)
	file := filepath.Join(t.TempDir(), "models.json")
	_ = boxes(t, shelved(t, file, front.URL+"/v1"))
	slow.Store(true)
	s.Models = append(s.Models, providertest.Model{Name: "newer", Window: 9000})
	p := shelved(t, file, front.URL+"/v1")
	began := time.Now()
	if got := boxes(t, p); len(got) != 1 || time.Since(began) > 1900*time.Millisecond {
		t.Errorf("%v after %s", got, time.Since(began))
	}
	close(let)
	coretest.Until(t, "the newer listing", func() bool {
		text, _ := os.ReadFile(file)
		return strings.Contains(string(text), "newer")
	})
}

func TestAFileOfListingsThatIsNoneDoesNoHarm(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	for _, text := range []string{"", "null", "[]", `{"a":{"models":7}}`, strings.Repeat("x", 9<<20), "{\"\u001b[2J\":{}}"} {
		file := filepath.Join(t.TempDir(), "models.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := boxes(t, shelved(t, file, s.V1())); len(got) != 1 {
			t.Errorf("%.20q: %v", text, got)
		}
	}
}
