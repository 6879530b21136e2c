package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"loci/daemon"
	"loci/daemon/api"
	"loci/daemon/config"
)

// versionCommand is `loci version`. It does no work at all.
func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	if a.json {
		return writeJSON(a.out, map[string]string{"version": versionText(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
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
			l, err := a.config()
			if err != nil {
				return err
			}
			entries := l.Explain()
			if a.json {
				return writeJSON(a.out, entries)
			}
			t := table{head: []string{"KEY", "VALUE", "FROM", "VARIABLE", "WHAT IT IS"}}
			for _, e := range entries {
				value := e.Value
				if value == "" {
					value = "-"
				}
				t.add(e.Key, value, string(e.Origin), e.Env, e.Doc)
			}
			return t.write(a.out)
		},
	}
}

// backupCommand is `loci backup`.
func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy everything that must not be lost into a file, while the daemon works", Args: exactly("the file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			path, err := filepath.Abs(args[0])
			if err != nil {
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
			return a.report(r, "%s: %s, %d agents, %d messages; read back and found good", r.Path, size(r.Bytes), r.Agents, r.Messages)
		},
	}
}

// restoreCommand is `loci restore`.
func (a *app) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Replace everything by a backup; what it replaces is kept", Args: exactly("the backup to read"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			p, err := a.paths()
			if err != nil {
				return err
			}
			if _, err := os.Stat(path); err != nil {
				return (&fault{kind: api.KindNotFound, msg: "the backup cannot be read: " + err.Error()}).withHint("give the path of a file that loci backup wrote")
			}
			stopped, err := a.stopDaemon(ctx, true)
			if err != nil {
				return err
			}
			if stopped {
				a.note("the idle daemon was stopped; the next command starts it again")
			}
			kept, err := daemon.Restore(ctx, p, path)
			if err != nil {
				return err
			}
			if kept == "" {
				return a.report(map[string]string{"restored": path, "kept": ""}, "restored %s", path)
			}
			return a.report(map[string]string{"restored": path, "kept": kept}, "restored %s; what it replaced is kept in %s", path, kept)
		},
	}
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
	if purge && !yes && isTerminal(a.in) && !a.confirm("delete everything in "+p.Home+", all agents and their memory?") {
		return (&fault{kind: api.KindCancelled, msg: "nothing was deleted"}).withHint("loci uninstall --purge --yes")
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

// purge deletes what is ours and returns what it would not touch.
func (a *app) purge(p config.Paths) (left []string, err error) {
	if _, err := os.Stat(p.Lock); errors.Is(err, fs.ErrNotExist) {
		// Without our lock file this may be anybody's folder.
		return []string{p.Data, p.State, p.Config}, nil
	}
	for _, path := range []string{p.Socket, p.StartLock, p.Config, p.State, p.Data} {
		if err := os.RemoveAll(path); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{filepath.Dir(p.Socket), p.Run, filepath.Dir(p.Config), p.Home} {
		_ = os.Remove(dir) // only if nothing else is in it
	}
	return nil, nil
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

// confirm asks a person; only a clear yes is one.
func (a *app) confirm(question string) bool {
	fmt.Fprintf(a.errOut, "loci: %s [y/N] ", question)
	answer, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
