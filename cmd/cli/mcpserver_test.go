package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpServer is an MCP server over standard input and output. What it says of greet stands in the file that it is given, if it is.
func mcpServer() {
	s := mcp.NewServer(&mcp.Implementation{Name: "probe", Version: "1"}, nil)
	said := func(text string) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	}
	type named struct {
		Name string `json:"name" jsonschema:"who is greeted"`
	}
	does := "Greet somebody."
	if len(os.Args) > 1 {
		text, err := os.ReadFile(os.Args[1])
		if err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		does = string(text)
	}
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: does},
		func(_ context.Context, _ *mcp.CallToolRequest, in named) (*mcp.CallToolResult, any, error) {
			return said("hello " + in.Name + ", " + os.Getenv("GREETING"))
		})
	type at struct {
		Path string `json:"path"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "count", Description: "Count a call, and never return."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in at) (*mcp.CallToolResult, any, error) {
			file, err := os.OpenFile(filepath.Clean(in.Path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, nil, err
			}
			_, _ = file.WriteString("ran\n")
			_ = file.Close()
			<-ctx.Done()
			return said("counted")
		})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}
