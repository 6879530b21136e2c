package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// permissionsCommand is `loci permissions`.
func (a *app) permissionsCommand() *cobra.Command {
	return parent("permissions", "What agents may do without asking", a.permissionsList(),
		a.permissionsAdd(), a.permissionsRemove(), a.permissionsCheck())
}

func (a *app) permissionsList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the rules that count in the current folder, and where each comes from", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			found, err := c.Permissions(cmd.Context(), workingFolder())
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, found)
			}
			for _, fault := range found.Faults {
				a.note(fault)
			}
			t := table{head: []string{"EFFECT", "RULE", "FROM"}}
			for _, r := range found.Rules {
				t.add(r.Effect, r.Rule, r.Source)
			}
			return a.list(t, "there are no rules; the mode of the session decides")
		},
	}
}

// changing makes a command that changes rules which count in a folder, or everywhere.
func (a *app) changing(
	c *cobra.Command, change func(ctx context.Context, c *client.Client, args []string, folder string) error,
) *cobra.Command {
	folder := c.Flags().String("folder", "", "count in this folder only; without it, everywhere")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		dir := *folder
		if dir != "" {
			var err error
			if dir, err = filepath.Abs(dir); err != nil {
				return err
			}
		}
		c, err := a.connect(cmd.Context())
		if err != nil {
			return err
		}
		return change(cmd.Context(), c, args, dir)
	}
	return c
}

func (a *app) permissionsAdd() *cobra.Command {
	c := &cobra.Command{
		Use: "add allow|ask|deny RULE", Short: "Add a rule to your own", Args: exactly("allow, ask or deny", "the rule"),
		Long: `Add a rule to your own: what an agent may do, is asked about, or may not do.

A rule names a tool, or what tools do (read, write, shell, fetch, mcp), and in brackets what it is about. Where rules
meet, deny counts over ask and ask over allow.`,
		Example: `  loci permissions add allow 'shell(go test *)'
  loci permissions add allow 'write(src/**)' --folder .
  loci permissions add deny 'read(secrets/**)'`,
	}
	return a.changing(c, func(ctx context.Context, c *client.Client, args []string, folder string) error {
		rule := api.PermissionRule{Effect: args[0], Rule: args[1], Folder: folder}
		if err := c.AddPermission(ctx, rule); err != nil {
			return err
		}
		return a.report(rule, "%s %s, %s", rule.Effect, rule.Rule, whereOf(folder))
	})
}

func (a *app) permissionsRemove() *cobra.Command {
	c := &cobra.Command{
		Use: "remove RULE", Short: "Take a rule out of your own", Args: exactly("the rule"),
		Example: `  loci permissions remove 'shell(go test *)'`,
	}
	return a.changing(c, func(ctx context.Context, c *client.Client, args []string, folder string) error {
		rule := api.RemovePermission{Rule: args[0], Folder: folder}
		if err := c.RemovePermission(ctx, rule); err != nil {
			return err
		}
		return a.report(map[string]any{"rule": rule.Rule, "folder": folder}, "%s is no rule any more, %s", rule.Rule, whereOf(folder))
	})
}

func whereOf(folder string) string { return cmp.Or(folder, "everywhere") }

func (a *app) permissionsCheck() *cobra.Command {
	var mode string
	c := &cobra.Command{
		Use: "check WHAT [SUBJECT]", Short: "Say what would become of a call in the current folder, and why",
		Long: `Say what would become of a call in the current folder, and why. Nothing runs.

WHAT is read, write, shell, fetch or mcp, or the name of a tool; SUBJECT the file, the line, the host, or the server and
its tool.`,
		Example: `  loci permissions check shell 'git push'
  loci permissions check write src/main.go --mode edits`,
		Args: atMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return invalid("what should be checked is missing").withHint("loci permissions check shell 'git push'")
			}
			client, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			in := api.CheckPermission{Does: args[0], Subject: first(args[1:]), Folder: workingFolder(), Mode: mode}
			v, err := client.CheckPermission(cmd.Context(), in)
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, v)
			}
			t := table{head: []string{"EFFECT", "WHY"}}
			t.add(v.Effect, v.Why)
			if len(v.Hidden) > 0 {
				t.add("", "it can't read "+fewOf(v.Hidden))
			}
			if len(v.ReadOnly) > 0 {
				t.add("", "it can't change "+fewOf(v.ReadOnly))
			}
			for _, rule := range v.Always {
				t.add("", "to allow it: loci permissions add allow "+quoteArg(rule))
			}
			return t.write(a.out)
		},
	}
	c.Flags().StringVar(&mode, "mode", "ask", "the mode of the session: ask, edits, plan, all or standard")
	return c
}

// fewOf names the first paths of a list.
func fewOf(paths []string) string {
	const most = 5
	if n := len(paths) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), n)
	}
	return strings.Join(paths, ", ")
}
