package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"loci/daemon/api"
	"loci/daemon/client"
)

// secretFlags are the flags of `loci secrets`.
type secretFlags struct {
	agent string
	all   bool
	note  string
	tools []string
}

func (a *app) secretsCommand() *cobra.Command {
	var f secretFlags
	list := &cobra.Command{
		Use: "list", Short: "List secrets, without their values", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listSecrets(cmd.Context(), &f) },
	}
	set := &cobra.Command{
		Use: "set NAME", Short: "Set a secret; the value is asked for, or read from a pipe",
		Args: exactly("a name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return a.setSecret(cmd.Context(), &f, args[0]) },
	}
	set.Flags().StringVar(&f.note, "description", "", "what it is for")
	set.Flags().StringArrayVar(&f.tools, "tool", nil, "a built-in `TOOL` that gets it too, such as shell")
	remove := &cobra.Command{
		Use: "rm NAME", Short: "Remove a secret",
		Args: exactly("a name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return a.removeSecret(cmd.Context(), &f, args[0]) },
	}
	c := parent("secrets", "List, set and remove what tools find in their environment", list, set, remove)
	c.Long = `List, set and remove what tools find in their environment, such as a token of a service. Values are sealed where they are
stored, given only to tools that are entitled to them, taken out of what tools return, and never printed.

Tools that people wrote get all secrets of their agent; a built-in tool such as shell gets those that name it (--tool shell).`
	c.Example = `  loci secrets set GITHUB_TOKEN --agent Ada --tool shell
  gh auth token | loci secrets set GITHUB_TOKEN --all-agents
  loci secrets --agent Ada
  loci secrets rm GITHUB_TOKEN --agent Ada`
	agentFlag(c, &f.agent)
	c.PersistentFlags().BoolVar(&f.all, "all-agents", false, "those of the sandbox, which the tools of all agents get")
	return c
}

// secretOwner connects and finds whose secrets a command is about; an empty id: those of all agents.
func (a *app) secretOwner(ctx context.Context, f *secretFlags) (c *client.Client, id, name string, err error) {
	if f.all && f.agent != "" {
		return nil, "", "", invalid("--agent and --all-agents exclude each other")
	}
	if f.all {
		c, err = a.connect(ctx)
		return c, "", "all agents", err
	}
	c, g, err := a.agentOf(ctx, f.agent)
	return c, g.ID, g.Name, err
}

func (a *app) listSecrets(ctx context.Context, f *secretFlags) error {
	c, id, name, err := a.secretOwner(ctx, f)
	if err != nil {
		return err
	}
	all, err := c.Variables(ctx, id)
	if err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.out, all)
	}
	t := table{head: []string{"NAME", "TOOLS", "SET", "DESCRIPTION"}}
	for _, v := range all {
		t.add(v.Name, strings.Join(append([]string{"custom"}, v.Tools...), ", "), moment(&v.UpdatedAt), v.Description)
	}
	return a.list(t, "there are no secrets of "+name)
}

func (a *app) setSecret(ctx context.Context, f *secretFlags, name string) error {
	if strings.ContainsRune(name, '=') {
		return invalid("the value isn't written on the command line, where others can read it").
			withHint("loci secrets set NAME asks for it, or reads it from a pipe")
	}
	c, id, owner, err := a.secretOwner(ctx, f)
	if err != nil {
		return err
	}
	value, err := a.secretValue(ctx, name)
	if err != nil {
		return err
	}
	v, err := c.SetVariable(ctx, api.SetVariable{AgentID: id, Name: name, Value: value, Description: f.note, Tools: f.tools})
	if err != nil {
		return err
	}
	return a.report(v, "%s of %s is set", v.Name, owner)
}

// secretValue reads a value without showing it.
func (a *app) secretValue(ctx context.Context, name string) (string, error) {
	return a.hidden(ctx, "value of "+name, "printf %s \"$TOKEN\" | loci secrets set "+quoteArg(name))
}

// hidden reads a text without showing it. The newline at the end of a pipe is not part of it.
func (a *app) hidden(ctx context.Context, what, piped string) (string, error) {
	var value string
	if file, ok := a.in.(*os.File); ok && a.canAsk() {
		fmt.Fprintf(a.errOut, "loci: %s (not shown): ", oneLine(what))
		typed, err := readHidden(ctx, int(file.Fd()))
		fmt.Fprintln(a.errOut)
		if err != nil {
			return "", err
		}
		value = typed
	} else {
		text, err := readAll(ctx, a.in)
		if err != nil {
			return "", err
		}
		value = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	}
	if value == "" {
		return "", invalid("there is no %s", what).withHint("pipe it in: %s", piped)
	}
	return value, nil
}

// readHidden reads a line that the terminal doesn't show, until somebody interrupts it. What still reads then ends with the program.
func readHidden(ctx context.Context, fd int) (string, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type line struct {
		typed []byte
		err   error
	}
	read := make(chan line, 1)
	go func() {
		typed, err := term.ReadPassword(fd)
		read <- line{typed, err}
	}()
	select {
	case l := <-read:
		return string(l.typed), l.err
	case <-ctx.Done():
		_ = term.Restore(fd, before) // what was typed so far is not shown either
		return "", context.Cause(ctx)
	}
}

func (a *app) removeSecret(ctx context.Context, f *secretFlags, name string) error {
	c, id, owner, err := a.secretOwner(ctx, f)
	if err != nil {
		return err
	}
	if err := c.RemoveVariable(ctx, api.RemoveVariable{AgentID: id, Name: name}); err != nil {
		return err
	}
	return a.report(map[string]any{"name": name}, "%s of %s is removed", name, owner)
}
