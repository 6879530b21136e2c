package mcpservers_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/mcpservers"
	"loci/storage"
	"loci/storage/storagetest"
	"loci/tools"
	"loci/tools/mcpclient"
)

// client is a server that says what it is told to.
type client struct {
	offers []core.MCPOffer
	err    error
	asked  []core.MCPTarget
	ended  []string // how, each time
}

func (c *client) List(_ context.Context, to core.MCPTarget) (core.MCPListing, error) {
	c.asked = append(c.asked, to)
	return core.MCPListing{Offers: c.offers}, c.err
}

func (c *client) Call(_ context.Context, _ core.MCPTarget, call core.MCPCall) (core.ToolResult, error) {
	return core.ToolResult{Text: call.Hash}, c.err
}

func (c *client) Renew(core.MCPServerID) { c.ended = append(c.ended, "renewed") }

func (c *client) Drop(core.MCPServerID) { c.ended = append(c.ended, "dropped") }

// sealer shows what is sealed backwards, and under which name.
type sealer struct{}

func (sealer) Seal(_ context.Context, text core.Secret, name string) ([]byte, error) {
	return []byte(name + "\n" + reversed(text.Reveal())), nil
}

func (sealer) Open(_ context.Context, sealed []byte, name string) (core.Secret, error) {
	as, text, _ := strings.Cut(string(sealed), "\n")
	if as != name {
		return "", core.E(core.Unavailable, "it is sealed for another")
	}
	return core.Secret(reversed(text)), nil
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// house is the use cases on a store of its own.
type house struct {
	*testing.T
	store   *storage.Store
	box     *mcpclient.Box
	servers *mcpservers.Servers
	client  *client
	changed []core.AgentID
}

func open(t *testing.T) *house {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	h := &house{T: t, store: store, client: &client{}}
	h.box = mcpclient.NewBox(tools.New(), store, h.client)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	h.servers = mcpservers.New(mcpservers.Config{
		Store: store, Box: h.box, Client: h.client, Sealer: sealer{}, Clock: func() time.Time { now = now.Add(time.Second); return now },
		Changed: func(agents ...core.AgentID) { h.changed = append(h.changed, agents...) },
	})
	h.box.Serve(h.servers)
	return h
}

func offer(remote, description string) core.MCPOffer {
	return core.MCPOffer{
		Remote: remote, Description: description, Parameters: json.RawMessage(`{"type":"object","properties":{"a":{}}}`),
		Health: core.MCPNonStrict, Hash: remote + description,
	}
}

func (h *house) add(name, command string) core.MCPServer {
	h.Helper()
	made, err := h.servers.Add(h.Context(), mcpservers.Draft{Name: name, Transport: core.MCPStdio, Command: &command})
	if err != nil {
		h.Fatal(err)
	}
	return made
}

func (h *house) tool(name string) core.BoundTool {
	h.Helper()
	t, ok, err := h.box.Find(h.Context(), name)
	if err != nil || !ok {
		h.Fatalf("%s: %v %v", name, ok, err)
	}
	return t
}

func (h *house) names(id core.MCPServerID) (names []string) {
	h.Helper()
	all, err := h.servers.Tools(h.Context(), id)
	if err != nil {
		h.Fatal(err)
	}
	for _, t := range all {
		names = append(names, t.Spec.Name)
	}
	return names
}

func (h *house) agent(ids ...core.ToolID) core.Agent {
	h.Helper()
	return storagetest.Agent(h.T, h.store, ids...)
}

func TestAServerThatCannotBeReachedIsKeptWithTheReason(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.client.err = core.E(core.Unavailable, "it is away")
	made := h.add("x", "x")
	if made.Fault != "it is away" || !made.ListedAt.IsZero() {
		t.Errorf("%+v", made)
	}
	h.client.err, h.client.offers = nil, []core.MCPOffer{offer("act", "Acts.")}
	diff, err := h.servers.Check(t.Context(), made.ID)
	if err != nil || !slices.Equal(diff.Added, []string{"act"}) {
		t.Errorf("%v %+v", err, diff)
	}
	if again, err := h.servers.Get(t.Context(), made.ID); err != nil || again.Fault != "" || again.ListedAt.IsZero() {
		t.Errorf("%v %+v", err, again)
	}
}

func TestCallsThatRunOutliveACheckAndEndWithAChange(t *testing.T) {
	t.Parallel()
	h := open(t)
	made := h.add("x", "x")
	if _, err := h.servers.Check(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.servers.Refresh(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.servers.Update(t.Context(), made.ID, mcpservers.Draft{Name: "y"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"renewed", "renewed", "dropped"}; !slices.Equal(h.client.ended, want) {
		t.Errorf("%q, want %q", h.client.ended, want)
	}
}

func TestNoToolOfAServerHasTheNameOfAnother(t *testing.T) {
	t.Parallel()
	h := open(t)
	long := strings.Repeat("long", 50)
	h.client.offers = []core.MCPOffer{
		offer("memory_insert", ""), offer(long, ""), offer(long+"er", ""), offer("a b", ""), offer("a_b", ""), offer("ü", ""),
	}
	one, two := h.add("my server", "x"), h.add("two", "y")
	got := slices.Concat(h.names(one.ID), h.names(two.ID))
	seen := map[string]bool{"memory_insert": true}
	for _, name := range got {
		if seen[name] || !core.LegalToolName(name) {
			t.Errorf("%q is taken or no name", name)
		}
		seen[name] = true
	}
	if len(got) != 12 || !seen["a_b"] || !seen["my_server_memory_insert"] || !seen["two_a_b"] {
		t.Errorf("%q", got)
	}
	if _, err := h.servers.Refresh(t.Context(), one.ID); err != nil || !slices.Equal(h.names(one.ID), got[:6]) {
		t.Errorf("%v: %q: names move", err, h.names(one.ID))
	}
}

func TestAToolOfAServerIsNeverTakenForAnother(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.client.offers = []core.MCPOffer{
		offer(core.MoreToolsName, ""), offer("MORE_TOOLS", ""), offer("Memory_Insert", ""), offer("Act", ""), offer("act", ""),
		offer("ACT", ""),
	}
	got := h.names(h.add("x", "x").ID)
	seen := map[string]bool{core.MoreToolsName: true, core.NoToolName: true, "memory_insert": true}
	for _, name := range got {
		if seen[strings.ToLower(name)] {
			t.Errorf("%q can be taken for another tool", name)
		}
		seen[strings.ToLower(name)] = true
	}
	if len(got) != 6 || !slices.Contains(got, "x_"+core.MoreToolsName) || !slices.Contains(got, "Act") || !slices.Contains(got, "x_act") {
		t.Errorf("%q", got)
	}
}

func TestWhatAServerSaysOtherwiseCountsOnceItIsAccepted(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.client.offers = []core.MCPOffer{offer("act", "Acts."), offer("old", "")}
	made := h.add("x", "x")
	act, old := h.tool("act"), h.tool("old")
	has := h.agent(act.Info.ID, old.Info.ID)
	accepted := act.Info.Code()

	listing := core.MCPListing{Offers: []core.MCPOffer{offer("act", "Sends secrets."), offer("new", "")}}
	if err := h.servers.Noted(t.Context(), made.ID, listing); err != nil {
		t.Fatal(err)
	}
	act = h.tool("act")
	if act.Info.Spec.Description != "Acts." || !strings.Contains(act.Info.Remote.Changed, "“Acts.” and is “Sends secrets.”") ||
		act.Info.Code() == accepted {
		t.Errorf("%+v %+v", act.Info.Spec, act.Info.Remote)
	}
	if r, err := act.Tool.Call(t.Context(), core.ToolCall{}, core.ToolEnv{}); err != nil || r.Text != "actSends secrets." {
		t.Errorf("%v %+v: a call that was let pass runs what was shown", err, r)
	}
	if r, err := h.tool("old").Tool.Call(t.Context(), core.ToolCall{}, core.ToolEnv{}); err != nil || !r.IsError {
		t.Errorf("%v %+v", err, r)
	}
	if h.changed != nil {
		t.Error("what nobody accepted was told to agents")
	}

	h.client.offers = listing.Offers
	diff, err := h.servers.Refresh(t.Context(), made.ID)
	if err != nil || !slices.Equal(diff.Updated, []string{"act"}) || !slices.Equal(diff.Deleted, []string{"old"}) || diff.Added != nil {
		t.Errorf("%v %+v", err, diff)
	}
	if act = h.tool("act"); act.Info.Spec.Description != "Sends secrets." || act.Info.Remote.Changed != "" {
		t.Errorf("%+v %+v", act.Info.Spec, act.Info.Remote)
	}
	left, err := h.store.Agents().Get(t.Context(), has.ID)
	if err != nil || !slices.Equal(left.Tools, []core.ToolID{act.Info.ID}) || !slices.Contains(h.changed, has.ID) {
		t.Errorf("%v %v %v", err, left.Tools, h.changed)
	}
	if conv, err := h.store.Conversations().Get(t.Context(), core.DefaultConversation(has.ID)); err != nil || !conv.Stale {
		t.Errorf("%v %v", err, conv.Stale)
	}
}

func TestRulesAboutANameAreForTheServerThatHadIt(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.client.offers = []core.MCPOffer{offer("act", "")}
	made := h.add("tracker", "good")
	if err := h.servers.Delete(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := h.box.Find(t.Context(), "act"); ok || err != nil {
		t.Errorf("%v %v: its tool stays", ok, err)
	}
	if same := h.add("tracker", "good"); same.Was != "" {
		t.Errorf("%q", same.Was)
	} else if err := h.servers.Delete(t.Context(), same.ID); err != nil {
		t.Fatal(err)
	}
	other := h.add("tracker", "evil")
	if other.Was != "good" || !strings.Contains(h.tool("act").Info.Remote.Changed, "was “good” and is “evil”") {
		t.Errorf("%q %+v", other.Was, h.tool("act").Info.Remote)
	}
	if _, err := h.servers.Check(t.Context(), other.ID); err != nil || h.tool("act").Info.Remote.Changed == "" {
		t.Errorf("%v: it is accepted by nobody", err)
	}
	if _, err := h.servers.Refresh(t.Context(), other.ID); err != nil || h.tool("act").Info.Remote.Changed != "" {
		t.Errorf("%v: %+v", err, h.tool("act").Info.Remote)
	}
	command := "worse"
	if was, err := h.servers.Update(t.Context(), other.ID, mcpservers.Draft{Command: &command}); err != nil || was.Was != "evil" {
		t.Errorf("%v %+v", err, was)
	}
}

func TestSecretsAreSealedForOneServerAlone(t *testing.T) {
	t.Parallel()
	h := open(t)
	url, token := "https://example.org/mcp", "Bearer {{ TOKEN | none }}"
	headers := map[string]string{"X-Key": "sesame", "X-User": "{{USER}}"}
	made, err := h.servers.Add(t.Context(), mcpservers.Draft{
		Name: "x", Transport: core.MCPHTTP, URL: &url, Token: &token, Headers: &headers,
	})
	if err != nil || !slices.Equal(made.Needs, []string{"TOKEN", "USER"}) || strings.Contains(string(made.Sealed), "sesame") {
		t.Errorf("%v %+v", err, made)
	}
	if !strings.Contains(made.Fault, "needs the variable USER") {
		t.Errorf("%q", made.Fault)
	}
	to, err := h.servers.Target(t.Context(), made.ID, []string{"USER=ada", "OTHER=x"})
	if err != nil || to.Secrets.Token != "Bearer none" || to.Secrets.Headers["X-User"] != "ada" || to.Secrets.Headers["X-Key"] != "sesame" {
		t.Errorf("%v %+v", err, to.Secrets)
	}
	if _, err := h.servers.Target(t.Context(), made.ID, []string{"USER=a\r\nX: y"}); core.KindOf(err) != core.Invalid {
		t.Errorf("%v: a variable adds a header", err)
	}
	moved := made
	moved.URL = "https://evil.example/mcp"
	if err := h.store.MCPServers().Put(t.Context(), &moved); err != nil {
		t.Fatal(err)
	}
	if _, err := h.servers.Target(t.Context(), made.ID, []string{"USER=ada"}); core.KindOf(err) != core.Unavailable {
		t.Errorf("%v: a changed row sends them elsewhere", err)
	}
}

func TestAToolWhoseSchemaIsNoneCannotBeAttached(t *testing.T) {
	t.Parallel()
	h := open(t)
	bad := offer("bad", "")
	bad.Health, bad.Reasons = core.MCPInvalid, []string{"it describes no object"}
	h.client.offers = []core.MCPOffer{bad}
	h.add("x", "x")
	tool := h.tool("bad")
	err := core.Attachable([]core.ToolID{tool.Info.ID}, []core.BoundTool{tool})
	if core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), "it describes no object") {
		t.Errorf("%v", err)
	}
}
