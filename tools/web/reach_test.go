package web

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"loci/core"
)

func TestAnAddressThatIsNotOfThePublicInternetNeedsARuleThatNamesIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		leads string // of inside.test
		url   string
		allow []string
		said  string // empty: it is fetched
	}{
		"private":                      {"10.0.0.7", "http://inside.test/", nil, "10.0.0.7 is an address of a private network"},
		"private, the name is allowed": {"10.0.0.7", "http://inside.test/", []string{"fetch(inside.test)"}, "fetch(10.0.0.7)"},
		"private, all hosts are allowed": {
			"10.0.0.7", "http://inside.test/", []string{"fetch", "fetch(*)", "fetch(10.0.0.*)"}, "fetch(10.0.0.7)",
		},
		"private, named":          {"10.0.0.7", "http://inside.test/", []string{"fetch(10.0.0.7)"}, ""},
		"loopback":                {"127.0.0.1", "http://inside.test:8080/", nil, "of this machine itself"},
		"loopback by its address": {"", "http://127.0.0.1:8080/", []string{"fetch(*)"}, "of this machine itself"},
		"loopback, named":         {"", "http://127.0.0.1:8080/", []string{"fetch(127.0.0.1)"}, ""},
		"loopback as IPv6":        {"", "http://[::ffff:127.0.0.1]:8080/", nil, "of this machine itself"},
		"this machine by its name": {
			"127.0.0.1 ::1",
			"http://inside.test:8080/",
			[]string{"fetch(inside.test)"},
			"its name leads elsewhere: 127.0.0.1 is an address of this machine itself. What helps, and only the person can do it: " +
				"loci permissions add allow 'fetch(127.0.0.1)'",
		},
		"loopback of IPv6":          {"", "http://[::1]:8080/", nil, "of this machine itself"},
		"the machine's own address": {own, "http://inside.test/", nil, "of this machine itself"},
		"metadata":                  {"169.254.169.254", "http://inside.test/", []string{"fetch"}, "a cloud's metadata"},
		"the local link":            {"fe80::1", "http://inside.test/", nil, "of the local link"},
		"one of two":                {"10.0.0.7 " + public, "http://inside.test/", nil, ""},
		"a number":                  {"", "http://2130706433/", nil, "its name can't be resolved"},
		"no address":                {"", "http://inside.test/", nil, "its name can't be resolved"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, serving("text/plain", "served"))
			w.names["inside.test"] = tt.leads
			got := w.fetch(t, tt.url, 0, tt.allow...)
			fetched := !got.IsError && strings.Contains(got.Text, "served")
			if fetched != (tt.said == "") || !strings.Contains(got.Text, tt.said) {
				t.Errorf("%+v", got)
			}
			if tt.said != "" && len(w.dialled) > 0 {
				t.Errorf("%v was dialled", w.dialled)
			}
			for _, a := range w.dialled {
				if tt.leads != "" && !strings.Contains(" "+tt.leads+" ", " "+a.Addr().String()+" ") {
					t.Errorf("%v was dialled", a)
				}
			}
		})
	}
}

func TestARedirectIsFollowedOnlyToAHostThatIsAllowed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		to    string
		allow []string
		want  string
		asked []string
	}{
		"the same host":    {"/b", nil, "served /b", []string{"example.com/a", "example.com/b"}},
		"another":          {"http://other.test/b", nil, "call fetch with that address", []string{"example.com/a"}},
		"an allowed one":   {"http://other.test/b", []string{"fetch(other.test)"}, "served /b", []string{"example.com/a", "other.test/b"}},
		"a password":       {"http://u:p@other.test/b", []string{"fetch"}, "can't be fetched", []string{"example.com/a"}},
		"a file":           {"file:///etc/passwd", []string{"fetch"}, "can't be fetched", []string{"example.com/a"}},
		"a private one":    {"http://10.0.0.7/", []string{"fetch"}, "of a private network", []string{"example.com/a"}},
		"no end":           {"/a", nil, "redirects more than 5 times", nil},
		"without a place":  {"", nil, "HTTP 302", nil},
		"another, by name": {"//other.test/", nil, "http://other.test/", []string{"example.com/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(out http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/a" {
					out.Header().Set("Location", tt.to)
					out.WriteHeader(http.StatusFound)
					return
				}
				serving("text/plain", "served "+r.URL.Path)(out, r)
			})
			got := w.fetch(t, "http://example.com/a", 0, tt.allow...)
			if !strings.Contains(got.Text, tt.want) && tt.want != "HTTP 302" {
				t.Errorf("%+v", got)
			}
			if tt.asked != nil && strings.Join(w.asked, " ") != strings.Join(tt.asked, " ") {
				t.Errorf("asked for %v", w.asked)
			}
		})
	}
}

func TestAWrongAddressIsRefusedBeforeAnythingIsAsked(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"ftp://example.com/":       "only http and https",
		"file:///etc/passwd":       "only http and https",
		"https://u:p@example.com/": "a name or a password",
		"https://":                 "no host",
		"https://bücher.example/":  "ASCII",
		"https://example.com:25/":  "port",
		"https://exa mple.com/":    "no address",
		"https://%31.example.com/": "no",
		"https://example.com:0/":   "port",
		strings.Repeat("a", 5000):  "more than 4096 characters",
	} {
		_, err := core.ParseWebAddress(address)
		if core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v", address, err)
		}
	}
	for address, want := range map[string]string{
		"example.com/a#part":           "https://example.com/a",
		"HTTP://EXAMPLE.COM./a?b=c":    "http://example.com/a?b=c",
		"http://[::ffff:1.2.3.4]:80/":  "http://1.2.3.4:80/",
		"http://[2001:DB8::1]:8080/a":  "http://[2001:db8::1]:8080/a",
		" https://example.com/a%20b ":  "https://example.com/a%20b",
		"https://example.com/search?q": "https://example.com/search?q",
	} {
		if got, err := core.ParseWebAddress(address); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v; want %s", address, got, err, want)
		}
	}
}

func TestAnEndlessAnswerStopsWithTheRun(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	w := newWorld(t, func(out http.ResponseWriter, r *http.Request) {
		out.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(out).Flush()
		close(begun)
		<-r.Context().Done()
	})
	env := core.ToolEnv{}
	env.Workspace.Hosts = everything{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := New(Config{Network: w}).Fetch(ctx, FetchArgs{URL: "http://example.com/"}, env)
		done <- err
	}()
	<-begun
	cancel()
	select {
	case err := <-done:
		if err == nil {
			t.Error("the call returned as if nothing had happened")
		}
	case <-time.After(20 * time.Second):
		t.Error("the call goes on")
	}
}

type everything struct{}

func (everything) Allows(string, bool) bool { return true }
func (everything) Closed(string) string     { return "" }
func (everything) Asks(string) bool         { return false }
