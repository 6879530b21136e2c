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
	if packages := packagesOf(t); packages != "" {
		fmt.Fprintf(a.out, "\npackages: %s\n", a.shown(packages))
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
	packages    []string
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
			if len(f.packages) > 0 {
				if in.PipRequirements, in.NpmRequirements, err = a.installed(ctx, c, in.SourceType, f.packages); err != nil {
					return err
				}
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
	packageFlag(c, &f.packages)
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
				return invalid("%s has no source to edit: you didn't write it", args[0])
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
			if t.ToolType == api.ToolExternalMCP {
				return invalid("%s is a tool of an MCP server: it goes with the server", args[0]).
					withHint("loci tools detach %s takes it from an agent; loci mcp list shows the servers", args[0])
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
