package cli

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// mcpFlags are the flags of `loci mcp add`.
type mcpFlags struct {
	env, headers []string
	token        string
	authHeader   string
	sse          bool
	agents       []string
	grants       mcpGrants
}

// mcpGrants are the flags for what a server may reach.
type mcpGrants struct {
	read, write, hosts []string
	private            bool
}

func (g *mcpGrants) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&g.read, "read", nil, "let its program read this `FOLDER`")
	c.Flags().StringArrayVar(&g.write, "write", nil, "let its program read and change this `FOLDER`")
	c.Flags().StringArrayVar(&g.hosts, "host", nil, "let its program reach this `HOST` of the internet")
	c.Flags().BoolVar(&g.private, "private", false, "its address may be on this machine or in its network, whatever its name leads to")
}

func (g *mcpGrants) wire() (out api.MCPGrants, err error) {
	out = api.MCPGrants{Hosts: g.hosts, Private: g.private}
	for _, list := range []struct {
		from []string
		to   *api.List[string]
	}{{g.read, &out.Read}, {g.write, &out.Write}} {
		for _, path := range list.from {
			whole, err := filepath.Abs(path)
			if err != nil {
				return out, invalid("the folder %s: %v", quoteArg(path), err)
			}
			*list.to = append(*list.to, whole)
		}
	}
	return out, nil
}

// mcpCommands are those of `loci mcp` by which agents get the tools of servers.
func (a *app) mcpCommands() []*cobra.Command {
	return []*cobra.Command{a.mcpAdd(), a.mcpList(), a.mcpTest(), a.mcpAllow(), a.mcpImport(), a.mcpRemove()}
}

func (a *app) mcpAdd() *cobra.Command {
	var f mcpFlags
	c := &cobra.Command{
		Use: "add NAME -- COMMAND [ARGUMENT...] | NAME URL", Short: "Add a server whose tools agents can have", Args: atLeast("a name"),
		Long: `Add a server whose tools agents can have: a program that is started when one of its tools is first called, or an address. A
program runs confined: it sees the system's programs and what its own command names, and reaches the internet only at hosts that you let it.
A value may hold {{ NAME }} or {{ NAME | default }}, which stand for a secret of the agent that calls it: loci secrets set NAME.`,
		Example: `  loci mcp add files --write ~/notes -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  loci mcp add tracker https://mcp.example.com/mcp --token '{{ TRACKER_TOKEN }}' --agent Ada`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.addMCP(cmd.Context(), args, &f) },
	}
	c.Flags().StringArrayVar(&f.env, "env", nil, "a variable of its program, as `NAME=VALUE`")
	c.Flags().StringArrayVar(&f.headers, "header", nil, "a header of each request to its address, as `NAME: VALUE`")
	c.Flags().StringVar(&f.token, "token", "", "the `TOKEN` for its address; - reads it from standard input")
	c.Flags().StringVar(&f.authHeader, "token-header", "", "the `NAME` of the header with the token, if it isn't Authorization")
	c.Flags().BoolVar(&f.sse, "sse", false, "its address speaks the older protocol of server-sent events")
	c.Flags().StringArrayVar(&f.agents, "agent", nil, "give all its tools to this agent, by `NAME|ID`")
	f.grants.flags(c)
	return c
}

func (a *app) addMCP(ctx context.Context, args []string, f *mcpFlags) error {
	if len(args) < 2 {
		return invalid("what %s is, is missing", quoteArg(args[0])).withHint("loci mcp add %s -- COMMAND, or a URL", quoteArg(args[0]))
	}
	in := api.AddMCPServer{CreateMCPServer: api.CreateMCPServer{ServerName: args[0]}}
	var err error
	if in.Grants, err = f.grants.wire(); err != nil {
		return err
	}
	if u, isURL := webAddress(args[1]); isURL {
		if len(args) > 2 {
			return invalid("behind an address nothing follows, and there is %s", quoteArg(args[2]))
		}
		err = a.addressOf(ctx, &in, u, f)
	} else {
		err = commandOf(&in, args[1:], f)
	}
	if err != nil {
		return err
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	agents, err := a.agentsNamed(ctx, c, f.agents)
	if err != nil {
		return err
	}
	made, err := c.AddMCPServer(ctx, in)
	if err != nil {
		return err
	}
	return a.addedMCP(ctx, c, made, agents)
}

func (a *app) agentsNamed(ctx context.Context, c *client.Client, refs []string) (agents []api.AgentState, err error) {
	for _, ref := range refs {
		g, err := a.findAgent(ctx, c, ref)
		if err != nil {
			return nil, err
		}
		agents = append(agents, g)
	}
	return agents, nil
}

// addedMCP tells what was added, and gives its tools to agents.
func (a *app) addedMCP(ctx context.Context, c *client.Client, made api.KeptMCPServer, agents []api.AgentState) error {
	given := 0
	for _, t := range made.Tools {
		if t.Health == "INVALID" {
			continue
		}
		given++
		for _, g := range agents {
			if err := c.AttachTool(ctx, g.ID, t.ID); err != nil {
				return err
			}
		}
	}
	if a.json {
		return writeJSON(a.out, made)
	}
	name := oneLine(made.ServerName)
	if made.Fault != "" {
		fmt.Fprintf(a.out, "%s is added, but can't be used yet: %s\n", name, oneLine(made.Fault))
		fmt.Fprintf(a.out, "once that is mended: loci mcp test %s\n", quoteArg(made.ServerName))
		return nil
	}
	fmt.Fprintf(a.out, "%s is added, with %d tools\n", name, len(made.Tools))
	a.printGrants(made)
	if made.Was != "" {
		fmt.Fprintf(a.out, "another server had this name: %s\n", oneLine(made.Was))
		fmt.Fprintf(a.out, "rules that allow its tools wait until you accept it: loci mcp test %s --accept\n", quoteArg(made.ServerName))
	}
	for _, g := range agents {
		fmt.Fprintf(a.out, "%s has %d of them\n", oneLine(g.Name), given)
	}
	if len(agents) == 0 && given > 0 {
		fmt.Fprintf(a.out, "an agent gets one with: loci tools attach %s\n", made.Tools[0].Name)
	}
	return nil
}

// printGrants tells what the program of a server may reach, since some of that follows from its command.
func (a *app) printGrants(made api.KeptMCPServer) {
	for _, grant := range []struct {
		what string
		list []string
	}{{"it may read", made.Grants.Read}, {"it may change", made.Grants.Write}, {"it may reach", made.Grants.Hosts}} {
		if len(grant.list) > 0 {
			fmt.Fprintf(a.out, "%s: %s\n", grant.what, oneLine(strings.Join(grant.list, ", ")))
		}
	}
}

// webAddress reads an argument as an address of the web.
func webAddress(arg string) (*url.URL, bool) {
	u, err := url.Parse(arg)
	return u, err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

func (a *app) addressOf(ctx context.Context, in *api.AddMCPServer, u *url.URL, f *mcpFlags) error {
	if len(f.env)+len(f.grants.read)+len(f.grants.write)+len(f.grants.hosts) > 0 {
		return invalid("--env, --read, --write and --host are for servers that are programs")
	}
	address := u.String()
	in.Config = api.MCPServerConfig{Type: api.MCPStreamableHTTP, ServerURL: &address}
	if f.sse {
		in.Config.Type = api.MCPSSE
	}
	headers := map[string]string{}
	for _, one := range f.headers {
		name, value, ok := strings.Cut(one, ":")
		if !ok {
			return invalid("--header %s is not NAME: VALUE", quoteArg(one))
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	if len(headers) > 0 {
		in.Config.CustomHeaders = &headers
	}
	if f.authHeader != "" {
		in.Config.AuthHeader = &f.authHeader
	}
	if f.token == "-" {
		text, err := readAll(ctx, a.in)
		if err != nil {
			return err
		}
		f.token = strings.TrimSpace(text)
	}
	if f.token != "" {
		in.Config.AuthToken = &f.token
	}
	// Who types such an address means that server: a name that leads there unseen needs the flag.
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()) {
		in.Grants.Private = true
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		in.Grants.Private = true
	}
	return nil
}

// registries returns the hosts from which a program that installs servers fetches them.
func registries(program string) []string {
	switch program {
	case "npx", "bunx", "pnpm":
		return []string{"registry.npmjs.org"}
	case "uvx", "uv", "pipx":
		return []string{"pypi.org", "files.pythonhosted.org"}
	}
	return nil
}

// commandOf makes a server of a command. It may see the files that the command names, and reach the registry that it installs from.
func commandOf(in *api.AddMCPServer, words []string, f *mcpFlags) error {
	if len(f.headers) > 0 || f.token != "" || f.authHeader != "" || f.sse {
		return invalid("--header, --token, --token-header and --sse are for servers that are addresses")
	}
	env := map[string]string{}
	for _, one := range f.env {
		name, value, ok := strings.Cut(one, "=")
		if !ok || name == "" {
			return invalid("--env %s is not NAME=VALUE", quoteArg(one))
		}
		env[name] = value
	}
	words = slices.Clone(words)
	for i, word := range words {
		path, named := fileNamed(word, i == 0)
		if !named {
			continue
		}
		words[i] = path
		seen := packageOf(path)
		if covered := slices.Concat(in.Grants.Read, in.Grants.Write); !slices.ContainsFunc(covered, func(dir string) bool {
			rel, err := filepath.Rel(dir, seen)
			return err == nil && filepath.IsLocal(rel)
		}) {
			in.Grants.Read = append(in.Grants.Read, seen)
		}
	}
	in.Grants.Hosts = append(in.Grants.Hosts, registries(filepath.Base(words[0]))...)
	args := words[1:]
	in.Config = api.MCPServerConfig{Type: api.MCPStdio, Command: &words[0], Args: &args}
	if len(env) > 0 {
		in.Config.Env = &env
	}
	return nil
}

// fileNamed returns the absolute path of what a word of a command names here, if it names a file or folder. A program without a
// path is looked for where programs are.
func fileNamed(word string, program bool) (string, bool) {
	if strings.HasPrefix(word, "-") || program && !strings.Contains(word, "/") {
		return "", false
	}
	info, err := os.Stat(word)
	if err != nil || info.IsDir() && !strings.Contains(word, "/") {
		return "", false
	}
	path, err := filepath.Abs(word)
	if err != nil || path == "/" || ofTheSystem(path) {
		return "", false
	}
	return path, true
}

func ofTheSystem(path string) bool {
	return slices.ContainsFunc([]string{"/usr/", "/bin/", "/sbin/", "/lib"}, func(dir string) bool { return strings.HasPrefix(path, dir) })
}

// packageOf is the folder of the package that a file belongs to, so that it finds the others of it: the file alone, if it lies
// in none; a folder is itself.
func packageOf(path string) string {
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return path
	}
	if outer, _, installed := strings.Cut(path, "/node_modules/"); installed && outer != "" { // it finds what it needs beside its package
		return outer + "/node_modules"
	}
	home, _ := os.UserHomeDir() // without one, nobody's home is in the way
	for dir := filepath.Dir(path); dir != "/" && dir != home && dir != os.TempDir(); dir = filepath.Dir(dir) {
		for _, mark := range []string{"package.json", "node_modules", "pyproject.toml", "pyvenv.cfg"} {
			if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
				return dir
			}
		}
	}
	return path
}

func (a *app) mcpList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the servers whose tools agents can have", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			all, err := c.MCPServers(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, nonNil(all))
			}
			t := table{head: []string{"NAME", "TOOLS", "STATE", "SERVER"}}
			for _, s := range all {
				t.add(s.ServerName, fmt.Sprint(len(s.Tools)), stateOfMCP(s), clip(oneLine(placeOfMCP(s)), 60))
			}
			return a.list(t, "no server is added: loci mcp add")
		},
	}
}

func placeOfMCP(s api.KeptMCPServer) string {
	if s.Command != nil {
		return strings.Join(append([]string{*s.Command}, api.Val(s.Args)...), " ")
	}
	return text(s.ServerURL)
}

func stateOfMCP(s api.KeptMCPServer) string {
	changed := slices.ContainsFunc(s.Tools, func(t api.MCPTool) bool { return t.Changed != "" || t.Gone })
	switch {
	case s.Fault != "":
		return "fails"
	case s.Was != "" || changed:
		return "changed"
	}
	return "ready"
}

func (a *app) mcpTest() *cobra.Command {
	var accept bool
	c := &cobra.Command{
		Use: "test NAME", Short: "Start a server, and show what it offers and what changed", Args: exactly("the server"),
		Long: `Start a server, and show what it offers and how that differs from what you accepted. Agents are told of the tools as you
accepted them, and each call of one that its server describes otherwise now asks you first, whatever rules allow. --accept makes what the
server says now what counts.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			out, err := c.CheckMCPServer(cmd.Context(), api.CheckMCPServer{Name: args[0], Accept: accept})
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, out)
			}
			return a.printMCPTest(out, accept)
		},
	}
	c.Flags().BoolVar(&accept, "accept", false, "accept what it says now")
	return c
}

func (a *app) printMCPTest(out api.CheckedMCPServer, accept bool) error {
	name := oneLine(out.Server.ServerName)
	if out.Server.Was != "" {
		fmt.Fprintf(a.out, "%s was another server when you accepted it: %s\n", name, oneLine(out.Server.Was))
	}
	for _, c := range out.Changed {
		fmt.Fprintf(a.out, "changed: %s: %s\n", oneLine(c.Tool), oneLine(c.How))
	}
	for _, left := range out.Left {
		fmt.Fprintf(a.out, "left out: %s\n", oneLine(left))
	}
	t := table{head: []string{"TOOL", "STATE", "DESCRIPTION"}}
	for _, tool := range out.Server.Tools {
		state := "ready"
		switch {
		case tool.Health == "INVALID":
			state = "unusable: " + oneLine(strings.Join(tool.Reasons, "; "))
		case tool.Gone:
			state = "gone"
		case tool.Changed != "":
			state = "changed"
		}
		t.add(tool.Name, state, clip(oneLine(tool.Description), 80))
	}
	if err := a.list(t, "it offers no tools"); err != nil {
		return err
	}
	if !accept && (out.Server.Was != "" || len(out.Changed) > 0) {
		_, err := fmt.Fprintf(a.out, "to accept that: loci mcp test %s --accept\n", quoteArg(out.Server.ServerName))
		return err
	}
	return nil
}

func (a *app) mcpAllow() *cobra.Command {
	var g mcpGrants
	c := &cobra.Command{
		Use: "allow NAME", Short: "Let a server reach more: folders, hosts, this machine's network", Args: exactly("the server"),
		Example: `  loci mcp allow files --read ~/notes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			more, err := g.wire()
			if err != nil {
				return err
			}
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			made, err := c.AllowMCPServer(cmd.Context(), api.AllowMCPServer{Name: args[0], Grants: more})
			if err != nil || a.json {
				if err == nil {
					err = writeJSON(a.out, made)
				}
				return err
			}
			a.printGrants(made)
			if made.Fault != "" {
				a.note("it can't be used yet: " + oneLine(made.Fault))
			}
			return nil
		},
	}
	g.flags(c)
	return c
}

func (a *app) mcpRemove() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Remove a server, also its tools from the agents that have them",
		Args: exactly("the server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			question := "remove the server " + oneLine(args[0]) + ", also its tools from the agents that have them?"
			if err := a.sure(yes, question, "nothing was removed", "loci mcp remove "+quoteArg(args[0])+" --yes"); err != nil {
				return err
			}
			if err := c.RemoveMCPServer(cmd.Context(), api.NamedMCPServer{Name: args[0]}); err != nil {
				return err
			}
			return a.report(map[string]any{"server_name": args[0]}, "%s is removed", args[0])
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "don't ask")
	return c
}
