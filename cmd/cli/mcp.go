package cli

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"loci/daemon/mcpserver"
)

// mcpCommand is `loci mcp`: tools of other programs, and the memory of agents for them.
func (a *app) mcpCommand() *cobra.Command {
	var readOnly bool
	config := &cobra.Command{
		Use: "config [NAME|ID...]", Short: "Print what other programs need to reach the memory of agents",
		RunE: func(cmd *cobra.Command, args []string) error { return a.printMCP(cmd.Context(), args, readOnly) },
	}
	serve := &cobra.Command{
		Use: "serve NAME|ID...", Short: "Serve the memory of agents on standard input and output; started by the other program",
		Args: atLeast("an agent"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.serveMCP(cmd.Context(), args, readOnly) },
	}
	for _, c := range []*cobra.Command{config, serve} {
		c.Flags().BoolVar(&readOnly, "read-only", false, "store nothing, and don't let the agent be asked")
	}
	c := parent("mcp", "Use tools of other programs, and give them the memory of agents, by the Model Context Protocol", config, serve)
	c.AddCommand(a.mcpCommands()...)
	c.Long = `Use the tools of other programs, and give other programs the memory of agents, by the Model Context Protocol. A server that is
added offers its tools to agents. A program that is served the memory of agents searches it, reads blocks, stores facts under its own
name, and asks the agent, in a conversation of its own; only the agents that are named can be reached.`
	c.Example = `  loci mcp add files --write ~/notes -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  loci mcp config Ada
  claude mcp add loci -- loci mcp serve Ada`
	return c
}

// printMCP prints the entry of a configuration as most programs read it. Without a name it is of the agent here.
func (a *app) printMCP(ctx context.Context, agents []string, readOnly bool) error {
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	if len(agents) == 0 {
		agents = []string{""}
	}
	args := []string{"mcp", "serve"}
	for _, ref := range agents {
		g, err := a.findAgent(ctx, c, ref)
		if err != nil {
			return err
		}
		if ref == "" {
			ref = g.ID // a name may be given to a second agent later
		}
		args = append(args, ref)
	}
	if readOnly {
		args = append(args, "--read-only")
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	entry := map[string]any{"command": exe, "args": args}
	if home, ok := os.LookupEnv("LOCI_HOME"); ok {
		entry["env"] = map[string]string{"LOCI_HOME": home}
	}
	return writeJSON(a.out, map[string]any{"mcpServers": map[string]any{"loci": entry}})
}

func (a *app) serveMCP(ctx context.Context, agents []string, readOnly bool) error {
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	cfg := mcpserver.Config{
		Client: c, Agents: agents, ReadOnly: readOnly, Version: versionText(), Logger: slog.New(slog.NewTextHandler(a.errOut, quiet)),
	}
	if err := mcpserver.Check(ctx, cfg); err != nil {
		return err
	}
	return mcpserver.Serve(ctx, cfg, io.NopCloser(a.in), unclosed{a.out})
}

// quiet logs what a person may have to know.
var quiet = &slog.HandlerOptions{Level: slog.LevelWarn}

// unclosed is a writer that stays open.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
