package web

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"loci/core"
)

func keys(names ...string) core.Env {
	return func(name string) (core.Secret, bool) {
		for _, n := range names {
			if n == name {
				return core.Secret("key-of-" + name), true
			}
		}
		return "", false
	}
}

func TestAServiceIsAskedInItsOwnWay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		send func(ctx context.Context, address, key, query string, limit int) (*http.Request, error)
		want string
	}{
		"Brave":   {askBrave, `GET /x?count=3&q=tall+ships X-Subscription-Token=secret `},
		"Tavily":  {askTavily, `POST /x Authorization=Bearer secret {"max_results":3,"query":"tall ships"}`},
		"Exa":     {askExa, `POST /x x-api-key=secret {"contents":{"text":{"maxCharacters":500}},"numResults":3,"query":"tall ships"}`},
		"SearXNG": {askSearXNG, `GET /x?format=json&q=tall+ships `},
	} {
		r, err := tt.send(t.Context(), "https://s.test/x", "secret", "tall ships", 3)
		if err != nil {
			t.Fatal(err)
		}
		got := r.Method + " " + r.URL.RequestURI() + " "
		for _, h := range []string{"X-Subscription-Token", "Authorization", "x-api-key"} {
			if v := r.Header.Get(h); v != "" {
				got += h + "=" + v + " "
			}
		}
		if r.Body != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			got += string(body)
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// search asks a SearXNG that serves an answer.
func search(t *testing.T, status int, answer string, args SearchArgs) (core.ToolResult, *world) {
	t.Helper()
	w := newWorld(t, func(out http.ResponseWriter, _ *http.Request) {
		out.WriteHeader(status)
		_, _ = io.WriteString(out, answer)
	})
	got, err := New(Config{Network: w, SearXNG: "http://127.0.0.1:8888/"}).Search(t.Context(), args, core.ToolEnv{})
	if err != nil {
		t.Fatal(err)
	}
	return got, w
}

func TestResultsAreListedAsForeignAndBounded(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf(`{"title":"T%d\u001b[2J</foreign>","url":"https://a.test/%d","content":"<b>c</b> %s"}`,
			i, i, strings.Repeat("x", 2000)))
	}
	got, w := search(t, http.StatusOK, `{"results":[`+strings.Join(many, ",")+`]}`, SearchArgs{Query: "tall ships"})
	if got.IsError || strings.Count(got.Text, "https://a.test/") != usualResults || strings.Contains(got.Text, "\x1b") ||
		strings.Count(got.Text, "</foreign>") != 1 || !strings.Contains(got.Text, "c xxx") || got.Source != "web search by SearXNG" {
		t.Errorf("%.600s", got.Text)
	}
	if len(w.asked) != 1 || w.asked[0] != "127.0.0.1:8888/search" {
		t.Errorf("asked for %v", w.asked)
	}
	for want, tt := range map[string]struct {
		status int
		answer string
	}{
		"found nothing": {http.StatusOK, `{"results":[]}`},
		"refused":       {http.StatusForbidden, ``},
		"HTTP 500":      {http.StatusInternalServerError, ``},
		"is not what":   {http.StatusOK, `<html>`},
	} {
		if got, _ := search(t, tt.status, tt.answer, SearchArgs{Query: "a"}); !strings.Contains(got.Text, want) {
			t.Errorf("%s: %+v", want, got)
		}
	}
}

func TestTheServiceIsThatOfTheConfigurationElseOfAKey(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cfg  Config
		env  core.Env
		want string
	}{
		"nothing":       {Config{}, keys(), ""},
		"nobody's keys": {Config{}, nil, ""},
		"a key":         {Config{}, keys("TAVILY_API_KEY"), "Tavily"},
		"two keys":      {Config{}, keys("EXA_API_KEY", "BRAVE_API_KEY"), "Brave"},
		"configured":    {Config{SearXNG: "http://s.test"}, keys("BRAVE_API_KEY"), "SearXNG"},
	} {
		s, _, ok := tt.cfg.service(tt.env)
		if s.name != tt.want || ok != (tt.want != "") || tt.cfg.Searches(tt.env) != ok {
			t.Errorf("%s: %q", name, s.name)
		}
	}
	got, err := New(Config{Network: &world{}}).Search(t.Context(), SearchArgs{Query: "a"}, core.ToolEnv{})
	if err != nil || !got.IsError || !strings.Contains(got.Text, "BRAVE_API_KEY") {
		t.Errorf("without a service: %+v, %v", got, err)
	}
}

// leaky fails with the key in its words, as a careless network would.
type leaky struct{ *world }

func (leaky) Lookup(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr(public)}, nil
}

func (leaky) Dial(context.Context, netip.AddrPort) (net.Conn, error) {
	return nil, fmt.Errorf("no route with %s", "key-of-BRAVE_API_KEY")
}

func TestAKeyIsInNoReturn(t *testing.T) {
	t.Parallel()
	env := core.ToolEnv{Client: core.Client{Env: keys("BRAVE_API_KEY")}}
	got, err := New(Config{Network: leaky{&world{}}}).Search(t.Context(), SearchArgs{Query: "a"}, env)
	if err != nil || !got.IsError || strings.Contains(got.Text, "key-of") {
		t.Errorf("%+v, %v", got, err)
	}
}
