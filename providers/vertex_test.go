package providers_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loci/core"
	"loci/providers"
	"loci/providers/internal/wire"
	"loci/providers/providertest"
)

// serviceAccount writes the key of a service account whose tokens are all alike, and returns its file.
func serviceAccount(t *testing.T, token string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"access_token":"` + token + `","expires_in":3600}`)) // a client that has left needs no answer
	}))
	t.Cleanup(server.Close)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "robot@p.test", "token_uri": server.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
	})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// beside passes requests to this machine on, and sends all others to hosts.
type beside struct {
	hosts *hosts
	own   http.RoundTripper
}

func (b beside) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Hostname() == "127.0.0.1" {
		return b.own.RoundTrip(req)
	}
	return b.hosts.RoundTrip(req)
}

func TestVertexIsAskedAtTheHostOfItsLocationWithAToken(t *testing.T) {
	t.Parallel()
	file := serviceAccount(t, "the-token")
	own := wire.NewTransport(nil)
	t.Cleanup(own.CloseIdleConnections)
	for location, host := range map[string]string{
		"us-central1": "us-central1-aiplatform.googleapis.com", "global": "aiplatform.googleapis.com",
	} {
		h := &hosts{server: providertest.NewServer(t)}
		h.server.Key, h.server.Models = "the-token", providertest.GeminiModels()
		p := providers.New(providers.Config{HTTP: beside{h, own}})
		t.Cleanup(p.Close)
		vars := env(map[string]string{
			"GOOGLE_APPLICATION_CREDENTIALS": file, "GOOGLE_CLOUD_PROJECT": "my-project", "GOOGLE_CLOUD_LOCATION": location,
		})
		chat, info, err := p.Chat(t.Context(), "vertex/gemini-3.8-flash", vars)
		if err != nil || info.Handle != "google_vertex/gemini-3.8-flash" || info.ContextWindow != 1_048_576 || info.MaxOutput != 65_536 {
			t.Fatalf("%+v, %v", info, err)
		}
		req := providertest.Ask("gemini-3.8-flash", "THINK hm\nCALL weather {\"city\":\"Oslo\"}\nSAY done")
		for range 2 {
			a, err := providertest.Collect(t.Context(), t, chat, req)
			if err != nil {
				t.Fatal(err)
			}
			req.Messages = append(req.Messages, providertest.Continue(a, "sunny")...)
		}
		want := "/v1/projects/my-project/locations/" + location + "/publishers/google/models/gemini-3.8-flash:streamGenerateContent"
		if got := h.server.Last().Path; got != want || !slices.Contains(h.asked, host) || len(h.asked) != 2 {
			t.Errorf("%s at %v", got, h.asked)
		}
		if list, err := p.List(t.Context(), vars, core.ModelQuery{Provider: "vertex"}); err != nil || len(list) < 5 {
			t.Errorf("%v, %v", list, err)
		}
		said := core.Unlisted(t.Context(), p, "vertex/gemini-3.8-flush", vars)
		if !strings.Contains(said, "does not list") || !strings.Contains(said, "google_vertex/gemini-3.8-flash") {
			t.Errorf("by its other name: %q", said)
		}
		if _, _, err := p.Embedder(t.Context(), "vertex/gemini-embedding-001", vars); core.KindOf(err) != core.NotFound {
			t.Errorf("it embeds: %v", err)
		}
	}
}

func TestGoogleCloudsVariablesAloneChooseNothing(t *testing.T) {
	t.Parallel()
	var d contacts
	p := resolver(t, &d)
	some := env(map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "/nowhere", "GOOGLE_CLOUD_PROJECT": "p"})
	if found := p.First(t.Context(), some); found.OK || len(found.Failed) > 0 {
		t.Errorf("%+v", found)
	}
	_, _, err := p.Chat(t.Context(), "vertex/gemini-3.8-flash", some)
	if core.KindOf(err) != core.Unauthenticated || !strings.Contains(core.HintOf(err), "GOOGLE_CLOUD_LOCATION") {
		t.Errorf("named: %v (%s)", err, core.HintOf(err))
	}
	all := env(map[string]string{
		"GOOGLE_APPLICATION_CREDENTIALS": "/nowhere", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "global",
	})
	if found := p.First(t.Context(), all); found.OK {
		t.Errorf("%+v", found)
	}
	if _, _, err := p.Chat(t.Context(), "vertex/gemini-3.8-flash", all); core.KindOf(err) != core.Unauthenticated ||
		!strings.Contains(core.HintOf(err), "service account") {
		t.Errorf("without the file: %v (%s)", err, core.HintOf(err))
	}
}
