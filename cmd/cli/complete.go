package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"loci/daemon/api"
	"loci/daemon/client"
)

// completeWithin is how long a shell waits for names at most.
const completeWithin = 300 * time.Millisecond

// mostOffered bounds how many names a shell gets.
const mostOffered = 200

// offer is a name for completion, with a description for the person.
type offer struct{ name, about string }

// finder looks up the names that fit at a position on the command line.
type finder func(ctx context.Context, a *app, c *client.Client, cmd *cobra.Command) ([]offer, error)

// completing says whether the arguments are a shell's completion request. The finders are needed for nothing else.
func completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// offerNames tells all commands below c which names their arguments and flags take.
func (a *app) offerNames(c *cobra.Command, seen map[*pflag.Flag]bool) {
	words := strings.Fields(c.Use)[1:]
	if c.HasParent() && c.ValidArgsFunction == nil && !c.HasSubCommands() {
		c.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			return a.completeArg(cmd, words, len(args), typed)
		}
	}
	flags := func(f *pflag.Flag) {
		find := flagFinder(f.Name)
		if find == nil || seen[f] {
			return
		}
		seen[f] = true
		_ = c.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return a.offered(cmd, find, typed), cobra.ShellCompDirectiveNoFileComp
		}) // it only fails for a flag that doesn't exist
	}
	c.Flags().VisitAll(flags)
	c.PersistentFlags().VisitAll(flags)
	for _, below := range c.Commands() {
		a.offerNames(below, seen)
	}
}

// completeArg offers names for the argument at a position. Paths are left to the shell.
func (a *app) completeArg(cmd *cobra.Command, words []string, at int, typed string) ([]string, cobra.ShellCompDirective) {
	if n := len(words); at >= n && n > 0 && strings.Contains(words[n-1], "...") {
		at = n - 1
	}
	if at >= len(words) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	word := strings.Trim(strings.ReplaceAll(words[at], "...", ""), "[]")
	find := argFinder(cmd.Parent().Name(), word)
	if find == nil && (word == "FILE" || word == "PATH" || word == "DIR") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.offered(cmd, find, typed), cobra.ShellCompDirectiveNoFileComp
}

// argFinder picks the finder for an argument by its name in the usage line of a command below parent.
func argFinder(parent, word string) finder {
	switch {
	case word == "LABEL":
		return labelsOfBlocks
	case word == "PASSAGE":
		return idsOfChangedPassages
	case word == "FOLDER":
		return namesOfFolders
	case word == "TOOL":
		return namesOfTools
	case word == "RUN|STEP" || word == "STEP|RUN" || word == "RUN":
		return idsOfRuns
	case word == "FILE" && parent == "files":
		return namesOfFiles
	case word == "ID" && parent == "conversations":
		return idsOfConversations
	case word == "ID" && parent == "approvals":
		return idsOfRequests
	case word == "NAME|ID" && parent == "archival":
		return namesOfArchives
	case word == "NAME|ID":
		return namesOfAgents
	}
	return nil
}

// flagFinder picks the finder for a flag's value.
func flagFinder(name string) finder {
	switch name {
	case "agent":
		return namesOfAgents
	case "folder":
		return namesOfFolders
	case "model":
		return namesOfModels
	case "conversation":
		return idsOfConversations
	case "call":
		return idsOfWaitingCalls
	case "input-format":
		return func(context.Context, *app, *client.Client, *cobra.Command) ([]offer, error) {
			return []offer{{name: formatText}, {name: formatStream}}, nil
		}
	case "output-format":
		return func(context.Context, *app, *client.Client, *cobra.Command) ([]offer, error) {
			return []offer{{name: formatText}, {name: formatJSON}, {name: formatStream}}, nil
		}
	}
	return nil
}

// offered asks a running daemon, without reporting errors: a shell has no place to show them. It never starts a
// daemon.
func (a *app) offered(cmd *cobra.Command, find finder, typed string) []string {
	p, err := a.paths()
	if find == nil || err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	c := client.New(client.Options{Socket: p.Socket, Patience: completeWithin})
	defer c.Close()
	found, _ := find(
		ctx,
		&app{places: a.places, out: io.Discard, errOut: io.Discard},
		c,
		cmd,
	) // even after an error, some may have been found
	var out []string
	for _, o := range found {
		if name := oneLine(o.name); name == o.name && strings.HasPrefix(name, typed) { // otherwise it couldn't be typed
			out = append(out, cobra.CompletionWithDesc(name, clip(oneLine(o.about), 60)))
		}
	}
	return out
}

// offersOf offers names. Of a name that several things share it offers their ids, too, since the command asks for one.
func offersOf[T any](found []T, name, id func(T) string) []offer {
	count := map[string]int{}
	for _, f := range found {
		count[name(f)]++
	}
	var out []offer
	shared := map[string]bool{}
	for _, f := range found {
		n := count[name(f)]
		if n == 1 {
			out = append(out, offer{name(f), id(f)})
			continue
		}
		if !shared[name(f)] {
			shared[name(f)] = true
			out = append(out, offer{name(f), fmt.Sprintf("%d have this name", n)})
		}
		out = append(out, offer{id(f), name(f)})
	}
	return out
}

func offerPage() api.Page { return api.Page{Limit: mostOffered, Order: "desc"} }

func namesOfAgents(ctx context.Context, _ *app, c *client.Client, _ *cobra.Command) ([]offer, error) {
	found, err := c.Agents(ctx, api.ListAgents{Page: offerPage()})
	return offersOf(found, func(g api.AgentState) string { return g.Name }, func(g api.AgentState) string { return g.ID }), err
}

func namesOfFolders(ctx context.Context, _ *app, c *client.Client, _ *cobra.Command) ([]offer, error) {
	found, err := c.Folders(ctx, api.ListFolders{Page: offerPage()})
	return offersOf(found, func(f api.Folder) string { return f.Name }, func(f api.Folder) string { return f.ID }), err
}

func namesOfArchives(ctx context.Context, _ *app, c *client.Client, _ *cobra.Command) ([]offer, error) {
	found, err := c.Archives(ctx, api.ListArchives{Page: offerPage()})
	return offersOf(found, func(r api.Archive) string { return r.Name }, func(r api.Archive) string { return r.ID }), err
}

func namesOfFiles(ctx context.Context, _ *app, c *client.Client, _ *cobra.Command) ([]offer, error) {
	folders, err := c.Folders(ctx, api.ListFolders{Page: offerPage()})
	var out []offer
	for _, f := range folders {
		files, err := c.Files(ctx, f.ID, filesBy(mostOffered, "", ""))
		if err != nil {
			return out, err
		}
		for _, one := range files {
			out = append(out, offer{f.Name + "/" + api.Val(one.FileName), one.ID})
		}
	}
	return out, err
}

// namesOfModels offers the models that agents use right away, followed by those that providers list in time.
func namesOfModels(ctx context.Context, a *app, c *client.Client, _ *cobra.Command) ([]offer, error) {
	var out []offer
	seen := map[string]bool{}
	add := func(handle, about string) {
		if handle != "" && !seen[handle] {
			seen[handle] = true
			out = append(out, offer{handle, about})
		}
	}
	agents, err := c.Agents(ctx, api.ListAgents{Page: offerPage()})
	for _, g := range agents {
		add(api.Val(g.Model), g.Name+" has it")
	}
	if err == nil {
		_, err = a.register(ctx, c, api.ClientScript, nil) // so that our keys count
	}
	if err != nil {
		return out, err
	}
	models, err := c.Models(ctx, api.ListModels{})
	for _, m := range models {
		add(api.Val(m.Handle), "")
	}
	return out, err
}

func idsOfRuns(ctx context.Context, _ *app, c *client.Client, _ *cobra.Command) ([]offer, error) {
	found, err := c.Runs(ctx, api.ListRuns{Page: offerPage()})
	out := make([]offer, len(found))
	for i, r := range found {
		out[i] = offer{r.ID, string(r.Status) + " " + moment(&r.CreatedAt)}
	}
	return out, err
}

func idsOfRequests(ctx context.Context, _ *app, c *client.Client, _ *cobra.Command) ([]offer, error) {
	found, err := c.Approvals(ctx, "")
	out := make([]offer, len(found))
	for i, w := range found {
		out[i] = offer{w.RequestID, w.AgentName + ": " + callNames(w)}
	}
	return out, err
}

func idsOfWaitingCalls(ctx context.Context, _ *app, c *client.Client, _ *cobra.Command) ([]offer, error) {
	found, err := c.Approvals(ctx, "")
	var out []offer
	for _, w := range found {
		for _, call := range w.Calls {
			out = append(out, offer{call.ToolCallID, call.Name + " of " + w.RequestID})
		}
	}
	return out, err
}

// agentMeant is the agent named on the command line, or the one last used here.
func agentMeant(ctx context.Context, a *app, c *client.Client, cmd *cobra.Command) (api.AgentState, error) {
	ref := ""
	if f := cmd.Flag("agent"); f != nil {
		ref = f.Value.String()
	}
	return a.findAgent(ctx, c, ref)
}

func labelsOfBlocks(ctx context.Context, a *app, c *client.Client, cmd *cobra.Command) ([]offer, error) {
	g, err := agentMeant(ctx, a, c, cmd)
	out := make([]offer, len(g.Blocks))
	for i, b := range g.Blocks {
		out[i] = offer{api.Val(b.Label), api.Val(b.Description)}
	}
	return out, err
}

func idsOfConversations(ctx context.Context, a *app, c *client.Client, cmd *cobra.Command) ([]offer, error) {
	g, err := agentMeant(ctx, a, c, cmd)
	if err != nil {
		return nil, err
	}
	found, err := c.Conversations(ctx, api.ListConversations{AgentID: g.ID, Limit: mostOffered, Order: "desc"})
	out := make([]offer, len(found))
	for i, v := range found {
		out[i] = offer{v.ID, text(v.Summary)}
	}
	return out, err
}
