package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"loci/daemon"
	"loci/daemon/api"
	"loci/daemon/config"
)

// versionCommand is `loci version`. It does no other work.
func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	if a.json {
		return writeJSON(
			a.out,
			map[string]string{"version": versionText(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH},
		)
	}
	_, err := fmt.Fprintln(a.out, "loci "+versionText())
	return err
}

// pathsCommand is `loci paths`.
func (a *app) pathsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "paths", Short: "Show where everything is", Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			p, err := a.paths()
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, p)
			}
			t := table{head: []string{"home", p.Home}}
			t.add("configuration", p.Config)
			t.add("data", p.Data)
			t.add("state", p.State)
			t.add("socket", p.Socket)
			t.add("log", p.Log)
			return t.write(a.out)
		},
	}
}

// configCommand is `loci config`.
func (a *app) configCommand() *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "Show every setting, its value and where it came from", Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			l, err := a.checkedConfig()
			if err != nil {
				return err
			}
			entries := l.Explain()
			if a.json {
				return writeJSON(a.out, entries)
			}
			t := table{head: []string{"KEY", "VALUE", "FROM", "VARIABLE", "WHAT IT IS"}}
			for _, e := range entries {
				t.add(e.Key, cmp.Or(e.Value, "-"), string(e.Origin), e.Env, e.Doc)
			}
			return t.write(a.out)
		},
	}
}

// backupCommand is `loci backup`.
func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy everything that must not be lost into a file, while the daemon works",
		Args:  exactly("the file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if err := isFolder(filepath.Dir(path)); err != nil {
				return err
			}
			var r api.BackupResult
			c, err := a.lookForDaemon(ctx)
			switch {
			case err != nil:
				return err
			case c != nil:
				r, err = c.Backup(ctx, path)
			default:
				var p config.Paths
				if p, err = a.paths(); err == nil {
					r, err = daemon.Backup(ctx, p, path)
				}
			}
			if err != nil {
				return err
			}
			good := "found good"
			if r.DamagedRows > 0 {
				good = "found as damaged as the home is"
			}
			err = a.report(
				r,
				"%s: %s, %s, %s; read back and %s",
				r.Path,
				size(r.Bytes),
				counted(r.Agents, "agent"),
				counted(r.Messages, "message"),
				good,
			)
			if err == nil && r.DamagedRows > 0 {
				return (&fault{kind: api.KindInternal, msg: fmt.Sprintf(
					"%s of the home cannot be read, and loci restore refuses this copy. The first: %s",
					counted(r.DamagedRows, "row"),
					r.Damaged[0],
				)}).withHint("loci doctor")
			}
			return err
		},
	}
}

// isFolder says what is wrong with the folder of a file to be written. A missing folder is more likely a typo than
// intended.
func isFolder(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return (&fault{kind: api.KindNotFound, msg: "there is no folder " + path}).withHint("mkdir -p %s", quoteArg(path))
	case err != nil:
		return invalid("the folder cannot be used: %s", err)
	case !info.IsDir():
		return invalid("%s is not a folder", path)
	}
	return nil
}

// counted is a number with its noun, in the singular or plural.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// uninstallCommand is `loci uninstall`.
func (a *app) uninstallCommand() *cobra.Command {
	var purge, yes bool
	c := &cobra.Command{
		Use: "uninstall", Short: "Stop the daemon and say what is left where", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.uninstall(cmd.Context(), purge, yes) },
	}
	c.Flags().BoolVar(&purge, "purge", false, "delete all agents, their memory, the configuration and the log")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask before --purge")
	return c
}

func (a *app) uninstall(ctx context.Context, purge, yes bool) error {
	p, err := a.paths()
	if err != nil {
		return err
	}
	if purge {
		question := fmt.Sprintf("delete all agents and their memory in %s, the configuration %s and the log %s?", p.Data, p.Config, p.Log)
		if err := a.sure(yes, question, "nothing was deleted", "loci uninstall --purge --yes"); err != nil {
			return err
		}
	}
	stopped, err := a.stopDaemon(ctx, false)
	if err != nil {
		return err
	}
	if stopped {
		a.note("the daemon has stopped")
	}
	left := []string{p.Data, p.State, p.Config, filepath.Dir(p.Socket)}
	if purge {
		if left, err = a.purge(p); err != nil {
			return err
		}
	}
	left = existing(left)
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if a.json {
		return writeJSON(a.out, map[string]any{"purged": purge, "left": nonNil(left), "program": exe})
	}
	for _, path := range left {
		fmt.Fprintf(a.out, "left: %s\n", path)
	}
	_, err = fmt.Fprintf(a.out, "the program itself: %s\n", exe)
	return err
}

// purge deletes what belongs to us and returns what it left alone.
func (a *app) purge(p config.Paths) (left []string, err error) {
	if _, err := os.Stat(p.Lock); errors.Is(err, fs.ErrNotExist) {
		// Without our lock file, this could be anybody's folder.
		return []string{p.Data, p.State, p.Config}, nil
	}
	for _, path := range []string{p.Socket, p.StartLock, p.Stopped, p.Config, p.Permissions(), p.Trust(), p.Hooks(), p.State, p.Data} {
		if err := os.RemoveAll(path); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{filepath.Dir(p.Socket), p.Run, filepath.Dir(p.Config), p.Home} {
		_ = os.Remove(dir) // only if it is empty
	}
	return []string{p.Home}, nil
}

func existing(paths []string) []string {
	var out []string
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			out = append(out, path)
		}
	}
	return out
}

// sure asks a person whether to go on; a script says --yes. The error of a no says with nothing what was not done, and only
// where there is nobody to ask, with again, how to do it without being asked.
func (a *app) sure(yes bool, question, nothing, again string) error {
	switch {
	case yes:
		return nil
	case !a.canAsk():
		return (&fault{kind: api.KindConflict, msg: nothing + ": there is no terminal to ask at"}).withHint("%s", again)
	case !a.confirm(question):
		return &fault{kind: api.KindCancelled, msg: nothing}
	}
	return nil
}

// canAsk reports whether there is a person to ask.
func (a *app) canAsk() bool {
	f, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// confirm asks a person; only an explicit yes counts.
func (a *app) confirm(question string) bool {
	fmt.Fprint(a.errOut, filled(fmt.Sprintf("loci: %s [y/N] ", question), columnsOf(a.errOut), 2))
	answer, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
