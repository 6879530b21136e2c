package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"loci/daemon"
	"loci/daemon/api"
)

// all stands for every waiting path.
const all = "all"

// restoreReport is the --json output of a restore.
type restoreReport struct {
	Restored string          `json:"restored"`
	Kept     string          `json:"kept"`
	Waiting  []api.HeldPlace `json:"waiting"` // paths and servers outside the home, not used yet
	Ended    int             `json:"ended"`   // runs that were under way and don't go on
}

// restoreCommand is `loci restore`.
func (a *app) restoreCommand() *cobra.Command {
	var waiting bool
	var allow, drop []string
	c := &cobra.Command{
		Use:   "restore FILE  |  restore --waiting  |  restore --allow PATH  |  restore --drop PATH",
		Short: "Replace everything by a backup; what it replaces is kept",
		Long: "Replace everything by a backup; what it replaces is kept.\n\n" +
			"The backup is read whole first, and refused unless all of it is good. Folders that it names outside of the home (mirrors\n" +
			"of memory, directories that folders follow) and copies that it wants removed are left alone until you allow each, and no\n" +
			"text is sent to a server for an embedding.",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case waiting:
				if err := exactly()(cmd, args); err != nil {
					return err
				}
				return a.listWaiting(cmd.Context())
			case len(allow)+len(drop) > 0:
				if err := exactly()(cmd, args); err != nil {
					return err
				}
				return a.settleWaiting(cmd.Context(), allow, drop)
			}
			if err := exactly("the backup to read")(cmd, args); err != nil {
				return err
			}
			return a.restore(cmd.Context(), args[0])
		},
	}
	c.Flags().BoolVar(&waiting, "waiting", false, "list the paths and servers outside of the home that wait to be allowed")
	c.Flags().StringArrayVar(&allow, "allow", nil, "use this `PATH` again as the restored home did, or all; may be repeated")
	c.Flags().StringArrayVar(&drop, "drop", nil, "never use this `PATH`, or all; may be repeated")
	c.MarkFlagsMutuallyExclusive("waiting", "allow", "drop")
	return c
}

func (a *app) restore(ctx context.Context, file string) (err error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	p, err := a.paths()
	if err != nil {
		return err
	}
	r, err := daemon.PrepareRestore(ctx, p, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := a.stopForRestore(ctx); err != nil {
		return err
	}
	kept, err := r.Put(ctx)
	if err != nil {
		return err
	}
	out := restoreReport{Restored: path, Kept: kept, Waiting: nonNil(r.Waiting()), Ended: r.Ended()}
	if kept == "" {
		err = a.report(out, "restored %s", path)
	} else {
		err = a.report(out, "restored %s; what it replaced is kept in %s", path, kept)
	}
	if err != nil || a.json {
		return err
	}
	if out.Ended > 0 {
		a.note(counted(out.Ended, "run") + " that the backup has under way will not go on: send the message again")
	}
	if len(out.Waiting) == 0 {
		return nil
	}
	a.note(
		"it names " + counted(
			len(out.Waiting),
			"place",
		) + " outside of the home. Nothing is read, written, removed or sent there until you allow it:",
	)
	return a.writeWaiting(a.errOut, out.Waiting)
}

func (a *app) stopForRestore(ctx context.Context) error {
	stopped, err := a.stopDaemon(ctx, true)
	if err == nil && stopped {
		a.note("the idle daemon was stopped; the next command starts it again")
	}
	return err
}

func (a *app) listWaiting(ctx context.Context) error {
	p, err := a.paths()
	if err != nil {
		return err
	}
	found, err := daemon.Waiting(ctx, p)
	if err != nil {
		return err
	}
	switch {
	case a.json:
		return writeJSON(a.out, nonNil(found))
	case len(found) == 0:
		a.note("no path or server waits")
		return nil
	}
	return a.writeWaiting(a.out, found)
}

// settleWaiting allows or drops paths. The daemon only notices at its next start, so an idle one is stopped.
func (a *app) settleWaiting(ctx context.Context, allow, drop []string) error {
	p, err := a.paths()
	if err != nil {
		return err
	}
	if err := a.stopForRestore(ctx); err != nil {
		return err
	}
	paths := append(allow, drop...)
	if len(paths) == 1 && paths[0] == all {
		paths = nil
	}
	done, err := daemon.SettleWaiting(ctx, p, len(allow) > 0, paths)
	if err != nil {
		return err
	}
	if len(allow) > 0 {
		return a.report(nonNil(done), "%s allowed", counted(len(done), "place"))
	}
	return a.report(nonNil(done), "%s dropped; nothing there was touched", counted(len(done), "place"))
}

// mostWaiting is how many waiting paths are listed.
const mostWaiting = 100

func (a *app) writeWaiting(w io.Writer, waiting []api.HeldPlace) error {
	t := table{head: []string{"PATH", "WHAT FOR"}}
	for _, one := range waiting[:min(mostWaiting, len(waiting))] {
		t.add(one.Path, whatFor(one))
	}
	if err := t.write(w); err != nil {
		return err
	}
	if n := len(waiting) - mostWaiting; n > 0 {
		a.note(fmt.Sprintf("and %d more: loci restore --waiting --json", n))
	}
	a.note("loci restore --allow PATH uses one again, --drop PATH never does; all stands for all of them")
	return nil
}

func whatFor(w api.HeldPlace) string {
	switch w.Kind {
	case "mirror":
		return "mirror of the memory of " + cmp.Or(w.Name, w.ID)
	case "folder":
		return "followed by the folder " + cmp.Or(w.Name, w.ID)
	case "model":
		return "texts are sent there for the embedding " + w.ID
	case "part":
		return "unfinished backup, to be removed"
	default:
		return "a copy, for loci forget to look through"
	}
}
