package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// foldersCommand is `loci folders`: sets of files that agents can open and search.
func (a *app) foldersCommand() *cobra.Command {
	return parent(
		"folders",
		"Make folders of files and give them to agents",
		a.foldersList(),
		a.foldersCreate(),
		a.foldersShow(),
		a.foldersDelete(),
		a.foldersMirror(),
		a.foldersUnmirror(),
		a.foldersShare(
			"attach",
			"Give an agent a folder, and the tools to open and search its files",
			"%s now has the folder %s",
			(*client.Client).AttachFolder,
		),
		a.foldersShare(
			"detach",
			"Take a folder away from an agent; the folder stays",
			"%s no longer has the folder %s",
			(*client.Client).DetachFolder,
		),
	)
}

func (a *app) foldersList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List folders", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			found, err := allFolders(cmd.Context(), c)
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, nonNil(found))
			}
			held, err := holdings(cmd.Context(), c)
			if err != nil {
				return err
			}
			t := table{head: []string{"ID", "NAME", "FILES", "SIZE", "DESCRIPTION"}}
			for _, f := range found {
				t.add(f.ID, f.Name, fmt.Sprint(held[f.ID].FileCount), size(held[f.ID].TotalSize), text(f.Description))
			}
			return a.list(t, "there are no folders yet")
		},
	}
}

// allFolders lists every folder.
func allFolders(ctx context.Context, c *client.Client) ([]api.Folder, error) {
	return listAll(func(p api.Page) ([]api.Folder, error) { return c.Folders(ctx, api.ListFolders{Page: p}) },
		func(f api.Folder) string { return f.ID })
}

// holdings says what each folder contains, by folder id.
func holdings(ctx context.Context, c *client.Client) (map[string]api.FolderNumber, error) {
	stats, err := c.FolderStats(ctx, api.FolderStatsParams{})
	out := map[string]api.FolderNumber{}
	for _, f := range stats.Sources {
		out[f.SourceID] = f
	}
	return out, err
}

func (a *app) foldersCreate() *cobra.Command {
	var description, instructions, embedding string
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a folder", Args: exactly("a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			f, err := c.CreateFolder(cmd.Context(), api.CreateFolder{
				Name: args[0], Description: api.PtrTo(description), Instructions: api.PtrTo(instructions), Embedding: api.PtrTo(embedding),
			})
			if err != nil {
				return err
			}
			return a.report(f, "made the folder %s (%s)", f.Name, f.ID)
		},
	}
	c.Flags().StringVar(&description, "description", "", "what it holds, for people and agents")
	c.Flags().StringVar(&instructions, "instructions", "", "how agents should use it")
	c.Flags().
		StringVar(&embedding, "embedding", "", "what its files are embedded with, by `HANDLE`; by default the built-in one, "+
			"which sends no text anywhere")
	return c
}

// folderOf connects and finds a folder by name or id.
func (a *app) folderOf(ctx context.Context, ref string) (*client.Client, api.Folder, error) {
	c, err := a.connect(ctx)
	if err != nil {
		return nil, api.Folder{}, err
	}
	f, err := a.findFolder(ctx, c, ref)
	return c, f, err
}

// findFolder finds a folder by name or id.
func (a *app) findFolder(ctx context.Context, c *client.Client, ref string) (api.Folder, error) {
	if ref == "" {
		return api.Folder{}, noName("the folder")
	}
	if isID(ref, "source") {
		return c.Folder(ctx, ref)
	}
	found, err := c.Folders(ctx, api.ListFolders{Name: ref})
	if err != nil {
		return api.Folder{}, err
	}
	if len(found) == 0 {
		return api.Folder{}, noSuch("folder", ref, "loci folders")
	}
	return found[0], nil
}

// theFolder is the folder that ref names, or the only one there is.
func (a *app) theFolder(ctx context.Context, c *client.Client, ref string) (api.Folder, error) {
	if ref != "" {
		return a.findFolder(ctx, c, ref)
	}
	found, err := c.Folders(ctx, api.ListFolders{Page: api.Page{Limit: idsListed}})
	switch {
	case err != nil:
		return api.Folder{}, err
	case len(found) == 0:
		return api.Folder{}, (&fault{kind: api.KindNotFound, msg: "there is no folder yet"}).withHint("loci folders create NAME")
	case len(found) > 1:
		return api.Folder{}, invalid(
			"there are several folders",
		).withHint("name one with --folder: %s", idsOf(found, func(f api.Folder) string { return quoteArg(f.Name) }))
	}
	return found[0], nil
}

// shownFolder is a folder and its contents.
type shownFolder struct {
	api.Folder
	Files  int      `json:"files"`
	Bytes  int64    `json:"bytes"`
	Agents []string `json:"agents"`

	Mirror *api.FolderMirror `json:"mirror,omitempty"` // the directory it follows
}

func (a *app) foldersShow() *cobra.Command {
	return &cobra.Command{
		Use: "show FOLDER", Short: "Show a folder: what it holds and which agents have it", Args: exactly("the folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, f, err := a.folderOf(ctx, args[0])
			if err != nil {
				return err
			}
			held, err := holdings(ctx, c)
			if err != nil {
				return err
			}
			out := shownFolder{Folder: f, Files: held[f.ID].FileCount, Bytes: held[f.ID].TotalSize}
			out.Agents, err = listAll(
				func(p api.Page) ([]string, error) { return c.FolderAgents(ctx, f.ID, p) },
				func(id string) string { return id },
			)
			if err != nil {
				return err
			}
			mirror, err := c.FolderMirror(ctx, f.ID)
			if err != nil {
				return err
			}
			if mirror.On {
				out.Mirror = &mirror
			}
			if a.json {
				out.Agents = nonNil(out.Agents)
				return writeJSON(a.out, out)
			}
			t := table{head: []string{"FOLDER", f.Name}}
			t.add("id", f.ID)
			t.add("files", fmt.Sprintf("%d (%s)", out.Files, size(out.Bytes)))
			a.mirrorRows(&t, mirror)
			t.add("embedding", text(f.EmbeddingConfig.Handle))
			t.add("description", text(f.Description))
			t.add("instructions", text(f.Instructions))
			for _, id := range out.Agents {
				agent, err := c.Agent(ctx, id)
				if err != nil {
					return err
				}
				t.add("agent", agent.Name+" ("+id+")")
			}
			return t.write(a.out)
		},
	}
}

func (a *app) foldersDelete() *cobra.Command {
	yes := false
	c := &cobra.Command{
		Use: "delete FOLDER", Short: "Delete a folder with its files, and take it away from every agent", Args: exactly("the folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, f, err := a.folderOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			question := "delete the folder " + oneLine(f.Name) + " with its files, and take it away from every agent?"
			if err := a.sure(yes, question, "nothing was deleted", "loci folders delete "+quoteArg(f.Name)+" --yes"); err != nil {
				return err
			}
			if err := c.DeleteFolder(cmd.Context(), f.ID); err != nil {
				return err
			}
			return a.report(map[string]any{"id": f.ID, "name": f.Name, "deleted": true}, "deleted the folder %s (%s)", f.Name, f.ID)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// foldersShare attaches a folder to an agent, or detaches it.
func (a *app) foldersShare(
	use, short, done string,
	do func(c *client.Client, ctx context.Context, agentID, id string) error,
) *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use: use + " FOLDER", Short: short, Args: exactly("the folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, g, err := a.agentOf(cmd.Context(), agent)
			if err != nil {
				return err
			}
			f, err := a.findFolder(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if err := do(c, cmd.Context(), g.ID, f.ID); err != nil {
				return err
			}
			return a.report(map[string]any{"agent_id": g.ID, "folder_id": f.ID}, done, g.Name, f.Name)
		},
	}
	agentFlag(c, &agent)
	return c
}
