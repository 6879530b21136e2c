package cli

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"loci/daemon/api"
)

// trustFlags are the flags of `loci trust`.
type trustFlags struct {
	yes, refuse, remove bool
	items               []string
}

// trustCommand is `loci trust`.
func (a *app) trustCommand() *cobra.Command {
	var f trustFlags
	c := &cobra.Command{
		Use: "trust [FOLDER]", Short: "List what a folder brings along for agents, and say whether it counts",
		Long: `List what a folder brings along for agents, and say whether it counts: the instructions in AGENTS.md and CLAUDE.md, in the
folder and below it. None counts before you trust it, and what changes afterwards waits for you again.

Read a file before you trust it. Agents follow what it says while they work in the folder, within your rules of permission.`,
		Example: `  loci trust
  loci trust . --yes
  loci trust . --yes --item docs/AGENTS.md
  loci trust . --refuse
  loci trust --remove`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := filepath.Abs(first(args)) // of nothing: the current one
			if err != nil {
				return err
			}
			return a.trust(cmd, folder, &f)
		},
	}
	c.Flags().BoolVar(&f.yes, "yes", false, "trust what waits for you, as it is now")
	c.Flags().BoolVar(&f.refuse, "refuse", false, "say no to what waits for you, as it is now, so that nobody asks again")
	c.Flags().BoolVar(&f.remove, "remove", false, "take back all that you said of the folder")
	c.Flags().StringArrayVar(&f.items, "item", nil, "with --yes or --refuse: only this `PATH` in the folder, whatever you said of it")
	return c
}

func (a *app) trust(cmd *cobra.Command, folder string, f *trustFlags) error {
	deciding := f.yes || f.refuse
	switch {
	case f.yes && f.refuse || f.remove && deciding:
		return invalid("--yes, --refuse and --remove exclude each other")
	case len(f.items) > 0 && !deciding:
		return invalid("--item belongs to --yes or --refuse")
	}
	c, err := a.connect(cmd.Context())
	if err != nil {
		return err
	}
	if f.remove {
		if err := c.RemoveTrust(cmd.Context(), folder); err != nil {
			return err
		}
		return a.report(map[string]any{"folder": folder}, "nothing of %s is trusted any more", folder)
	}
	found, err := c.FolderItems(cmd.Context(), folder)
	if err != nil {
		return err
	}
	if !deciding {
		return a.listTrust(folder, &found)
	}
	in := api.DecideTrust{Folder: folder}
	if in.Items, err = f.decisions(&found); err != nil {
		return err
	}
	broken := f.yes && len(f.items) == 0 && a.tellBroken(&found)
	switch {
	case broken && len(in.Items) == 0:
		return invalid("nothing of %s was trusted", folder).withHint("mend what can't be; it is read anew each time")
	case len(in.Items) == 0:
		return a.report(in, "nothing of %s waits for you", folder)
	}
	if err := c.DecideTrust(cmd.Context(), in); err != nil {
		return err
	}
	said := map[bool]string{true: "trusted", false: "refused"}[f.yes]
	for _, it := range in.Items {
		a.note(fmt.Sprintf("%s %s, sha256 %s", said, it.Path, it.Hash[:min(len(it.Hash), 12)]))
	}
	return a.report(in, "%d of %s %s", len(in.Items), folder, said)
}

// decisions are about what waits, or about the items that were named.
func (f *trustFlags) decisions(found *api.FolderItems) (out []api.TrustDecision, err error) {
	for _, name := range f.items {
		known := func(it api.FolderItem) bool { return it.Path == filepath.ToSlash(filepath.Clean(name)) }
		i := slices.IndexFunc(found.Items, known)
		if i < 0 {
			return nil, invalid("the folder brings no %s", clip(name, 60)).withHint("loci trust lists what it brings")
		}
		out = append(out, api.TrustDecision{Path: found.Items[i].Path, Hash: found.Items[i].Hash, Trusted: f.yes})
	}
	if len(f.items) > 0 {
		return out, nil
	}
	for _, it := range found.Items {
		if it.Waits() {
			out = append(out, api.TrustDecision{Path: it.Path, Hash: it.Hash, Trusted: f.yes})
		}
	}
	return out, nil
}

// tellBroken says what can't be trusted as it is, and reports whether there is any of that.
func (a *app) tellBroken(found *api.FolderItems) (some bool) {
	for _, it := range found.Items {
		if it.Fault != "" {
			some = true
			a.note(it.Path + " can't be trusted: " + it.Fault)
		}
	}
	return some
}

func (a *app) listTrust(folder string, found *api.FolderItems) error {
	if a.json {
		return writeJSON(a.out, found)
	}
	t := table{head: []string{"STATE", "KIND", "PATH", "SIZE", "SHA256"}}
	waiting := false
	for _, it := range found.Items {
		hash := it.Hash[:min(len(it.Hash), 12)]
		if it.Fault != "" {
			hash = it.Fault
		}
		t.add(it.State, it.Kind, it.Path, size(it.Bytes), hash)
		waiting = waiting || it.Waits()
	}
	if !found.Whole {
		a.note("the folder is too large to look at all of it; what is deep in it may be missing here")
	}
	if waiting {
		a.note("agents follow none that is new or changed; when you have read them: loci trust " + quoteArg(folder) + " --yes")
	}
	return a.list(t, "the folder brings nothing along")
}
