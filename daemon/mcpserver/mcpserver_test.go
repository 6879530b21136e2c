package mcpserver_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/core"
	"loci/daemon"
	"loci/daemon/api"
	"loci/daemon/client"
	"loci/daemon/config"
	"loci/daemon/mcpserver"
)

// house is a running daemon and a client of it.
func house(t *testing.T) *client.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "lm") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	env := func(name string) (string, bool) {
		vars := map[string]string{"LOCI_HOME": dir, "OLLAMA_HOST": "http://127.0.0.1:9"}
		v, ok := vars[name]
		return v, ok
	}
	p, err := config.FindPaths(env)
	if err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(p.Config, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := daemon.Open(t.Context(), daemon.Config{Paths: p, Settings: l.Config, Environ: env, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		_ = d.Close()
	})
	c := client.New(client.Options{Socket: p.Socket, Version: "test"})
	t.Cleanup(c.Close)
	return c
}

func agent(t *testing.T, c *client.Client, name string) api.AgentState {
	t.Helper()
	g, err := c.CreateAgent(t.Context(), api.CreateAgent{
		Name: &name, Model: new(string(core.OfflineHandle)),
		MemoryBlocks: []api.CreateBlock{{Label: "human", Value: "Lives in Oulu."}, {Label: "persona", Value: "Calm."}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// program is another program that reaches a server.
func program(t *testing.T, cfg mcpserver.Config, name string) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	served, err := mcpserver.New(cfg).Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(); _ = served.Wait() })
	return s
}

// call calls a tool and returns the text of its result, which says "error:" first where it is one.
func call(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any, meta mcp.Meta) string {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Meta: meta, Name: tool, Arguments: args})
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	if r.IsError {
		b.WriteString("error: ")
	}
	for _, c := range r.Content {
		b.WriteString(c.(*mcp.TextContent).Text)
	}
	return b.String()
}

func names(t *testing.T, s *mcp.ClientSession) (list []string) {
	t.Helper()
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, tool.Name)
	}
	return list
}

func TestAnotherProgramSearchesReadsAndRemembers(t *testing.T) {
	t.Parallel()
	c := house(t)
	agent(t, c, "Ada")
	s := program(t, mcpserver.Config{Client: c, Agents: []string{"Ada"}}, "Claude Code")
	want := []string{"ask_agent", "conversation_search", "memory_blocks", "memory_search", "remember"}
	if diff := cmp.Diff(want, names(t, s)); diff != "" {
		t.Error(diff)
	}
	if got := call(t, s, "memory_search", map[string]any{"query": "deployments"}, nil); !strings.HasPrefix(got, "Nothing was found.") {
		t.Errorf("an empty memory: %s", got)
	}
	stored := map[string]any{"text": "Deployments happen on Thursdays.", "tags": []string{"work"}}
	if got := call(t, s, "remember", stored, nil); got != "Ada will remember it." {
		t.Error(got)
	}
	found := call(t, s, "memory_search", map[string]any{"query": "when do we deploy?"}, nil)
	if !strings.Contains(found, "Deployments happen on Thursdays.") || !strings.Contains(found, "mcp:claude-code") {
		t.Errorf("it isn't found, or not under the program's name: %s", found)
	}
	elsewhere := map[string]any{"query": "deploy", "tags": []string{"home"}}
	if got := call(t, s, "memory_search", elsewhere, nil); !strings.HasPrefix(got, "Nothing") {
		t.Errorf("another tag: %s", got)
	}
	if got := call(t, s, "memory_blocks", nil, nil); !strings.Contains(got, "## human\nLives in Oulu.") {
		t.Errorf("blocks: %s", got)
	}
	if got := call(t, s, "memory_blocks", map[string]any{"label": "persona"}, nil); got != "## persona\nCalm." {
		t.Errorf("one block: %q", got)
	}
}

func TestAnAgentIsAskedInAConversationOfItsOwnAndKnowsWhoAsks(t *testing.T) {
	t.Parallel()
	c := house(t)
	g := agent(t, c, "Ada")
	s := program(t, mcpserver.Config{Client: c, Agents: []string{"Ada"}}, "codex")
	if got := call(t, s, "ask_agent", map[string]any{"message": "Where do I live?"}, nil); strings.HasPrefix(got, "error") || got == "" {
		t.Fatalf("the answer: %q", got)
	}
	call(t, s, "ask_agent", map[string]any{"message": "And now?"}, nil)
	all, err := c.Conversations(t.Context(), api.ListConversations{AgentID: g.ID})
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, one := range all {
		if api.Val(one.Summary) == "MCP: codex" {
			asked = append(asked, one.ID)
		}
	}
	if len(asked) != 1 {
		t.Fatalf("conversations of the program: %v of %d", asked, len(all))
	}
	said, err := c.ConversationMessages(t.Context(), asked[0], api.ListConversationMessages{})
	if err != nil {
		t.Fatal(err)
	}
	const from = "[From the program codex, through MCP. No person wrote this.]\n\n"
	told := 0
	for _, m := range said {
		if m.MessageType == api.MessageUser && strings.HasPrefix(m.Content.String(), from) {
			told++
		}
	}
	if told != 2 {
		t.Errorf("the agent was told %d times who asks", told)
	}
	if own, err := c.Messages(t.Context(), g.ID, api.ListMessages{}); err != nil || len(own) > 1 {
		t.Errorf("the person's own thread has %d messages: %v", len(own), err)
	}
}

func TestQuestionsAtOnceAreAnsweredOneAfterTheOther(t *testing.T) {
	t.Parallel()
	c := house(t)
	agent(t, c, "Ada")
	s := program(t, mcpserver.Config{Client: c, Agents: []string{"Ada"}}, "codex")
	got := make([]string, 5)
	var asking sync.WaitGroup
	for i := range got {
		asking.Go(func() { got[i] = call(t, s, "ask_agent", map[string]any{"message": "Where do I live?"}, nil) })
	}
	asking.Wait()
	for i, text := range got {
		if text == "" || strings.HasPrefix(text, "error") {
			t.Errorf("question %d: %q", i, text)
		}
	}
}

func TestAnAgentThatWaitsForTheAnswerIsNotAsked(t *testing.T) {
	t.Parallel()
	c := house(t)
	g := agent(t, c, "Ada")
	s := program(t, mcpserver.Config{Client: c, Agents: []string{"Ada"}}, "codex")
	for given, want := range map[string]any{
		"Ada waits for this very answer":         []string{"agent-1", g.ID},
		"4 agents wait for each other already":   []string{"agent-1", "agent-2", "agent-3", "agent-4"},
		"loci/callers is a list of ids":          "agent-1",
		"loci/callers holds what is no id of an": []string{"agent-\x1b[2J"},
	} {
		got := call(t, s, "ask_agent", map[string]any{"message": "hello"}, mcp.Meta{"loci/callers": want})
		if !strings.HasPrefix(got, "error: "+given) {
			t.Errorf("%v: %s", want, got)
		}
	}
	other := mcp.Meta{"loci/callers": []string{"agent-1"}}
	if got := call(t, s, "ask_agent", map[string]any{"message": "hello"}, other); strings.HasPrefix(got, "error") {
		t.Errorf("one other that waits: %s", got)
	}
}

func TestOnlyAgentsThatAPersonNamedAreReached(t *testing.T) {
	t.Parallel()
	c := house(t)
	ada, bob := agent(t, c, "Ada"), agent(t, c, "Bob")
	agent(t, c, "Eve")
	s := program(t, mcpserver.Config{Client: c, Agents: []string{"Ada", bob.ID}}, "x")
	for _, tool := range []string{"memory_search", "conversation_search", "memory_blocks", "remember", "ask_agent"} {
		args := map[string]any{"query": "x"}
		switch tool {
		case "memory_blocks":
			args = map[string]any{}
		case "remember":
			args = map[string]any{"text": "x"}
		case "ask_agent":
			args = map[string]any{"message": "x"}
		}
		if got := call(t, s, tool, args, nil); got != "error: say which agent: Ada, "+bob.ID {
			t.Errorf("%s of nobody: %s", tool, got)
		}
		args["agent"] = "Eve"
		if got := call(t, s, tool, args, nil); !strings.HasPrefix(got, `error: no agent "Eve" is offered here`) {
			t.Errorf("%s of another one: %s", tool, got)
		}
		for _, name := range []string{"Ada", ada.ID, "Bob", bob.ID} {
			args["agent"] = name
			if got := call(t, s, tool, args, nil); strings.HasPrefix(got, "error") {
				t.Errorf("%s of %s: %s", tool, name, got)
			}
		}
	}
	if err := mcpserver.Check(t.Context(), mcpserver.Config{Client: c, Agents: []string{"Ada", "Nobody"}}); err == nil {
		t.Error("an agent that isn't there is taken")
	}
}

func TestAServerThatOnlyReadsStoresNothingAndAsksNobody(t *testing.T) {
	t.Parallel()
	c := house(t)
	agent(t, c, "Ada")
	s := program(t, mcpserver.Config{Client: c, Agents: []string{"Ada"}, ReadOnly: true}, "x")
	if diff := cmp.Diff([]string{"conversation_search", "memory_blocks", "memory_search"}, names(t, s)); diff != "" {
		t.Error(diff)
	}
	for _, tool := range []string{"remember", "ask_agent"} {
		if got := call(t, s, tool, map[string]any{"text": "x", "message": "x"}, nil); !strings.HasPrefix(got, "error") {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

func TestBadArgumentsAreErrorsOfTheCall(t *testing.T) {
	t.Parallel()
	c := house(t)
	agent(t, c, "Ada")
	s := program(t, mcpserver.Config{Client: c, Agents: []string{"Ada"}}, "x")
	for name, one := range map[string]struct {
		tool string
		args map[string]any
	}{
		"no query":       {"memory_search", map[string]any{}},
		"a number":       {"memory_search", map[string]any{"query": 5}},
		"a strange key":  {"memory_search", map[string]any{"query": "x", "nope": 1}},
		"no date":        {"memory_search", map[string]any{"query": "x", "from": "yesterday"}},
		"blank text":     {"remember", map[string]any{"text": " \n"}},
		"a huge text":    {"remember", map[string]any{"text": strings.Repeat("long ", 1_000_000)}},
		"an empty ask":   {"ask_agent", map[string]any{"message": ""}},
		"a huge ask":     {"ask_agent", map[string]any{"message": strings.Repeat("x", 200_000)}},
		"no such block":  {"memory_blocks", map[string]any{"label": "../../x"}},
		"no such tool":   {"delete_everything", nil},
		"a path as name": {"memory_blocks", map[string]any{"agent": "../agents"}},
	} {
		if got := call(t, s, one.tool, one.args, nil); !strings.HasPrefix(got, "error") {
			t.Errorf("%s: %s", name, clipped(got))
		}
	}
	if got := call(t, s, "memory_search", map[string]any{"query": "x", "limit": 5000}, nil); strings.HasPrefix(got, "error") {
		t.Errorf("a high limit: %s", got)
	}
}

func clipped(s string) string { return s[:min(len(s), 300)] }

func TestItIsServedOverStreams(t *testing.T) {
	t.Parallel()
	c := house(t)
	agent(t, c, "Ada")
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	var serving sync.WaitGroup
	var ended error
	serving.Go(func() {
		ended = mcpserver.Serve(t.Context(), mcpserver.Config{Client: c, Agents: []string{"Ada"}}, in, out)
	})
	s, err := mcp.NewClient(&mcp.Implementation{Name: "x", Version: "1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := call(t, s, "memory_blocks", nil, nil); !strings.Contains(got, "Oulu") {
		t.Error(got)
	}
	_ = toServer.Close()
	serving.Wait()
	if ended != nil {
		t.Error(ended)
	}
}

// hello opens a session.
const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
	`"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" //nolint:misspell // the protocol's word

// TestWhatWasAskedBeforeTheEndIsAnswered writes everything and closes, as a shell's pipe does.
func TestWhatWasAskedBeforeTheEndIsAnswered(t *testing.T) {
	t.Parallel()
	c := house(t)
	agent(t, c, "Ada")
	for name, one := range map[string]struct{ asked, want string }{
		"an answer": {
			`{"jsonrpc":"2.0","id":"a","method":"tools/call",` +
				`"params":{"name":"ask_agent","arguments":{"message":"Hello"}}}`,
			`"id":"a"`,
		},
		"no line's end": {`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, `"id":7`},
		"a request that was withdrawn": {
			`{"jsonrpc":"2.0","id":8,"method":"tools/list"}` + "\n" +
				`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"ask_agent","arguments":{"message":"Hello"}}}` + "\n" +
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}` + "\n",
			`"id":8`,
		},
	} {
		var out bytes.Buffer
		in := io.NopCloser(strings.NewReader(hello + one.asked))
		if err := mcpserver.Serve(t.Context(), mcpserver.Config{Client: c, Agents: []string{"Ada"}}, in, kept{&out}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(out.String(), one.want) {
			t.Errorf("%s: %s", name, clipped(out.String()))
		}
	}
}

type kept struct{ io.Writer }

func (kept) Close() error { return nil }

func TestALineThatIsNoMessageEndsNothing(t *testing.T) {
	t.Parallel()
	c := house(t)
	agent(t, c, "Ada")
	const after = "\n" + `{"jsonrpc":"2.0","id":5,"method":"ping"}` + "\n"
	for name, one := range map[string]struct {
		line io.Reader
		want string
	}{
		"no JSON":      {strings.NewReader("hello"), `"code":-32700`},
		"half of it":   {strings.NewReader(`{"jsonrpc":"2.0","id":1,`), `"code":-32700`},
		"a batch":      {strings.NewReader(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`), `"code":-32600`},
		"an odd id":    {strings.NewReader(`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`), `"code":-32600`},
		"no version":   {strings.NewReader(`{"id":1,"method":"ping"}`), `"code":-32600`},
		"a number":     {strings.NewReader(`5`), `"code":-32600`},
		"far too long": {io.LimitReader(endlessly('x'), 64<<20), "over 4 MB"},
		"an empty one": {strings.NewReader(" "), `"id":5`},
	} {
		var out bytes.Buffer
		in := io.NopCloser(io.MultiReader(strings.NewReader(hello), one.line, strings.NewReader(after)))
		if err := mcpserver.Serve(t.Context(), mcpserver.Config{Client: c, Agents: []string{"Ada"}}, in, kept{&out}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := out.String(); !strings.Contains(got, one.want) || !strings.Contains(got, `"id":5,"result"`) {
			t.Errorf("%s: %s", name, clipped(got))
		}
	}
}

type endlessly byte

func (e endlessly) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestItIsServedOverHTTP(t *testing.T) {
	t.Parallel()
	c := house(t)
	agent(t, c, "Ada")
	h := httptest.NewServer(mcpserver.Handler(mcpserver.Config{Client: c, Agents: []string{"Ada"}}))
	t.Cleanup(h.Close)
	s, err := mcp.NewClient(&mcp.Implementation{Name: "crush", Version: "1"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: h.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if got := call(t, s, "remember", map[string]any{"text": "The kettle is new."}, nil); got != "Ada will remember it." {
		t.Error(got)
	}
	if got := call(t, s, "memory_search", map[string]any{"query": "kettle"}, nil); !strings.Contains(got, "mcp:crush") {
		t.Errorf("it isn't stored under the program's name: %s", got)
	}
	resp, err := http.Post(h.URL, "application/json", io.LimitReader(endlessly('x'), 8<<20))
	if err != nil {
		return // cut off, which is as good
	}
	_ = resp.Body.Close()
	if resp.StatusCode < http.StatusBadRequest {
		t.Errorf("a huge body: %d", resp.StatusCode)
	}
}
