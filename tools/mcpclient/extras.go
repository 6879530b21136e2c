package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/core"
)

// What a server has beside its tools is reached by two more, which are named as the protocol names what they do.
const (
	readsResource = "resources/read"
	getsPrompt    = "prompts/get"
	mostListed    = 200 // resources or prompts that one call lists
)

// extras are the tools for what a server says it has beside tools.
func (s *session) extras(tools []*mcp.Tool) []*mcp.Tool {
	hello := s.client.InitializeResult()
	if hello == nil || hello.Capabilities == nil {
		return nil
	}
	var out []*mcp.Tool
	add := func(has bool, name, description, schema string) {
		var object map[string]any
		taken := slices.ContainsFunc(tools, func(t *mcp.Tool) bool { return t != nil && t.Name == name })
		if has && !taken && json.Unmarshal([]byte(schema), &object) == nil {
			out = append(out, &mcp.Tool{Name: name, Description: description, InputSchema: object})
		}
	}
	add(hello.Capabilities.Resources != nil, readsResource,
		"Read a resource of the server "+s.to.Server.Name+". Without a uri, list what there is.",
		`{"type":"object","properties":{"uri":{"type":"string","description":"Which resource."}}}`)
	add(hello.Capabilities.Prompts != nil, getsPrompt,
		"Get a prompt that the server "+s.to.Server.Name+" offers, filled in. Without a name, list what there is.",
		`{"type":"object","properties":{"name":{"type":"string","description":"Which prompt."},`+
			`"arguments":{"type":"object","description":"What it is filled in with.","additionalProperties":{"type":"string"}}}}`)
	return out
}

// asked returns what asks a server for a call.
func (s *session) asked(call core.MCPCall) func(ctx context.Context) (*mcp.CallToolResult, error) {
	text := func(name string) string { value, _ := call.Arguments[name].(string); return value }
	switch {
	case s.own(call.Remote) && call.Remote == readsResource:
		return func(ctx context.Context) (*mcp.CallToolResult, error) { return s.resource(ctx, text("uri")) }
	case s.own(call.Remote) && call.Remote == getsPrompt:
		given, _ := call.Arguments["arguments"].(map[string]any)
		return func(ctx context.Context) (*mcp.CallToolResult, error) { return s.prompt(ctx, text("name"), given) }
	}
	args := call.Arguments
	if args == nil {
		args = map[string]any{}
	}
	return func(ctx context.Context) (*mcp.CallToolResult, error) {
		return s.client.CallTool(ctx, &mcp.CallToolParams{Name: call.Remote, Arguments: args})
	}
}

// own reports whether a tool is ours, and none of the server's that has its name.
func (s *session) own(remote string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.extra, remote)
}

func (s *session) resource(ctx context.Context, uri string) (*mcp.CallToolResult, error) {
	out := &mcp.CallToolResult{}
	if uri != "" {
		got, err := s.client.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return nil, err
		}
		for _, part := range got.Contents {
			if strings.HasPrefix(part.MIMEType, "image/") && len(part.Blob) > 0 {
				out.Content = append(out.Content, &mcp.ImageContent{MIMEType: part.MIMEType, Data: part.Blob})
				continue
			}
			out.Content = append(out.Content, &mcp.EmbeddedResource{Resource: part})
		}
		return out, nil
	}
	listed, err := s.client.ListResources(ctx, &mcp.ListResourcesParams{})
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, r := range listed.Resources {
		lines = append(lines, line(r.URI, r.Name, r.Description))
	}
	templates, err := s.client.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{})
	if err == nil { // a server needs none
		for _, t := range templates.ResourceTemplates {
			lines = append(lines, line(t.URITemplate, t.Name, t.Description))
		}
	}
	return listing(out, lines), nil
}

func (s *session) prompt(ctx context.Context, name string, given map[string]any) (*mcp.CallToolResult, error) {
	out := &mcp.CallToolResult{}
	if name == "" {
		listed, err := s.client.ListPrompts(ctx, &mcp.ListPromptsParams{})
		if err != nil {
			return nil, err
		}
		var lines []string
		for _, p := range listed.Prompts {
			takes := ""
			for _, a := range p.Arguments {
				takes += " " + a.Name
			}
			lines = append(lines, line(p.Name, strings.TrimSpace(takes), p.Description))
		}
		return listing(out, lines), nil
	}
	args := map[string]string{}
	for key, value := range given {
		args[key] = fmt.Sprint(value)
	}
	got, err := s.client.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return nil, err
	}
	for _, m := range got.Messages {
		out.Content = append(out.Content, &mcp.TextContent{Text: string(m.Role) + ":"}, m.Content)
	}
	return out, nil
}

// line is one of what there is, on a line.
func line(name, more, description string) string {
	text := plain(name, 500)
	if more != "" {
		text += " (" + plain(more, 200) + ")"
	}
	if description != "" {
		text += ": " + plain(description, 300)
	}
	return text
}

// listing makes a result of what there is.
func listing(out *mcp.CallToolResult, lines []string) *mcp.CallToolResult {
	more := len(lines) - mostListed
	if more > 0 {
		lines = append(lines[:mostListed:mostListed], fmt.Sprintf("… and %d more", more))
	}
	if len(lines) == 0 {
		lines = []string{"There is none."}
	}
	out.Content = []mcp.Content{&mcp.TextContent{Text: strings.Join(lines, "\n")}}
	return out
}
