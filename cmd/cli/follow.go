package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// foldersMirror is `loci folders mirror`: a folder that follows a directory.
func (a *app) foldersMirror() *cobra.Command {
	var yes, noWait, dry bool
	c := &cobra.Command{
		Use: "mirror NAME DIR", Short: "Let a folder follow a directory on disk", Args: exactly("the folder's name", "the directory"),
		Long: `Let a folder follow a directory on disk: what is made, changed, renamed or deleted there is so in the folder within
two seconds. The folder is made if there is none of the name; one that is there must be empty.

It obeys .gitignore, and leaves out hidden and empty files, symbolic links, what cannot be read as text and what is larger
than 50 MB. First it says how many files and bytes that is, and asks. The directory is only read.

The daemon does the work: interrupt this command whenever you like, "loci folders show NAME" says how far it is.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			dir, err := filepath.Abs(args[1])
			if err != nil {
				return err
			}
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			plan, err := c.PlanMirror(ctx, api.PlanMirror{Path: dir})
			if err != nil {
				return err
			}
			if dry {
				return a.printPlan(plan)
			}
			a.note(planText(plan))
			if err := a.sure(yes, "follow it?", "nothing was begun", "the same with --yes"); err != nil {
				return err
			}
			f, m, err := a.beginMirror(ctx, c, args[0], plan.Path)
			if err != nil {
				return err
			}
			if !noWait {
				w := &mirrorWatch{app: a, c: c, folder: f, began: time.Now()}
				if m, err = w.wait(ctx, m); err != nil {
					return err
				}
			}
			return a.report(m, "%s", mirrorText(f.Name, m))
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&noWait, "no-wait", false, "do not wait until the files are read")
	c.Flags().BoolVar(&dry, "dry-run", false, "only say what would be taken")
	return c
}

// skipWords are the words for the reasons, in display order.
var skipWords = []struct{ reason, words string }{
	{api.SkipIgnored, "ignored"},
	{api.SkipHidden, "hidden"},
	{api.SkipBinary, "no text"},
	{api.SkipEmpty, "empty"},
	{api.SkipTooLarge, "too large"},
	{api.SkipLink, "symbolic links"},
	{api.SkipSpecial, "no files"},
	{api.SkipUnreadable, "not readable"},
	{api.SkipName, "with a name that cannot be used"},
	{api.SkipDeep, "too deep"},
}

// skippedText says what was skipped.
func skippedText(skipped map[string]int) string {
	var parts []string
	for _, s := range skipWords {
		if n := skipped[s.reason]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.words))
		}
	}
	return strings.Join(parts, ", ")
}

func planText(p api.MirrorPlan) string {
	line := fmt.Sprintf("%s: %s, %s", p.Path, counted(p.Files, "file"), size(p.Bytes))
	if skipped := skippedText(p.Skipped); skipped != "" {
		line += "; left out: " + skipped
	}
	return line
}

func (a *app) printPlan(p api.MirrorPlan) error {
	if a.json {
		return writeJSON(a.out, p)
	}
	_, err := fmt.Fprintln(a.out, oneLine(planText(p)))
	return err
}

// stillToCome is how many files are left to read, as far as is known.
func stillToCome(m api.FolderMirror) int {
	return max(m.Waiting, m.Plan.Files-m.Done-m.Failed) // at the start of a scan the plan is empty
}

func mirrorText(name string, m api.FolderMirror) string {
	if m.Error != "" {
		return fmt.Sprintf("%s waits: %s", name, m.Error)
	}
	line := fmt.Sprintf("%s follows %s: %d read", name, m.Path, m.Done)
	if left := stillToCome(m); left > 0 || m.Looking {
		line += fmt.Sprintf(", %d to come", left)
	}
	if m.Failed > 0 {
		line += fmt.Sprintf(", %d cannot be read (loci files list --status error)", m.Failed)
	}
	return line
}

// beginMirror makes a folder follow a directory. If that fails, a folder created for it is deleted again.
func (a *app) beginMirror(ctx context.Context, c *client.Client, name, dir string) (api.Folder, api.FolderMirror, error) {
	f, err := a.findFolder(ctx, c, name)
	fresh := false
	if kind, _ := explain(err); err != nil && kind == api.KindNotFound && !isID(name, "source") {
		f, err = c.CreateFolder(ctx, api.CreateFolder{Name: name})
		fresh = true
	}
	if err != nil {
		return f, api.FolderMirror{}, err
	}
	m, err := c.SetFolderMirror(ctx, f.ID, api.SetFolderMirror{Path: dir})
	if err != nil && fresh {
		err = errors.Join(err, c.DeleteFolder(ctx, f.ID))
	}
	return f, m, err
}

// mirrorWatch waits until a folder has read its directory, and shows its progress.
type mirrorWatch struct {
	*app
	c      *client.Client
	folder api.Folder
	began  time.Time
	shown  bool
}

func (w *mirrorWatch) wait(ctx context.Context, m api.FolderMirror) (api.FolderMirror, error) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	defer w.clear()
	for {
		if m.Error != "" || !m.Looking && m.LookedAt != nil && m.Waiting == 0 {
			return m, nil
		}
		w.show(m)
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.clear()
			w.note("the daemon goes on; how far it is: loci folders show " + quoteArg(w.folder.Name))
			return m, context.Cause(ctx)
		}
		var err error
		if m, err = w.c.FolderMirror(ctx, w.folder.ID); err != nil && ctx.Err() == nil {
			return m, err
		}
	}
}

// show shows the rate and the time left on a terminal.
func (w *mirrorWatch) show(m api.FolderMirror) {
	if !isTerminal(w.errOut) || w.json {
		return
	}
	w.shown = true
	done := m.Done + m.Failed
	fmt.Fprint(w.errOut, progressLine("read", done, done+stillToCome(m), time.Since(w.began)))
}

func (w *mirrorWatch) clear() {
	if w.shown {
		fmt.Fprint(w.errOut, eraseLine)
		w.shown = false
	}
}

// foldersUnmirror is `loci folders unmirror`.
func (a *app) foldersUnmirror() *cobra.Command {
	return &cobra.Command{
		Use: "unmirror FOLDER", Short: "Stop following a directory; the folder keeps its files", Args: exactly("the folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, f, err := a.folderOf(ctx, args[0])
			if err != nil {
				return err
			}
			m, err := c.UnsetFolderMirror(ctx, f.ID)
			if err != nil {
				return err
			}
			return a.report(m, "%s follows no directory any more; its files stay", f.Name)
		},
	}
}

// mirrorRows show how far a folder has got with its directory.
func (a *app) mirrorRows(t *table, m api.FolderMirror) {
	if !m.On {
		return
	}
	t.add("directory", m.Path)
	left := stillToCome(m)
	switch {
	case m.Error != "":
		t.add("waits", m.Error)
	case m.Looking || left > 0:
		t.add("state", fmt.Sprintf("%d of %d files read", m.Done+m.Failed, m.Done+m.Failed+left))
	default:
		t.add("state", "alike")
	}
	if m.Failed > 0 {
		t.add("failed", fmt.Sprintf("%d (loci files list --status error)", m.Failed))
	}
	if skipped := skippedText(m.Plan.Skipped); skipped != "" {
		t.add("left out", skipped)
	}
	if m.LookedAt != nil {
		t.add("looked at", moment(m.LookedAt))
	}
}
