package providers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers"
)

// embeddingServer answers on both wires with whatever reply makes of the texts.
func embeddingServer(t *testing.T, reply func(w http.ResponseWriter, texts []string) (vectors any)) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Model string   `json:"model"`
			Input []string `json:"input"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Model != "small" {
			t.Errorf("%s: asked for %+v: %v", r.URL.Path, in, err)
		}
		asked.Add(1)
		answer := reply(w, in.Input)
		if answer == nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if raw, ok := answer.(string); ok {
			_, _ = io.WriteString(w, raw)
			return
		}
		vectors := answer.([][]float32)
		if r.URL.Path == "/api/embed" {
			_ = json.NewEncoder(w).Encode(map[string]any{"embeddings": vectors})
			return
		}
		if r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer sk-test" {
			t.Errorf("%s with %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		data := []map[string]any{}
		for i := len(vectors) - 1; i >= 0; i-- { // not in the order they were asked for
			data = append(data, map[string]any{"index": i, "embedding": vectors[i]})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func embedders(t *testing.T, url string) map[string]core.Embedder {
	t.Helper()
	p := providers.New(providers.Config{})
	t.Cleanup(p.Close)
	out := map[string]core.Embedder{}
	for handle, vars := range map[core.Handle]map[string]string{
		"openai/small": {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": url + "/v1"},
		"ollama/small": {"OLLAMA_HOST": url},
	} {
		e, info, err := p.Embedder(t.Context(), handle, env(vars))
		if err != nil || info.Handle != handle || info.BuiltIn() || info.Name != "small" {
			t.Fatalf("%s: %+v %v", handle, info, err)
		}
		out[string(handle)] = e
	}
	return out
}

func TestTextsAreEmbeddedInTheirOrderOnBothWires(t *testing.T) {
	t.Parallel()
	url, _ := embeddingServer(t, func(_ http.ResponseWriter, texts []string) any {
		out := make([][]float32, len(texts))
		for i, text := range texts {
			out[i] = []float32{float32(len(text)), 0.5}
		}
		return out
	})
	for name, e := range embedders(t, url) {
		got, err := e.Embed(t.Context(), []string{"a", "bb", "ccc"})
		if diff := cmp.Diff([][]float32{{1, .5}, {2, .5}, {3, .5}}, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func TestAnAnswerThatDoesNotFitItsTextsIsAnError(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"no JSON":        "<html>",
		"NaN":            `{"data":[{"index":0,"embedding":[NaN]}],"embeddings":[[NaN]]}`,
		"holes":          `{"data":[{"index":0,"embedding":[null]}],"embeddings":[[null]]}`,
		"too few":        `{"data":[],"embeddings":[]}`,
		"too many":       `{"data":[{"embedding":[1]},{"embedding":[1]}],"embeddings":[[1],[1]]}`,
		"numbered wrong": `{"data":[{"index":7,"embedding":[1]}],"embeddings":3}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := embeddingServer(t, func(http.ResponseWriter, []string) any { return reply })
			for name, e := range embedders(t, url) {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // not until it gives up
				if got, err := e.Embed(ctx, []string{"a"}); err == nil {
					t.Errorf("%s: %v", name, got)
				}
				cancel()
			}
		})
	}
}

func TestAServerThatIsBusyIsAskedAgain(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	url, asked := embeddingServer(t, func(w http.ResponseWriter, texts []string) any {
		if n.Add(1)%2 == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return nil
		}
		return make([][]float32, len(texts))
	})
	for name, e := range embedders(t, url) {
		if _, err := e.Embed(t.Context(), []string{"a"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if asked.Load() != 4 {
		t.Errorf("asked %d times", asked.Load())
	}
	refused, count := embeddingServer(t, func(w http.ResponseWriter, _ []string) any {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `{"error":{"message":"no such model"}}`)
		return nil
	})
	for name, e := range embedders(t, refused) {
		if _, err := e.Embed(t.Context(), []string{"a"}); err == nil || !strings.Contains(err.Error(), "no such model") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if count.Load() != 2 {
		t.Errorf("a refusal was repeated: asked %d times", count.Load())
	}
}

func TestOnlyEmbeddingsThatCanBeReachedAreHandedOut(t *testing.T) {
	t.Parallel()
	p := providers.New(providers.Config{})
	t.Cleanup(p.Close)
	for handle, want := range map[core.Handle]core.Kind{
		"": "", core.WordsHandle: "", "openai/text-embedding-3-small": core.Unauthenticated, "letta/letta-free": core.NotFound,
		"bare": core.Invalid, "offline/loci": core.NotFound,
	} {
		e, info, err := p.Embedder(t.Context(), handle, env(nil))
		if core.KindOf(err) != want {
			t.Errorf("%s: %v", handle, err)
		}
		if err == nil && !info.BuiltIn() {
			t.Errorf("%s is sent somewhere: %+v", handle, info)
		}
		if err != nil {
			continue
		}
		if v, err := e.Embed(t.Context(), []string{"a painting of a lake", "zzqx"}); err != nil || len(v[0]) != info.Dim || v[1] != nil {
			t.Errorf("%s: %v", handle, err)
		}
	}
}
