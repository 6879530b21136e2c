package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

func (a *app) toolsTest() *cobra.Command {
	var agent, whole string
	var single, packages []string
	c := &cobra.Command{
		Use: "test TOOL|FILE", Short: "Run a tool once, or a file that is none yet", Args: exactly("the tool"),
		Long: `Run a tool once, as confined as for an agent. A name is one of a tool that is kept; a path to a file is run without being
kept. With --agent it is run as a tool of that agent: with its secrets, and with its memory blocks where the tool takes agent_state.`,
		Example: `  loci tools test roll_dice --arg sides=20
  loci tools test ./dice.py --args '{"sides": 6}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := toolArguments(whole, single)
			if err != nil {
				return err
			}
			out, err := a.tryTool(cmd.Context(), args[0], agent, given, packages)
			if err != nil {
				return err
			}
			return a.printExecution(out)
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "run it as a tool of this agent, by `NAME|ID`")
	c.Flags().StringVar(&whole, "args", "", "all arguments, as a `JSON` object")
	c.Flags().StringArrayVar(&single, "arg", nil, "one argument, as `NAME=VALUE`; a value that is JSON is that value, any other is text")
	packageFlag(c, &packages)
	return c
}

// toolArguments reads what a tool is called with.
func toolArguments(whole string, single []string) (api.Arguments, error) {
	out := api.Arguments{}
	if whole != "" {
		if err := json.Unmarshal([]byte(whole), &out); err != nil || out == nil {
			return nil, invalid("--args is no JSON object")
		}
	}
	given := map[string]bool{}
	for _, one := range single {
		name, value, ok := strings.Cut(one, "=")
		if !ok || name == "" {
			return nil, invalid("--arg %s is not NAME=VALUE", quoteArg(one))
		}
		if given[name] {
			return nil, invalid("--arg gives %s twice", quoteArg(name)).withHint(
				"give a list as one value: --arg %s", quoteArg(name+"=[1, 2]"))
		}
		given[name] = true
		if out[name] = json.RawMessage(value); !json.Valid([]byte(value)) {
			out[name] = value
		}
	}
	return out, nil
}

// printExecution shows what a tool printed, and what it returned. One that failed is a failure of the command.
func (a *app) printExecution(out api.ToolExecution) error {
	returned, _ := out.FuncReturn.(string)
	if a.json {
		if err := writeJSON(a.out, out); err != nil {
			return err
		}
	} else {
		for _, line := range append(out.Stdout, out.Stderr...) {
			fmt.Fprintln(a.errOut, oneLine(line))
		}
	}
	if out.Status != api.StatusSuccess {
		return &fault{kind: api.KindConflict, msg: returned}
	}
	if a.json {
		return nil
	}
	_, err := fmt.Fprintln(a.out, a.shown(returned))
	return err
}

// tryTool runs a tool by its name, or a file.
func (a *app) tryTool(ctx context.Context, ref, agent string, args api.Arguments, packages []string) (api.ToolExecution, error) {
	if agent != "" {
		c, g, err := a.agentOf(ctx, agent)
		if err == nil {
			err = a.installedOf(ctx, c, g.Tools, ref)
		}
		if err != nil {
			return api.ToolExecution{}, err
		}
		return c.RunTool(ctx, g.ID, ref, args)
	}
	in := api.RunSource{Args: args, SourceType: languageOf(ref)}
	var c *client.Client
	var err error
	if strings.ContainsRune(ref, filepath.Separator) || filepath.Ext(ref) != "" {
		if in.SourceCode, err = a.sourceOf(ctx, ref); err == nil {
			c, err = a.connect(ctx)
		}
		if err == nil && len(packages) > 0 {
			in.PipRequirements, in.NpmRequirements, err = a.installed(ctx, c, in.SourceType, packages)
		}
	} else {
		var t api.Tool
		c, t, err = a.toolNamed(ctx, ref)
		if err == nil && t.ToolType == api.ToolExternalMCP {
			return c.RunMCPTool(ctx, t, args)
		}
		if err == nil && t.SourceCode == nil {
			err = invalid("%s is built in, and runs in a conversation only", ref)
		}
		if err == nil && text(t.SourceType) == "program" {
			err = invalid("%s is a script, and runs as a tool of an agent", ref).withHint("loci tools test %s --agent NAME", ref)
		}
		in.SourceCode, in.SourceType, in.JSONSchema, in.Name = text(t.SourceCode), t.SourceType, t.JSONSchema, t.Name
		in.PipRequirements, in.NpmRequirements = &t.PipRequirements, &t.NpmRequirements
		if err == nil {
			err = a.installedOf(ctx, c, []api.Tool{t}, ref)
		}
	}
	if err != nil {
		return api.ToolExecution{}, err
	}
	m, err := c.RunSource(ctx, in)
	if err != nil || len(m.ToolReturns) == 0 {
		return api.ToolExecution{}, err
	}
	r := m.ToolReturns[0]
	return api.ToolExecution{Status: r.Status, FuncReturn: r.ToolReturn.String(), Stdout: r.Stdout, Stderr: r.Stderr}, nil
}
