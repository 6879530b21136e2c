package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// filesCommand is `loci files`: the contents of folders.
func (a *app) filesCommand() *cobra.Command {
	var folder string
	c := parent(
		"files",
		"Add files to folders, read and search them",
		a.filesList(
			&folder,
		),
		a.filesAdd(&folder),
		a.filesShow(&folder),
		a.filesText(&folder),
		a.filesSearch(&folder),
		a.filesRemove(&folder),
	)
	c.PersistentFlags().StringVar(&folder, "folder", "", "the folder, by `NAME|ID`; not needed where there is only one")
	return c
}

// foldersOf is the folder that ref names, or all of them.
func (a *app) foldersOf(ctx context.Context, c *client.Client, ref string) ([]api.Folder, error) {
	if ref == "" {
		return allFolders(ctx, c)
	}
	f, err := a.findFolder(ctx, c, ref)
	return []api.Folder{f}, err
}

// filesAtOnce is how many files a request lists, and over how many rows a table is aligned.
const filesAtOnce = 1000

func (a *app) filesList(folder *string) *cobra.Command {
	var limit int
	var status string
	var all bool
	c := &cobra.Command{
		Use: "list", Short: "List files, the newest of each folder first", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			folders, err := a.foldersOf(ctx, c, *folder)
			if err != nil {
				return err
			}
			most := orDefault(limit, 100)
			if all {
				most = math.MaxInt
			}
			out := &fileRows{app: a}
			var cut []string
			for _, f := range folders {
				more, err := inPages(
					most,
					filesAtOnce,
					listOf(ctx, c, f.ID, status),
					fileID,
					func(files []api.File) error { return out.add(f, files) },
				)
				if err != nil {
					return err
				}
				if more {
					cut = append(cut, f.Name)
				}
			}
			if err := out.end(); err != nil {
				return err
			}
			if !out.began && !a.json {
				a.note("there are no files")
			}
			for _, name := range cut {
				a.note(fmt.Sprintf("%s has more than the %d files shown: --limit N shows more, --all every one", clip(name, 60), most))
			}
			return nil
		},
	}
	c.Flags().IntVar(&limit, "limit", 0, "how many of each folder at most (100)")
	c.Flags().BoolVar(&all, "all", false, "all of them, however many there are")
	c.Flags().StringVar(&status, "status", "", "only those that are pending, parsing, embedding, completed or error")
	c.MarkFlagsMutuallyExclusive("limit", "all")
	return c
}

// fileRows writes files as they come, holding only a few of them at a time.
type fileRows struct {
	*app
	t     table
	began bool // something was written
}

func (r *fileRows) add(folder api.Folder, files []api.File) error {
	if !r.json {
		for _, one := range files {
			r.t.add(
				one.ID,
				folder.Name+"/"+api.Val(one.FileName),
				one.ProcessingStatus,
				size(api.Val(one.FileSize)),
				chunks(one),
				api.Val(one.ErrorMessage),
			)
		}
		if len(r.t.rows) < filesAtOnce {
			return nil
		}
		return r.flush()
	}
	for _, one := range files {
		text, err := json.MarshalIndent(one, "  ", "  ")
		if err != nil {
			return err
		}
		before := ",\n  "
		if !r.began {
			before, r.began = "[\n  ", true
		}
		if _, err := fmt.Fprintf(r.out, "%s%s", before, text); err != nil {
			return err
		}
	}
	return nil
}

// flush writes the pending rows.
func (r *fileRows) flush() error {
	r.t.head, r.t.more = []string{"ID", "NAME", "STATUS", "SIZE", "CHUNKS", "ERROR"}, r.began
	err := r.t.write(r.out)
	r.began = r.began || len(r.t.rows) > 0
	r.t.rows = nil
	return err
}

func (r *fileRows) end() error {
	if !r.json {
		return r.flush()
	}
	closing := "\n]\n"
	if !r.began {
		closing = "[]\n"
	}
	_, err := io.WriteString(r.out, closing)
	return err
}

func fileID(f api.File) string { return f.ID }

// listOf lists a folder's files, or only those with a given status, for inPages.
func listOf(ctx context.Context, c *client.Client, folderID, status string) func(after string, n int) ([]api.File, error) {
	return func(after string, n int) ([]api.File, error) {
		by := filesBy(n, status, "")
		by.After = after
		return c.Files(ctx, folderID, by)
	}
}

func filesBy(limit int, status, name string) client.ListFiles {
	return client.ListFiles{ListFiles: api.ListFiles{Page: api.Page{Limit: limit}}, FileFilter: api.FileFilter{Status: status, Name: name}}
}

// chunks says how many passages of a file can be found by meaning.
func chunks(f api.File) string {
	done, all := api.Val(f.ChunksEmbedded), api.Val(f.TotalChunks)
	if done == all {
		return fmt.Sprint(all)
	}
	return fmt.Sprintf("%d of %d", done, all)
}

// fileOf connects and finds a file and its folder.
func (a *app) fileOf(ctx context.Context, folder, ref string) (*client.Client, api.Folder, api.File, error) {
	c, err := a.connect(ctx)
	if err != nil {
		return nil, api.Folder{}, api.File{}, err
	}
	d, f, err := a.findFile(ctx, c, folder, ref)
	return c, d, f, err
}

// findFile finds a file by its id, by folder/name, or by its name if only one folder has it.
func (a *app) findFile(ctx context.Context, c *client.Client, folder, ref string) (api.Folder, api.File, error) {
	folders, err := a.foldersOf(ctx, c, folder)
	if err != nil {
		return api.Folder{}, api.File{}, err
	}
	type hit struct {
		folder api.Folder
		file   api.File
	}
	var found []hit
	for _, f := range folders {
		var files []api.File
		if isID(ref, "file") {
			one, err := c.File(ctx, f.ID, ref, api.GetFile{})
			if kind, _ := explain(err); err != nil && kind != api.KindNotFound {
				return f, one, err
			} else if err == nil {
				files = []api.File{one}
			}
		} else {
			name := ref
			if rest, ok := strings.CutPrefix(ref, f.Name+"/"); ok {
				name = rest
			}
			if files, err = c.Files(ctx, f.ID, filesBy(1, "", name)); err != nil {
				return f, api.File{}, err
			}
		}
		for _, one := range files {
			found = append(found, hit{f, one})
		}
	}
	switch len(found) {
	case 0:
		return api.Folder{}, api.File{}, noSuch("file", ref, "loci files")
	case 1:
		return found[0].folder, found[0].file, nil
	}
	return api.Folder{}, api.File{}, (&fault{kind: api.KindConflict, msg: fmt.Sprintf("several folders have a file %q", clip(ref, 60))}).
		withHint(
			"name it with its folder, as %s, or by its id: %s",
			quoteArg(found[0].folder.Name+"/"+ref),
			idsOf(found, func(h hit) string { return h.file.ID }),
		)
}

func (a *app) filesShow(folder *string) *cobra.Command {
	return &cobra.Command{
		Use: "show FILE", Short: "Show what is known of a file", Args: exactly("the file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, d, f, err := a.fileOf(cmd.Context(), *folder, args[0])
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, f)
			}
			t := table{head: []string{"FILE", d.Name + "/" + api.Val(f.FileName)}}
			t.add("id", f.ID)
			t.add("status", f.ProcessingStatus)
			if f.ErrorMessage != nil {
				t.add("error", *f.ErrorMessage)
			}
			t.add("type", text(f.FileType))
			t.add("size", size(api.Val(f.FileSize)))
			t.add("chunks", chunks(f))
			t.add("added", moment(f.CreatedAt))
			return t.write(a.out)
		},
	}
}

func (a *app) filesText(folder *string) *cobra.Command {
	return &cobra.Command{
		Use: "text FILE", Short: "Print the text that was read from a file", Args: exactly("the file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, d, f, err := a.fileOf(cmd.Context(), *folder, args[0])
			if err != nil {
				return err
			}
			if f, err = c.File(cmd.Context(), d.ID, f.ID, api.GetFile{IncludeContent: true}); err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, f)
			}
			if f.ErrorMessage != nil {
				return &fault{kind: api.KindInvalid, msg: *f.ErrorMessage}
			}
			said := api.Val(f.Content)
			if isTerminal(a.out) {
				said = safe(said)
			}
			_, err = io.WriteString(a.out, said)
			return err
		},
	}
}

func (a *app) filesSearch(folder *string) *cobra.Command {
	var limit int
	var agent string
	c := &cobra.Command{
		Use: "search WORDS...", Short: "Search files by meaning and by words, the best places first", Args: atLeast("what to search for"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := searchable(args); err != nil {
				return err
			}
			ctx := cmd.Context()
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			in := api.SearchFiles{Query: strings.Join(args, " "), Limit: api.PtrTo(orDefault(limit, 10))}
			if *folder != "" {
				f, err := a.findFolder(ctx, c, *folder)
				if err != nil {
					return err
				}
				in.FolderIDs = []string{f.ID}
			}
			if agent != "" {
				g, err := a.findAgent(ctx, c, agent)
				if err != nil {
					return err
				}
				in.AgentID = &g.ID
			}
			found, partial, err := c.SearchFiles(ctx, in)
			if err != nil {
				return err
			}
			a.noteFound(len(found), partial)
			if a.json {
				return writeJSON(a.out, nonNil(found))
			}
			t := table{head: []string{"FILE", "LINES", "WHY", "TEXT"}}
			for _, r := range found {
				t.add(r.FolderName+"/"+r.FileName, lines(r), why(r.Why), r.Excerpt)
			}
			return t.write(a.out)
		},
	}
	c.Flags().IntVar(&limit, "limit", 0, "how many at most (10)")
	c.Flags().StringVar(&agent, "agent", "", "only in the folders of an agent, by `NAME|ID`")
	return c
}

// lines says which lines a result covers.
func lines(r api.FileResult) string {
	at := fmt.Sprint(r.Line)
	if r.EndLine > r.Line {
		at += fmt.Sprintf("-%d", r.EndLine)
	}
	if r.Page > 0 {
		at += fmt.Sprintf(" (p. %d)", r.Page)
	}
	return at
}

func (a *app) filesRemove(folder *string) *cobra.Command {
	return &cobra.Command{
		Use: "rm FILE...", Short: "Remove files", Args: atLeast("the file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			type named struct{ folder, id, name string }
			var all []named
			for _, ref := range args { // check all of them before removing the first
				d, f, err := a.findFile(ctx, c, *folder, ref)
				if err != nil {
					return err
				}
				all = append(all, named{d.ID, f.ID, d.Name + "/" + api.Val(f.FileName)})
			}
			for _, f := range all {
				if err := c.DeleteFile(ctx, f.folder, f.id); err != nil {
					return err
				}
				if err := a.report(map[string]any{"id": f.id, "name": f.name, "deleted": true}, "removed %s", f.name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
