package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// packageFlag is for the packages that a tool asks for.
func packageFlag(c *cobra.Command, packages *[]string) {
	c.Flags().StringArrayVar(packages, "package", nil,
		"a `PACKAGE` that it needs, as in requests or requests==2.32.3 of pip, dayjs or dayjs@1.11.13 of npm")
}

// packagesOf are those that a tool asks for, as they are given to packageFlag.
func packagesOf(t api.Tool) string {
	var words []string
	for between, list := range map[string][]api.Requirement{"==": t.PipRequirements, "@": t.NpmRequirements} {
		for _, r := range list {
			if version := text(r.Version); version != "" {
				r.Name += between + version
			}
			words = append(words, r.Name)
		}
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// installed installs packages, and returns them as a tool names them.
func (a *app) installed(
	ctx context.Context, c *client.Client, language *string, packages []string,
) (pip, npm *[]api.Requirement, err error) {
	between := "=="
	if text(language) == "typescript" {
		between = "@"
	}
	list := []api.Requirement{}
	for _, p := range packages {
		r := api.Requirement{Name: p}
		if i := strings.LastIndex(p, between); i > 0 {
			version := p[i+len(between):]
			r = api.Requirement{Name: p[:i], Version: &version}
		}
		list = append(list, r)
	}
	in := api.InstallPackages{SourceType: language}
	if between == "@" {
		in.NpmRequirements, npm = list, &list
	} else {
		in.PipRequirements, pip = list, &list
	}
	return pip, npm, a.install(ctx, c, in)
}

// installedOf installs what one of these tools asks for.
func (a *app) installedOf(ctx context.Context, c *client.Client, tools []api.Tool, name string) error {
	i := slices.IndexFunc(tools, func(t api.Tool) bool { return text(t.Name) == name })
	if i < 0 || len(tools[i].PipRequirements)+len(tools[i].NpmRequirements) == 0 {
		return nil
	}
	t := tools[i]
	return a.install(ctx, c, api.InstallPackages{
		SourceType: t.SourceType, PipRequirements: t.PipRequirements, NpmRequirements: t.NpmRequirements,
	})
}

// install shows on standard error what an installation does: in a terminal on one row that goes again.
func (a *app) install(ctx context.Context, c *client.Client, in api.InstallPackages) error {
	row, shown := isTerminal(a.errOut) && !a.json, false
	err := c.InstallPackages(ctx, in, func(status string) {
		line := "loci: " + oneLine(status)
		switch width := columnsOf(a.errOut); {
		case a.json:
		case row:
			shown = true
			fmt.Fprint(a.errOut, eraseLine+clip(line, max(width-1, 20)))
		default:
			fmt.Fprintln(a.errOut, line)
		}
	})
	if shown {
		fmt.Fprint(a.errOut, eraseLine)
	}
	return err
}
