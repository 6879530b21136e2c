package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"loci/daemon/api"
)

// foreignMCP is a server in the configuration of other programs.
type foreignMCP struct {
	Type     string            `json:"type"`
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	URL      string            `json:"url"`
	HTTPURL  string            `json:"httpUrl"`
	Headers  map[string]string `json:"headers"`
	Disabled bool              `json:"disabled"`
}

func (a *app) mcpImport() *cobra.Command {
	var agents []string
	c := &cobra.Command{
		Use: "import FILE|-", Short: "Add the servers of another program's configuration", Args: exactly("the file"),
		Long: `Add the servers of another program's configuration: a JSON file with mcpServers, as .mcp.json is. ${NAME} in its values
becomes {{ NAME }}, which stands for a secret of the agent that calls. Servers whose names are taken are left alone.`,
		Example: `  loci mcp import .mcp.json --agent Ada`,
		RunE:    func(cmd *cobra.Command, args []string) error { return a.importMCP(cmd.Context(), args[0], agents) },
	}
	c.Flags().StringArrayVar(&agents, "agent", nil, "give all their tools to this agent, by `NAME|ID`")
	return c
}

func (a *app) importMCP(ctx context.Context, path string, refs []string) error {
	source, err := a.sourceOf(ctx, path)
	if err != nil {
		return err
	}
	var file struct {
		MCPServers map[string]foreignMCP `json:"mcpServers"`
		Servers    map[string]foreignMCP `json:"servers"` // as an editor has it
	}
	if err := json.Unmarshal([]byte(source), &file); err != nil {
		return invalid("%s is no JSON with mcpServers: %v", path, err)
	}
	all := file.MCPServers
	if len(all) == 0 {
		all = file.Servers
	}
	if len(all) == 0 {
		return invalid("%s names no servers", path).withHint("they stand under mcpServers")
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	agents, err := a.agentsNamed(ctx, c, refs)
	if err != nil {
		return err
	}
	added, failed := []api.KeptMCPServer{}, error(nil)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		in, err := a.importedMCP(ctx, name, all[name])
		if err == nil && all[name].Disabled {
			err = invalid("it is disabled there")
		}
		var made api.KeptMCPServer
		if err == nil {
			made, err = c.AddMCPServer(ctx, in)
		}
		if err != nil {
			a.note(fmt.Sprintf("%s is not added: %s", oneLine(name), oneLine(err.Error())))
			failed = err
			continue
		}
		added = append(added, made)
		if err := a.addedMCP(ctx, c, made, agents); err != nil {
			return err
		}
	}
	if len(added) == 0 {
		return failed
	}
	return nil
}

// variableThere is how the configurations of other programs name a variable, with what counts where there is none.
var variableThere = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{(?:env:|input:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}`)
})

// ours writes the variables of a text as templates.
func ours(text string) string {
	return variableThere().ReplaceAllStringFunc(text, func(found string) string {
		parts := variableThere().FindStringSubmatch(found)
		if strings.Contains(found, ":-") {
			return "{{ " + parts[1] + " | " + parts[2] + " }}"
		}
		return "{{ " + parts[1] + " }}"
	})
}

// importedMCP makes of a server of another program what `loci mcp add` would.
func (a *app) importedMCP(ctx context.Context, name string, from foreignMCP) (api.AddMCPServer, error) {
	in := api.AddMCPServer{CreateMCPServer: api.CreateMCPServer{ServerName: name}}
	var f mcpFlags
	switch {
	case from.Command != "":
		for _, key := range slices.Sorted(maps.Keys(from.Env)) {
			f.env = append(f.env, key+"="+ours(from.Env[key]))
		}
		words := []string{from.Command}
		for _, word := range from.Args {
			words = append(words, ours(word))
		}
		return in, commandOf(&in, words, &f)
	case from.URL != "" || from.HTTPURL != "":
		address := from.URL
		if address == "" {
			address = from.HTTPURL
		}
		u, err := url.Parse(address)
		if err != nil {
			return in, invalid("its address is no URL")
		}
		f.sse = from.Type == api.MCPSSE
		for _, key := range slices.Sorted(maps.Keys(from.Headers)) {
			f.headers = append(f.headers, key+": "+ours(from.Headers[key]))
		}
		return in, a.addressOf(ctx, &in, u, &f)
	}
	return in, invalid("it has neither a command nor an address")
}
