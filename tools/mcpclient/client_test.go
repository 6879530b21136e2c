package mcpclient_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/core"
	"loci/core/coretest"
	"loci/core/picture"
	"loci/sandbox"
	"loci/tools/mcpclient"
)

// bench is a manager on a sandbox of its own.
type bench struct {
	*testing.T
	*mcpclient.Manager
	mu     sync.Mutex
	listed []core.MCPListing
}

func open(t *testing.T, change ...func(*mcpclient.Config)) *bench {
	t.Helper()
	cage := sandbox.New(sandbox.Config{Mode: sandbox.Off, Scratch: filepath.Join(t.TempDir(), "jobs")})
	t.Cleanup(cage.Close)
	b := &bench{T: t}
	cfg := mcpclient.Config{
		Sandbox: cage, Path: os.Getenv("PATH"), Version: "test", Caches: t.TempDir(),
		Times: mcpclient.Times{Grace: 200 * time.Millisecond},
		Dial: func(private bool) mcpclient.DialFunc {
			var d net.Dialer
			if private {
				return d.DialContext
			}
			return func(context.Context, string, string) (net.Conn, error) {
				return nil, core.E(core.Forbidden, "it is on this machine")
			}
		},
		Listed: func(_ context.Context, _ core.MCPServerID, l core.MCPListing) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.listed = append(b.listed, l)
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	b.Manager = mcpclient.New(cfg)
	t.Cleanup(b.Close)
	return b
}

func quick(cfg *mcpclient.Config) {
	cfg.Times.Connect, cfg.Times.Call = time.Second, time.Second
}

// program is a server of a kind that is the tests' own program.
func program(tb testing.TB, kind string) core.MCPTarget {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return core.MCPTarget{Server: core.MCPServer{
		ID: core.NewMCPServerID(), Name: kind, Transport: core.MCPStdio, Command: exe, Args: []string{serverWord, kind},
		Grants: core.MCPGrants{Read: []string{exe}},
	}}
}

func (b *bench) list(to core.MCPTarget) core.MCPListing {
	b.Helper()
	l, err := b.List(b.Context(), to)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// hash is what a server says of a tool.
func (b *bench) hash(to core.MCPTarget, remote string) string {
	b.Helper()
	for _, o := range b.list(to).Offers {
		if o.Remote == remote {
			return o.Hash
		}
	}
	b.Fatalf("there is no tool %s", remote)
	return ""
}

func (b *bench) call(to core.MCPTarget, remote string, args map[string]any) (core.ToolResult, error) {
	b.Helper()
	return b.Call(b.Context(), to, core.MCPCall{
		Remote: remote, Hash: b.hash(to, remote), Arguments: args, Pictures: picture.New(), Sees: true,
	})
}

func (b *bench) said(to core.MCPTarget, remote string, args map[string]any) string {
	b.Helper()
	r, err := b.call(to, remote, args)
	if err != nil {
		b.Fatal(err)
	}
	return r.Text
}

func TestAProgramIsStartedOnceAndCalledOften(t *testing.T) {
	t.Parallel()
	b := open(t)
	to := program(t, "good")
	to.Secrets.Env = map[string]string{"GIVEN": "it"}
	if n := b.Running(); n != 0 {
		t.Errorf("%d servers run before the first call", n)
	}
	first := b.said(to, "env", nil)
	if !strings.Contains(first, "it|/work|") || b.said(to, "env", nil) != first {
		t.Errorf("%q", first)
	}
	if text := b.said(to, "echo", map[string]any{"text": "hej"}); !strings.Contains(text, "you said hej") ||
		!strings.Contains(text, `<foreign from="MCP server good, tool echo">`) {
		t.Errorf("%q", text)
	}
	other := to
	other.Secrets.Env = map[string]string{"GIVEN": "else"}
	if text := b.said(other, "env", nil); !strings.Contains(text, "else|") || text == first {
		t.Errorf("%q: whoever is given other variables has another program", text)
	}
	if n := b.Running(); n != 2 {
		t.Errorf("%d servers run", n)
	}
	b.Drop(to.Server.ID)
	if n := b.Running(); n != 0 {
		t.Errorf("%d servers run that were dropped", n)
	}
	if text := b.said(to, "env", nil); text == first {
		t.Error("it was not started anew")
	}
}

func TestAServerEndsOnceNobodyUsesIt(t *testing.T) {
	t.Parallel()
	b := open(t, func(cfg *mcpclient.Config) { cfg.Times.Idle = 20 * time.Millisecond })
	b.list(program(t, "good"))
	coretest.Until(t, "the server ends", func() bool { return b.Running() == 0 })
}

func TestAProgramRunsInTheSandbox(t *testing.T) {
	t.Parallel()
	cage := sandbox.New(sandbox.Config{Scratch: filepath.Join(t.TempDir(), "jobs")})
	t.Cleanup(cage.Close)
	b := open(t, func(cfg *mcpclient.Config) { cfg.Sandbox = cage })
	to := program(t, "good")
	text := b.said(to, "env", nil)
	if parts := strings.Split(text, "|"); len(parts) != 4 || !strings.HasPrefix(parts[3], "false") {
		t.Errorf("%q: it sees a home", text)
	}
	hidden := open(t, func(cfg *mcpclient.Config) { cfg.Sandbox, cfg.Hidden = cage, []string{to.Server.Command} })
	if _, err := hidden.List(t.Context(), to); core.KindOf(err) != core.Forbidden {
		t.Errorf("%v: it may see what is Loci's own", err)
	}
	to.Server.Grants = core.MCPGrants{}
	if _, err := b.List(t.Context(), to); core.KindOf(err) != core.Forbidden || !strings.Contains(core.HintOf(err), "loci mcp allow") {
		t.Errorf("%v %s: it may see a program that nobody let it", err, core.HintOf(err))
	}
	for _, round := range []string{"/usr/..", "/usr/bin/../.."} {
		to.Server.Command = round + program(t, "good").Server.Command
		to.Server.Grants.Read = []string{"/usr/bin"}
		if _, err := b.List(t.Context(), to); core.KindOf(err) != core.Forbidden {
			t.Errorf("%v: it may see a program by way of what it may see: %s", err, round)
		}
	}
}

func TestWhatIsNoTextIsShownOrToldOf(t *testing.T) {
	t.Parallel()
	b := open(t)
	to := program(t, "good")
	r, err := b.call(to, "picture", nil)
	if err != nil || len(r.Images) != 1 || r.Images[0].Width != 4 {
		t.Fatalf("%v %+v", err, r)
	}
	for _, want := range []string{"here", "within", "resource file:///b", "can't be read as one", "a sound of 2 KB"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is not in %q", want, r.Text)
		}
	}
	blind, err := b.Call(t.Context(), to, core.MCPCall{Remote: "picture", Hash: b.hash(to, "picture")})
	if err != nil || len(blind.Images) != 0 || !strings.Contains(blind.Text, "takes no images") {
		t.Errorf("%v %+v", err, blind)
	}
	failed, err := b.call(to, "fail", nil)
	if err != nil || !failed.IsError || !strings.Contains(failed.Text, "it is broken") {
		t.Errorf("%v %+v", err, failed)
	}
	if r, err := b.call(to, "echo", map[string]any{"text": 1}); err != nil || !r.IsError {
		t.Errorf("%v %+v: arguments that its server refuses are an error to read", err, r)
	}
}

func TestWhatAServerHasBesideToolsIsReadByTwoMore(t *testing.T) {
	t.Parallel()
	b := open(t)
	to := program(t, "reading")
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"resources/read", nil, "note:///a (a): A note."},
		{"resources/read", map[string]any{"uri": "note:///a"}, "what it says"},
		{"prompts/get", nil, "hail (who)"},
		{"prompts/get", map[string]any{"name": "hail", "arguments": map[string]any{"who": "Ada"}}, "user:\nHail Ada"},
	} {
		if text := b.said(to, c.tool, c.args); !strings.Contains(text, c.want) || !strings.Contains(text, "<foreign") {
			t.Errorf("%s %v: %q", c.tool, c.args, text)
		}
	}
	if r, err := b.call(to, "resources/read", map[string]any{"uri": "note:///b"}); err != nil || !r.IsError {
		t.Errorf("%v %+v", err, r)
	}
	for _, o := range b.list(program(t, "good")).Offers {
		if strings.Contains(o.Remote, "/") {
			t.Errorf("%s: the server has none", o.Remote)
		}
	}
}

// website is a server that has an address.
func website(t *testing.T, handler http.Handler, path string, transport core.MCPTransport) core.MCPTarget {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(func() {
		srv.CloseClientConnections() // some are open as long as their client is
		srv.Close()
	})
	return core.MCPTarget{Server: core.MCPServer{
		ID: core.NewMCPServerID(), Name: "web", Transport: transport, URL: srv.URL + path, Grants: core.MCPGrants{Private: true},
	}}
}

func TestAnAddressIsReachedWithWhatItWantsToSee(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]http.Header{}
	guard := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			seen[r.URL.Path] = r.Header.Clone()
			mu.Unlock()
			if r.Header.Get("Authorization") != "Bearer sesame" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	good := func(*http.Request) *mcp.Server { return goodServer() }
	for _, c := range []struct {
		transport core.MCPTransport
		handler   http.Handler
	}{
		{core.MCPHTTP, mcp.NewStreamableHTTPHandler(good, nil)},
		{core.MCPSSE, mcp.NewSSEHandler(good, nil)},
	} {
		t.Run(string(c.transport), func(t *testing.T) {
			t.Parallel()
			b := open(t)
			to := website(t, guard(c.handler), "/"+string(c.transport), c.transport)
			if _, err := b.List(t.Context(), to); core.KindOf(err) != core.Unauthenticated {
				t.Errorf("without the token: %v", err)
			}
			to.Secrets = core.MCPSecrets{Token: "sesame", Headers: map[string]string{"X-Team": "blue"}}
			if text := b.said(to, "echo", map[string]any{"text": "hej"}); !strings.Contains(text, "you said hej") {
				t.Errorf("%q", text)
			}
			mu.Lock()
			if got := seen["/"+string(c.transport)]; got.Get("X-Team") != "blue" || got.Get("User-Agent") != "loci/test" {
				t.Errorf("%v", got)
			}
			mu.Unlock()
			to.Server.Grants.Private = false
			if _, err := b.List(t.Context(), to); core.KindOf(err) != core.Forbidden {
				t.Errorf("an address of this machine that nobody let it have: %v", err)
			}
		})
	}
}

func TestACredentialIsSentToNoOtherAddress(t *testing.T) {
	t.Parallel()
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(other.Close)
	away := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	elsewhere := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("event: endpoint\ndata: " + other.URL + "/steal\n\n"))
	})
	for name, to := range map[string]core.MCPTarget{
		"a redirect": website(t, away, "/", core.MCPHTTP), "an endpoint": website(t, elsewhere, "/", core.MCPSSE),
	} {
		b := open(t, quick)
		to.Secrets.Token = "sesame"
		if _, err := b.List(t.Context(), to); err == nil || reached {
			t.Errorf("%s: %v, reached: %v", name, err, reached)
		}
	}
}
