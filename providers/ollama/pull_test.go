package ollama_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/ollama"
	"loci/providers/protocol"
	"loci/providers/providertest"
)

const (
	manifest = `{"status":"pulling manifest"}` + "\n"
	success  = `{"status":"verifying sha256 digest"}` + "\n" + `{"status":"success"}` + "\n"
)

func pull(ctx context.Context, t *testing.T, answer http.HandlerFunc, told func(core.Pulled) bool) error {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	transport := wire.NewTransport(nil)
	t.Cleanup(transport.CloseIdleConnections)
	c := ollama.New(protocol.Options{Provider: "ollama", BaseURL: server.URL, HTTP: transport})
	return c.Pull(ctx, "qwen3:8b", told)
}

func TestADownloadTellsHowFarItIsOverAllParts(t *testing.T) {
	t.Parallel()
	var body string
	var got []core.Pulled
	err := pull(t.Context(), t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body = r.URL.Path + " " + string(raw)
		_, _ = io.WriteString(w, manifest+
			`{"status":"pulling aa","digest":"sha256:aa","total":100}`+"\n"+
			`{"status":"pulling aa","digest":"sha256:aa","total":100,"completed":60}`+"\n\n"+
			`{"status":"pulling bb","digest":"sha256:bb","total":50,"completed":10}`+"\n"+
			`{"status":"pulling aa","digest":"sha256:aa","total":100,"completed":900}`+"\n"+success)
	}, func(p core.Pulled) bool { got = append(got, p); return true })
	if err != nil {
		t.Fatal(err)
	}
	if body != `/api/pull {"model":"qwen3:8b","stream":true}` {
		t.Errorf("asked is %s", body)
	}
	want := []core.Pulled{
		{Status: "pulling manifest"},
		{Status: "pulling aa", Total: 100},
		{Status: "pulling aa", Completed: 60, Total: 100},
		{Status: "pulling bb", Completed: 70, Total: 150},
		{Status: "pulling aa", Completed: 110, Total: 150},
		{Status: "verifying sha256 digest", Completed: 110, Total: 150},
		{Status: "success", Completed: 110, Total: 150, Done: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestADownloadThatFailsSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		said   string
		kind   core.Kind
		hint   string
	}{
		"no such model": {200, manifest + `{"error":"pull model manifest: file does not exist"}`, core.NotFound, "ollama.com/library"},
		"a full disk":   {200, manifest + `{"error":"write /blobs/x: no space left on device"}`, core.Invalid, "make room"},
		"no network": {
			200, `{"error":"dial tcp: lookup registry.ollama.ai: no such host"}`, core.Unavailable, "does not reach its library",
		},
		"a newer model": {
			412, `{"error":"pull model manifest: 412: this model requires a newer version of Ollama"}`, core.Invalid, "update Ollama",
		},
		"it breaks off": {
			200, manifest + `{"status":"pulling aa","digest":"aa","total":9,"completed":1}`, core.Unavailable, "loci models pull qwen3:8b",
		},
		"it is not Ollama": {200, "<html>", core.Unavailable, ""},
		"a server's fault": {500, `{"error":"max retries exceeded: EOF"}`, core.Unavailable, "goes on from where it was"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := pull(t.Context(), t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.said+"\n")
			}, func(core.Pulled) bool { return true })
			if core.KindOf(err) != c.kind || !strings.Contains(core.HintOf(err), c.hint) {
				t.Errorf("%s: %v (%s)", core.KindOf(err), err, core.HintOf(err))
			}
		})
	}
}

func TestADownloadThatIsLeftStopsAtTheServer(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	err := pull(ctx, t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, manifest)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}, func(core.Pulled) bool { cancel(); return true })
	if core.KindOf(err) != core.Cancelled {
		t.Errorf("got %v", err)
	}
	<-gone
}

func TestACallThatIsWantedIsAskedForInWords(t *testing.T) {
	t.Parallel()
	c, sent := answers(t, say("ok")+end)
	req := providertest.Ask("m", "x")
	req.Choice = core.ToolChoice{Mode: core.ChoiceNamed, Name: "clock"}
	if _, err := providertest.Collect(t.Context(), t, c, req); err != nil {
		t.Fatal(err)
	}
	messages, _ := sent()["messages"].([]any)
	last, _ := messages[len(messages)-1].(map[string]any)
	if words, _ := last["content"].(string); !strings.Contains(words, "Answer with a call of clock.") {
		t.Errorf("sent last is %v", last)
	}
}
