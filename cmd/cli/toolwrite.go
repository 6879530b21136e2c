package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// mostSource is how much of a file is read as the source of a tool; the daemon keeps no more.
const mostSource = 1 << 20

// toolNamed finds a tool by its name.
func (a *app) toolNamed(ctx context.Context, name string) (*client.Client, api.Tool, error) {
	c, err := a.connect(ctx)
	if err != nil {
		return nil, api.Tool{}, err
	}
	found, err := c.Tools(ctx, api.ListTools{Name: name})
	if err != nil {
		return nil, api.Tool{}, err
	}
	if len(found) != 1 {
		return nil, api.Tool{}, noSuch("tool", name, "loci tools list")
	}
	return c, found[0], nil
}

func (a *app) toolsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show TOOL", Short: "Show what a tool does, what it takes and its source", Args: exactly("the tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, t, err := a.toolNamed(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, t)
			}
			return a.printTool(t)
		},
	}
}

func (a *app) printTool(t api.Tool) error {
	fmt.Fprintf(a.out, "%s (%s)\n", oneLine(text(t.Name)), oneLine(t.ToolType))
	fmt.Fprintln(a.out, filled(a.shown(strings.TrimSpace(text(t.Description))), columnsOf(a.out), 0))
	parameters, err := json.MarshalIndent(t.JSONSchema["parameters"], "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "\nparameters: %s\n", a.shown(string(parameters)))
	if t.SourceCode != nil && err == nil {
		_, err = fmt.Fprintf(a.out, "\n%s\n", strings.TrimRight(a.shown(*t.SourceCode), "\n"))
	}
	return err
}

// toolFlags are the flags of `loci tools add`.
type toolFlags struct {
	description string
	tags        []string
	approval    bool
	schema      string
	allow       []string
}

func (a *app) toolsAdd() *cobra.Command {
	var f toolFlags
	c := &cobra.Command{
		Use: "add FILE|-", Short: "Keep a tool that you wrote, in place of one of its name", Args: exactly("the file"),
		Long: `Keep a tool that you wrote, in place of one of its name. In Python it is a function with type hints and a docstring, which
says what it does and, under "Args:", what each parameter is for. In TypeScript or JavaScript it is an exported function, whose name,
description and parameters stand in a file of their own (--schema). Nothing of it is run before an agent calls it, and then it is
confined.`,
		Example: `  loci tools add dice.py
  loci tools test roll_dice --arg sides=6
  loci tools attach roll_dice --agent Ada`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			code, err := a.sourceOf(ctx, args[0])
			if err != nil {
				return err
			}
			in := api.CreateTool{SourceCode: code, SourceType: languageOf(args[0])}
			if f.description != "" {
				in.Description = &f.description
			}
			if len(f.tags) > 0 {
				in.Tags = &f.tags
			}
			if cmd.Flags().Changed("approval") {
				in.DefaultRequiresApproval = &f.approval
			}
			if f.schema != "" {
				if in.JSONSchema, err = a.schemaOf(ctx, f.schema); err != nil {
					return err
				}
			}
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			if err := checkGrants(ctx, c, f.allow); err != nil {
				return err
			}
			t, err := c.PutTool(ctx, in)
			if err == nil {
				err = grant(ctx, c, f.allow)
			}
			if err != nil {
				return err
			}
			return a.report(t, "%s is kept; an agent gets it with: loci tools attach %s", text(t.Name), text(t.Name))
		},
	}
	c.Flags().StringVar(&f.description, "description", "", "what models are told of it, in place of the docstring")
	c.Flags().StringVar(&f.schema, "schema", "", "a `FILE` with name, description and parameters as JSON, for TypeScript")
	c.Flags().StringArrayVar(&f.tags, "tag", nil, "a `TAG` of it")
	c.Flags().BoolVar(&f.approval, "approval", false, "agents that get it ask a person before each call")
	grantFlag(c, &f.allow)
	return c
}

// schemaOf reads the schema of a tool from a file.
func (a *app) schemaOf(ctx context.Context, path string) (api.Object, error) {
	text, err := a.sourceOf(ctx, path)
	if err != nil {
		return nil, err
	}
	var out api.Object
	if err := json.Unmarshal([]byte(text), &out); err != nil || out == nil {
		return nil, invalid("%s is no JSON object", path)
	}
	return out, nil
}

// sourceOf reads a source from a file, or from standard input.
func (a *app) sourceOf(ctx context.Context, path string) (string, error) {
	if path == "-" {
		return readAll(ctx, a.in)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", invalid("the file can't be read: %v", err)
	}
	defer func() { _ = f.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(f, mostSource+1))
	switch {
	case err != nil:
		return "", invalid("the file can't be read: %v", err)
	case len(data) > mostSource:
		return "", invalid("%s has more than %d bytes", path, mostSource)
	}
	return string(data), nil
}

// languageOf tells the language of a source by the name of its file; nil: Python.
func languageOf(path string) *string {
	if ext := filepath.Ext(path); ext == ".ts" || ext == ".js" {
		language := "typescript"
		return &language
	}
	return nil
}

// extensionOf is how a file with the source of a tool is named, so that an editor knows its language.
func extensionOf(t api.Tool) string {
	if text(t.SourceType) == "typescript" {
		return ".ts"
	}
	return ".py"
}

func (a *app) toolsEdit() *cobra.Command {
	return &cobra.Command{
		Use: "edit TOOL", Short: "Edit the source of a tool in your editor", Args: exactly("the tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, t, err := a.toolNamed(ctx, args[0])
			if err != nil {
				return err
			}
			if t.SourceCode == nil {
				return invalid("%s is built in, and has no source to edit", args[0])
			}
			edited, kept, err := a.editText(ctx, args[0]+extensionOf(t), *t.SourceCode)
			switch {
			case kept == "":
				return err
			case edited == *t.SourceCode && err == nil:
				_ = os.RemoveAll(filepath.Dir(kept))
				return a.report(t, "nothing changed")
			case err == nil:
				t, err = c.UpdateTool(ctx, t.ID, api.UpdateTool{SourceCode: &edited})
			}
			if err != nil {
				a.note("your text is kept in " + kept)
				return err
			}
			_ = os.RemoveAll(filepath.Dir(kept))
			return a.report(t, "%s is kept", text(t.Name))
		},
	}
}

func (a *app) toolsTest() *cobra.Command {
	var agent, whole string
	var single []string
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
			out, err := a.tryTool(cmd.Context(), args[0], agent, given)
			if err != nil {
				return err
			}
			return a.printExecution(out)
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "run it as a tool of this agent, by `NAME|ID`")
	c.Flags().StringVar(&whole, "args", "", "all arguments, as a `JSON` object")
	c.Flags().StringArrayVar(&single, "arg", nil, "one argument, as `NAME=VALUE`; a value that is JSON is that value, any other is text")
	return c
}

// toolArguments reads what a tool is called with.
func toolArguments(whole string, single []string) (api.Object, error) {
	out := api.Object{}
	if whole != "" {
		if err := json.Unmarshal([]byte(whole), &out); err != nil || out == nil {
			return nil, invalid("--args is no JSON object")
		}
	}
	for _, one := range single {
		name, value, ok := strings.Cut(one, "=")
		if !ok || name == "" {
			return nil, invalid("--arg %s is not NAME=VALUE", quoteArg(one))
		}
		var v any
		if json.Unmarshal([]byte(value), &v) != nil {
			v = value
		}
		out[name] = v
	}
	return out, nil
}

// tryTool runs a tool by its name, or a file.
func (a *app) tryTool(ctx context.Context, ref, agent string, args api.Object) (api.ToolExecution, error) {
	if agent != "" {
		c, g, err := a.agentOf(ctx, agent)
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
	} else {
		var t api.Tool
		if c, t, err = a.toolNamed(ctx, ref); err == nil && t.SourceCode == nil {
			err = invalid("%s is built in, and runs in a conversation only", ref)
		}
		in.SourceCode, in.SourceType, in.JSONSchema, in.Name = text(t.SourceCode), t.SourceType, t.JSONSchema, t.Name
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

func (a *app) toolsRemove() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "rm TOOL", Short: "Delete a tool that you wrote, also from the agents that have it", Args: exactly("the tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, t, err := a.toolNamed(ctx, args[0])
			if err != nil {
				return err
			}
			if t.SourceCode == nil {
				return invalid("%s is built in: it can't be deleted", args[0]).
					withHint("loci tools detach %s takes it from an agent", args[0])
			}
			question := "delete the tool " + oneLine(args[0]) + ", also from the agents that have it?"
			if err := a.sure(yes, question, "nothing was deleted", "loci tools rm "+quoteArg(args[0])+" --yes"); err != nil {
				return err
			}
			if err := c.DeleteTool(ctx, t.ID); err != nil {
				return err
			}
			return a.report(map[string]any{"tool_id": t.ID}, "%s is deleted", args[0])
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "don't ask")
	return c
}
