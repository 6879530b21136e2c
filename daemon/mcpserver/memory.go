package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/daemon/api"
)

const (
	defaultHits = 8
	mostHits    = 25
	hitText     = 1500 // characters of a hit that are shown
)

type searchArgs struct {
	Agent string   `json:"agent,omitempty" jsonschema:"whose memory; only needed where several agents are offered"`
	Query string   `json:"query" jsonschema:"what to look for, in plain words or as a question"`
	Tags  []string `json:"tags,omitempty" jsonschema:"only what has one of these tags"`
	From  string   `json:"from,omitempty" jsonschema:"only from this day on, like 2026-03-20"`
	Until string   `json:"until,omitempty" jsonschema:"only up to this day"`
	Limit int      `json:"limit,omitempty" jsonschema:"how many at most; 8 by default, 25 at most"`
}

type recallArgs struct {
	Agent string `json:"agent,omitempty" jsonschema:"whose conversations; only needed where several agents are offered"`
	Query string `json:"query" jsonschema:"what to look for, in plain words or as a question"`
	From  string `json:"from,omitempty" jsonschema:"only from this day on, like 2026-03-20"`
	Until string `json:"until,omitempty" jsonschema:"only up to this day"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many at most; 8 by default, 25 at most"`
}

type blockArgs struct {
	Agent string `json:"agent,omitempty" jsonschema:"whose blocks; only needed where several agents are offered"`
	Label string `json:"label,omitempty" jsonschema:"one block only; all of them by default"`
}

type rememberArgs struct {
	Agent string   `json:"agent,omitempty" jsonschema:"in whose memory; only needed where several agents are offered"`
	Text  string   `json:"text" jsonschema:"one fact, whole in itself: who, what, when"`
	Tags  []string `json:"tags,omitempty" jsonschema:"words to find it by"`
}

// addMemory adds the tools that only read.
func (s *server) addMemory(m *mcp.Server) {
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(bool)}
	mcp.AddTool(m, &mcp.Tool{
		Name: "memory_search", Title: "Search memory", Annotations: reads,
		Description: "Find what was stored for the long term: facts, decisions, preferences, notes and documents, by words and by meaning.",
	}, s.search)
	mcp.AddTool(m, &mcp.Tool{
		Name: "conversation_search", Title: "Search conversations", Annotations: reads,
		Description: "Find what a person and the agent said to each other, by words and by meaning.",
	}, s.recall)
	mcp.AddTool(m, &mcp.Tool{
		Name: "memory_blocks", Title: "Read memory blocks", Annotations: reads,
		Description: "Read what the agent always keeps in mind, such as who the person is and how they like to work.",
	}, s.blocks)
}

func (s *server) addRemember(m *mcp.Server) {
	mcp.AddTool(m, &mcp.Tool{
		Name: "remember", Title: "Remember", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: new(bool)},
		Description: "Store one fact for the long term. Search first, so that nothing is stored twice. " +
			"It is tagged with your program's name.",
	}, s.remember)
}

func limited(n int) int {
	if n <= 0 {
		return defaultHits
	}
	return min(n, mostHits)
}

// optional is nil for a text that isn't there.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (s *server) search(ctx context.Context, _ *mcp.CallToolRequest, in searchArgs) (*mcp.CallToolResult, any, error) {
	g, err := s.agent(ctx, in.Agent)
	if err != nil {
		return nil, nil, err
	}
	found, partial, err := s.cfg.Client.SearchPassages(ctx, api.SearchPassages{
		Query: &in.Query, AgentID: &g.ID, Tags: in.Tags, Limit: new(limited(in.Limit)),
		StartDate: optional(in.From), EndDate: optional(in.Until),
	})
	if err != nil {
		return nil, nil, err
	}
	var b strings.Builder
	for _, r := range found {
		p := r.Passage
		fmt.Fprintf(&b, "- %s%s %s\n", day(p.CreatedAt), tagged(p.Tags), clip(p.Text, hitText))
	}
	return hits(b.String(), partial), nil, nil
}

func (s *server) recall(ctx context.Context, _ *mcp.CallToolRequest, in recallArgs) (*mcp.CallToolResult, any, error) {
	g, err := s.agent(ctx, in.Agent)
	if err != nil {
		return nil, nil, err
	}
	found, partial, err := s.cfg.Client.SearchAgentMessages(ctx, api.SearchAgentMessages{
		Query: &in.Query, AgentID: &g.ID, Roles: []string{"user", "assistant"}, Limit: new(limited(in.Limit)),
		StartDate: optional(in.From), EndDate: optional(in.Until),
	})
	if err != nil {
		return nil, nil, err
	}
	var b strings.Builder
	for _, r := range found {
		who := g.Name
		if r.Message.Role == "user" {
			who = "the person"
		}
		fmt.Fprintf(&b, "- %s %s: %s\n", day(&r.Message.CreatedAt), who, clip(r.EmbeddedText, hitText))
	}
	return hits(b.String(), partial), nil, nil
}

func (s *server) blocks(ctx context.Context, _ *mcp.CallToolRequest, in blockArgs) (*mcp.CallToolResult, any, error) {
	g, err := s.agent(ctx, in.Agent)
	if err != nil {
		return nil, nil, err
	}
	var list []api.Block
	if in.Label != "" {
		block, _, err := s.cfg.Client.AgentBlock(ctx, g.ID, in.Label)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, block)
	} else if list, err = s.cfg.Client.AgentBlocks(ctx, g.ID, api.Page{}); err != nil {
		return nil, nil, err
	}
	if len(list) == 0 {
		return text("%s has no blocks.", g.Name), nil, nil
	}
	var b strings.Builder
	for _, block := range list {
		fmt.Fprintf(&b, "## %s\n%s\n\n", api.Val(block.Label), block.Value)
	}
	return text("%s", strings.TrimSpace(b.String())), nil, nil
}

func (s *server) remember(ctx context.Context, req *mcp.CallToolRequest, in rememberArgs) (*mcp.CallToolResult, any, error) {
	if strings.TrimSpace(in.Text) == "" {
		return nil, nil, fmt.Errorf("there is no text to remember")
	}
	g, err := s.agent(ctx, in.Agent)
	if err != nil {
		return nil, nil, err
	}
	tags := append(in.Tags[:len(in.Tags):len(in.Tags)], "mcp:"+caller(req.ClientInfo()))
	stored, err := s.cfg.Client.CreatePassage(ctx, g.ID, api.CreatePassage{Text: in.Text, Tags: tags})
	if err != nil {
		return nil, nil, err
	}
	if len(stored) == 0 {
		return text("%s had this already.", g.Name), nil, nil
	}
	return text("%s will remember it.", g.Name), nil, nil
}

// hits is what a search found, and whether it may have missed something.
func hits(list string, partial api.Partial) *mcp.CallToolResult {
	note := ""
	if partial != "" {
		note = "\nSome texts are still being indexed, so this may not be all."
	}
	if list == "" {
		return text("Nothing was found.%s", note)
	}
	return text("%s%s", strings.TrimSuffix(list, "\n"), note)
}

func day(t *api.Time) string {
	if t == nil {
		return "undated"
	}
	return t.UTC().Format("2006-01-02")
}

func tagged(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return " [" + strings.Join(tags, ", ") + "]"
}
