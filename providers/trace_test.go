package providers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers"
	"loci/providers/providertest"
)

// kept are the traces that a test is told of.
type kept struct {
	mu  sync.Mutex
	all []core.Trace
}

func (k *kept) Record(_ context.Context, t *core.Trace) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, *t)
}

// lines are the traces as the program exports them.
func (k *kept) lines(t *testing.T) []byte {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	var b bytes.Buffer
	part := func(p core.TracedPart) map[string]any { return map[string]any{"header": p.Header, "body": p.Body} }
	for _, one := range k.all {
		err := json.NewEncoder(&b).Encode(map[string]any{
			"method": one.Method, "url": one.URL, "status": one.Status, "request": part(one.Request), "response": part(one.Response),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

const tracedKey core.Secret = "sk-traced-0123456789"

// tracedModel is a model of a server under a name of the person's own, over a protocol.
func tracedModel(t *testing.T, protocol, base string, sink core.TraceSink) core.ChatModel {
	t.Helper()
	rows := configured(t, "box", map[string]string{"protocol": protocol, "base_url": base, "api_key_env": "BOX_KEY"})
	p := providers.New(providers.Config{Rows: rows, Traces: sink})
	t.Cleanup(p.Close)
	env := func(name string) (core.Secret, bool) { return tracedKey, name == "BOX_KEY" }
	chat, _, err := p.Chat(t.Context(), "box/test-model", env)
	if err != nil {
		t.Fatal(err)
	}
	return chat
}

// addresses are the protocols with the addresses that a server has for them.
func addresses(base string) map[string]string {
	return map[string]string{
		"openai": base + "/v1", "openai-responses": base + "/v1", "anthropic": base + "/v1", "gemini": base + "/v1beta", "ollama": base,
	}
}

func TestATraceHasAllThatWasSentAndCameBackAndNoKey(t *testing.T) {
	t.Parallel()
	for protocol := range addresses("") {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := providertest.NewServer(t)
			s.Script(providertest.Turn{Text: "Hello <there> & welcome."})
			s.Key = tracedKey.Reveal()
			var k kept
			chat := tracedModel(t, protocol, addresses(s.URL)[protocol], &k)
			ctx := core.WithCharge(t.Context(), core.Charge{Agent: "agent-1", Run: "run-1", Step: "step-1", For: core.ForStep})
			if _, err := providertest.Collect(ctx, t, chat, providertest.Ask("test-model", "hello")); err != nil {
				t.Fatal(err)
			}
			if len(k.all) != 1 {
				t.Fatalf("%d traces, want 1: listings are none", len(k.all))
			}
			one := k.all[0]
			if one.Agent != "agent-1" || one.Run != "run-1" || one.Step != "step-1" || one.For != core.ForStep ||
				one.Model != "box/test-model" || one.Attempt != 1 || one.Status != http.StatusOK ||
				one.Took < one.First || one.First <= 0 || one.Error != "" {
				t.Errorf("%+v", one)
			}
			if diff := cmp.Diff(string(s.Last().Body), one.Request.Body); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(one.Response.Body, "welcome.") {
				t.Errorf("the response: %s", one.Response.Body)
			}
			if all, _ := json.Marshal(one); strings.Contains(string(all), tracedKey.Reveal()) {
				t.Errorf("the key is in the trace: %s", all)
			}
		})
	}
}

func TestEachRequestOfACallIsATraceOfItsOwn(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t)
	said := "Incorrect key " + tracedKey.Reveal()
	s.Script(
		providertest.Turn{Fail: &providertest.Fail{Status: 500, Message: said}},
		providertest.Turn{Fail: &providertest.Fail{Status: 400, Message: "stream_options is unknown"}},
		providertest.Turn{Text: "one", Fail: &providertest.Fail{Broken: providertest.Disconnect}},
	)
	var k kept
	_, err := providertest.Collect(t.Context(), t, tracedModel(t, "openai", s.V1(), &k), providertest.Ask("test-model", "hello"))
	if err == nil || len(k.all) != 3 {
		t.Fatalf("%d traces: %v", len(k.all), err)
	}
	if k.all[0].Status != 500 || k.all[1].Status != 400 || k.all[2].Status != 200 || k.all[2].Attempt != 3 || k.all[2].Error == "" {
		t.Errorf("%+v", k.all)
	}
	if body := k.all[0].Response.Body; strings.Contains(body, tracedKey.Reveal()) || !strings.Contains(body, "Incorrect key") {
		t.Errorf("what the server said again of the key: %s", body)
	}
	gone := providertest.Start()
	gone.Close()
	var none kept
	req := providertest.Ask("test-model", "hello")
	req.Hurried = true
	if _, err := providertest.Collect(t.Context(), t, tracedModel(t, "openai", gone.V1(), &none), req); err == nil {
		t.Fatal("a server that is gone answered")
	}
	if len(none.all) != 1 || none.all[0].Status != 0 || none.all[0].Error == "" {
		t.Errorf("%+v", none.all)
	}
}

func TestAnExportedTraceIsPlayedAgain(t *testing.T) {
	t.Parallel()
	for protocol := range addresses("") {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := providertest.NewServer(t)
			s.Form.Gzip = true
			call := providertest.Call{ID: "call_1", Name: "weather", Arguments: `{"city":"Oslo"}`}
			s.Script(
				providertest.Turn{Reasoning: "The weather it is.", Calls: []providertest.Call{call}},
				providertest.Turn{Text: "It is \"sunny\" — 22 °C."})
			var k kept
			first, second := twoSteps(t, tracedModel(t, protocol, addresses(s.URL)[protocol], &k))
			base, left := providertest.Replay(t, providertest.ReadTraces(t, k.lines(t)))
			again, andAgain := twoSteps(t, tracedModel(t, protocol, addresses(base)[protocol], nil))
			if diff := cmp.Diff([]providertest.Answer{first, second}, []providertest.Answer{again, andAgain}); diff != "" || left() != 0 {
				t.Errorf("%d requests were not made; %s", left(), diff)
			}
		})
	}
}

// twoSteps asks, answers the call and asks again.
func twoSteps(t *testing.T, chat core.ChatModel) (first, second providertest.Answer) {
	t.Helper()
	req := providertest.Ask("test-model", "hello")
	first, err := providertest.Collect(t.Context(), t, chat, req)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, providertest.Continue(first, "sunny")...)
	if second, err = providertest.Collect(t.Context(), t, chat, req); err != nil {
		t.Fatal(err)
	}
	return first, second
}
