package providers_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"loci/core"
	"loci/providers"
	"loci/providers/providertest"
)

// thinker is a server that says nothing for a while and then everything.
type thinker time.Duration

func (d thinker) RoundTrip(req *http.Request) (*http.Response, error) {
	select {
	case <-time.After(time.Duration(d)):
	case <-req.Context().Done():
		return nil, context.Cause(req.Context())
	}
	body := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"42\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"text/event-stream"}},
		Body:       io.NopCloser(strings.NewReader(body)),
		Request:    req,
	}, nil
}

func TestWhoThinksLongIsWaitedForWhereItsRowSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handle core.Handle
		key    string
		want   core.Kind
	}{
		"a vendor whose models think for minutes": {"openai/gpt-4o", "OPENAI_API_KEY", ""},
		"another": {"deepseek/deepseek-chat", "DEEPSEEK_API_KEY", core.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := providers.New(providers.Config{HTTP: thinker(12 * time.Minute)})
				chat, _, err := p.Chat(t.Context(), c.handle, env(map[string]string{c.key: "k"}))
				if err != nil {
					t.Fatal(err)
				}
				_, err = providertest.Collect(t.Context(), t, chat, providertest.Ask("m", "What is it?"))
				if got := core.KindOf(err); err != nil && got != c.want || err == nil && c.want != "" {
					t.Errorf("after twelve silent minutes: %v, want kind %q", err, c.want)
				}
			})
		})
	}
}
