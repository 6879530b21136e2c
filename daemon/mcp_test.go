package daemon

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/core"
	"loci/daemon/api"
)

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
}

// program connects another program to a daemon over TCP.
func program(ctx context.Context, d *Daemon, token string) (*mcp.ClientSession, error) {
	return mcp.NewClient(&mcp.Implementation{Name: "crush", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: "http://" + d.Status(ctx).Listen + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1,
	}, nil)
}

func TestOtherProgramsReachNamedAgentsOverTCPWithTheTokenOnly(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	settings.Listen, settings.Token, settings.MCPAgents = "127.0.0.1:0", "sesame", []string{"Ada"}
	d, _ := start(t, Config{Paths: p, Settings: settings})
	c, _ := talker(t, p, "/one")
	for _, name := range []string{"Ada", "Eve"} {
		_, err := c.CreateAgent(t.Context(), api.CreateAgent{
			Name: &name, Model: new(string(core.OfflineHandle)), MemoryBlocks: []api.CreateBlock{{Label: "human", Value: "Lives in Oulu."}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, wrong := range []string{"", "guess"} {
		if s, err := program(t.Context(), d, wrong); err == nil {
			_ = s.Close()
			t.Errorf("it is served with the token %q", wrong)
		}
	}
	s, err := program(t.Context(), d, "sesame")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	read := func(args map[string]any) (string, bool) {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "memory_blocks", Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		return r.Content[0].(*mcp.TextContent).Text, r.IsError
	}
	if text, failed := read(nil); failed || !strings.Contains(text, "Oulu") {
		t.Errorf("its blocks: %s", text)
	}
	if text, failed := read(map[string]any{"agent": "Eve"}); !failed || strings.Contains(text, "Oulu") {
		t.Errorf("an agent that nobody named: %s", text)
	}
}

func TestNobodyIsServedWithoutATokenOrANamedAgent(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]struct {
		token  string
		agents []string
		said   bool
	}{"no token": {agents: []string{"Ada"}, said: true}, "no agent": {token: "sesame"}} {
		p, settings := home(t)
		settings.Listen, settings.Token, settings.MCPAgents = "127.0.0.1:0", set.token, set.agents
		said := make(chan string, 16)
		d, _ := start(t, Config{Paths: p, Settings: settings, Notify: func(line string) { said <- line }})
		if s, err := program(t.Context(), d, set.token); err == nil {
			_ = s.Close()
			t.Errorf("%s: it is served", name)
		}
		told := false
		for len(said) > 0 {
			told = strings.Contains(<-said, "mcp_agents is set without a token") || told
		}
		if told != set.said {
			t.Errorf("%s: told %v", name, told)
		}
	}
}
