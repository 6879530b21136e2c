package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/openai"
	"loci/providers/protocol"
	"loci/providers/providertest"
)

func TestWhatIsRefusedIsLeftOutFromThenOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refusal string
		bad     func(body string) bool
	}{
		"stream_options": {
			"Extra inputs are not permitted: stream_options", func(b string) bool { return strings.Contains(b, "stream_options") },
		},
		"a system role": {
			"Jinja Exception: System role not supported", func(b string) bool { return strings.Contains(b, `"role":"system"`) },
		},
		"both": {"stream_options is unknown, and System role not supported", func(b string) bool {
			return strings.Contains(b, "stream_options") || strings.Contains(b, `"role":"system"`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r *raw
			r = serveFunc(t, openai.Quirks{}, func(w http.ResponseWriter, _ *http.Request) {
				body := string(*r.body.Load())
				if c.bad(body) {
					said := c.refusal
					if name == "both" && !strings.Contains(body, "stream_options") {
						said = "System role not supported"
					}
					w.WriteHeader(http.StatusBadRequest)
					_, _ = fmt.Fprintf(w, `{"error":{"message":%q}}`, said)
					return
				}
				_, _ = io.WriteString(w, whole)
			})
			r.ask(t, providertest.Ask("m", "hello"))
			first := r.asked.Load()
			r.ask(t, providertest.Ask("m", "hello"))
			if r.asked.Load() != first+1 {
				t.Errorf("asked %d times, then %d", first, r.asked.Load()-first)
			}
			if !strings.Contains(string(*r.body.Load()), "Be brief.") {
				t.Error("the system text is lost")
			}
			r.ask(t, withCall("{}", "x")) // of another model: nothing is known
			if r.asked.Load() < first+2 {
				t.Error("not asked")
			}
		})
	}
}

// refuser is a server that answers 400 to requests with some text in them.
type refuser struct {
	text, said string
	bodies     []string
}

func (r *refuser) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.bodies = append(r.bodies, string(body))
	status, answer := 200, whole
	if strings.Contains(req.URL.Path, "responses") {
		answer = responsesOK
	}
	if strings.Contains(string(body), r.text) {
		status, answer = 400, fmt.Sprintf(`{"error":{"message":%q}}`, r.said)
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(answer)), Request: req,
	}, nil
}

func TestAForcedChoiceThatIsRefusedIsAskedForInWords(t *testing.T) {
	t.Parallel()
	for _, on := range []openai.Wire{openai.Chat, openai.Responses} {
		for mode, words := range map[core.ToolChoiceMode]string{
			core.ChoiceNamed: "Answer with a call of clock.", core.ChoiceRequired: "Answer with a call of a tool.",
		} {
			t.Run(fmt.Sprint(on, " ", mode), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					server := &refuser{text: `"tool_choice"`, said: "This model does not support tool_choice=required"}
					client := openai.New(
						protocol.Options{Provider: "vendor", BaseURL: "http://vendor.test/v1", HTTP: server}, openai.Quirks{Wire: on},
					)
					req := providertest.Ask("m", "hello")
					req.Tools = []core.ToolSpec{{Name: "clock"}}
					req.Choice = core.ToolChoice{Mode: mode, Name: "clock"}
					ask := func(requests int) {
						t.Helper()
						server.bodies = nil
						a, err := providertest.Collect(t.Context(), t, client, req)
						if err != nil || a.Text != "fine" || len(server.bodies) != requests {
							t.Fatalf("%q after %d requests, %v", a.Text, len(server.bodies), err)
						}
						if last := server.bodies[requests-1]; !strings.Contains(last, words) || !strings.Contains(last, `"tools":[{`) {
							t.Errorf("sent %s", last)
						}
					}
					ask(2)
					ask(1)
					time.Sleep(wire.RefusalFresh) //nolint:forbidigo // the bubble's own clock
					ask(2)                        // it may have learned it since
				})
			})
		}
	}
}

func TestRequestsAtOnceEachLeaveOutWhatIsRefused(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]string{
		"stream_options":  "Unknown parameter: stream_options",
		`"role":"system"`: "System role not supported",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const most = 4
			var before sync.WaitGroup // every first request is on its way before one is refused
			before.Add(most)
			r := serveFunc(t, openai.Quirks{}, func(w http.ResponseWriter, req *http.Request) {
				if body, _ := io.ReadAll(req.Body); !strings.Contains(string(body), name) {
					_, _ = io.WriteString(w, whole)
					return
				}
				before.Done()
				before.Wait()
				w.WriteHeader(http.StatusBadRequest)
				_, _ = fmt.Fprintf(w, `{"error":{"message":%q}}`, refusal)
			})
			var all sync.WaitGroup
			for range most {
				all.Go(func() {
					a, err := providertest.Collect(t.Context(), t, r.client, providertest.Ask("m", "hello"))
					if err != nil || a.Text != "fine" {
						t.Errorf("%q, %v", a.Text, err)
					}
				})
			}
			all.Wait()
			if n := r.asked.Load(); n != 2*most {
				t.Errorf("asked %d times", n)
			}
		})
	}
}
