package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// providerFlags are the flags of `loci providers`.
type providerFlags struct {
	protocol, url, model string
	noKey                bool
}

func (a *app) providersCommand() *cobra.Command {
	var f providerFlags
	list := &cobra.Command{
		Use: "list", Short: "List the providers that are set up, and where their keys come from", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listProviders(cmd.Context()) },
	}
	add := &cobra.Command{
		Use: "add NAME", Short: "Store a provider; its key is asked for, or read from a pipe",
		Args: exactly("a name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return a.addProvider(cmd.Context(), &f, args[0]) },
	}
	add.Flags().StringVar(&f.url, "url", "", "the `ADDRESS` of a server of your own")
	add.Flags().StringVar(&f.protocol, "protocol", "", "what it speaks: openai, openai-responses, anthropic, gemini or ollama")
	add.Flags().BoolVar(&f.noKey, "no-key", false, "it needs no key")
	check := &cobra.Command{
		Use: "check NAME", Short: "Ask a provider for its models and for one answer, and explain what is wrong",
		Args: exactly("a name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return a.checkProvider(cmd.Context(), &f, args[0]) },
	}
	check.Flags().StringVar(&f.model, "model", "", "the `MODEL` to ask, by the provider's own name of it")
	remove := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Remove a stored provider with its key",
		Args: exactly("a name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return a.removeProvider(cmd.Context(), args[0]) },
	}
	c := parent("providers", "List, store, check and remove providers of models", list, add, check, remove)
	c.Long = `List, store, check and remove providers of models. A stored key is sealed, used where no variable holds one, sent to no
address but the one it was stored for, and never printed.

A name that Loci knows, such as openai, needs nothing but its key. Another name is a server of your own: say where it is and what it
speaks.`
	c.Example = `  loci providers add openai
  pass show box | loci providers add my-box --protocol openai --url http://192.168.1.20:8000
  loci providers check my-box
  loci providers remove my-box`
	return c
}

// providerClient connects and brings our own keys along.
func (a *app) providerClient(ctx context.Context) (*client.Client, error) {
	c, err := a.connect(ctx)
	if err == nil {
		_, err = a.register(ctx, c, api.ClientScript, nil)
	}
	return c, err
}

func (a *app) listProviders(ctx context.Context) error {
	c, err := a.providerClient(ctx)
	if err != nil {
		return err
	}
	all, err := c.Providers(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.out, all)
	}
	t := table{head: []string{"NAME", "PROTOCOL", "KEY", "ADDRESS"}}
	for _, p := range all {
		key := p.Key
		if key == "" {
			key = "none"
		}
		t.add(p.Name, p.Protocol, key, p.BaseURL)
	}
	return a.list(t, "no provider is set up: loci providers add NAME, or export its key")
}

func (a *app) addProvider(ctx context.Context, f *providerFlags, name string) error {
	c, err := a.providerClient(ctx)
	if err != nil {
		return err
	}
	in := api.AddProvider{Name: name, Protocol: f.protocol, BaseURL: f.url}
	if !f.noKey {
		if in.Key, err = a.hidden(ctx, "key of "+name, "printf %s \"$KEY\" | loci providers add "+quoteArg(name)); err != nil {
			return err
		}
	}
	p, err := c.AddProvider(ctx, in)
	if err != nil {
		return err
	}
	return a.report(p, "%s is stored, at %s; try it: loci providers check %s", p.Name, api.Val(p.BaseURL), p.Name)
}

func (a *app) checkProvider(ctx context.Context, f *providerFlags, name string) error {
	c, err := a.providerClient(ctx)
	if err != nil {
		return err
	}
	found, err := c.CheckProvider(ctx, api.CheckProvider{Name: name, Model: f.model})
	if err != nil {
		return err
	}
	if a.json {
		err = writeJSON(a.out, found)
	} else {
		err = a.printChecks(found)
	}
	for _, one := range found {
		if !one.OK {
			return &fault{kind: api.KindUnavailable, msg: fmt.Sprintf("%s does not work: %s", name, one.Name)}
		}
	}
	return err
}

func (a *app) removeProvider(ctx context.Context, name string) error {
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	if err := c.RemoveProvider(ctx, api.RemoveProvider{Name: name}); err != nil {
		return err
	}
	return a.report(map[string]any{"name": name}, "%s is removed, with its key", name)
}
