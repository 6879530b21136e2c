package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loci/daemon"
	"loci/daemon/api"
	"loci/daemon/client"
	"loci/daemon/config"
)

const (
	answerWithin = 3 * time.Second  // a healthy daemon reports its status at once
	stopWithin   = 15 * time.Second // a daemon promises to exit within ten
	termWithin   = 10 * time.Second // and one that doesn't answer gets this long before it is killed
	followLog    = 200 * time.Millisecond
)

// daemonCommand is `loci daemon`.
func (a *app) daemonCommand() *cobra.Command {
	return parent("daemon", "Run, start, stop and look at the daemon",
		a.daemonStatus(), a.daemonRun(), a.daemonStart(), a.daemonStop(), a.daemonRestart(), a.daemonLogs())
}

// daemonFlags are the daemon settings that can be set on the command line.
type daemonFlags struct {
	listen, logLevel string
}

func (f *daemonFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.listen, "listen", "", "also listen on this loopback `ADDRESS`, like 127.0.0.1:8283")
	c.Flags().StringVar(&f.logLevel, "log-level", "", "debug, info, warn or error")
}

// keys maps the flags to configuration keys.
func (f *daemonFlags) keys() map[string]string {
	keys := map[string]string{"listen": f.listen, "log_level": f.logLevel}
	maps.DeleteFunc(keys, func(_, v string) bool { return v == "" })
	return keys
}

// args are the flags to pass to a daemon we start.
func (f *daemonFlags) args() []string {
	args := []string{"daemon", "run"}
	if f.listen != "" {
		args = append(args, "--listen", f.listen)
	}
	if f.logLevel != "" {
		args = append(args, "--log-level", f.logLevel)
	}
	return args
}

func (a *app) daemonRun() *cobra.Command {
	var f daemonFlags
	c := &cobra.Command{
		Use: "run", Short: "Run the daemon in the foreground", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.paths()
			if err != nil {
				return err
			}
			cfg, err := a.daemonConfig(p, f.keys())
			if err != nil {
				return err
			}
			d, err := daemon.Open(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			return errors.Join(d.Run(cmd.Context()), d.Close())
		},
	}
	f.add(c)
	return c
}

// daemonConfig is the configuration of a daemon that runs in this process.
func (a *app) daemonConfig(p config.Paths, flags map[string]string) (daemon.Config, error) {
	l, err := config.Load(p.Config, config.OSEnv, flags)
	if err != nil {
		return daemon.Config{}, invalid("the configuration is wrong: %s", err).withHint("loci config; loci daemon run --help")
	}
	variables := slices.Concat(
		daemon.ProviderVariables(l.Config), daemon.MachineVariables(), daemon.AgentVariables(), []string{daemon.BusVariable},
	)
	cfg := daemon.Config{
		Paths:    p,
		Settings: l.Config,
		Version:  versionText(),
		Notify:   a.note,
		Environ:  captured(config.ProviderEnv(config.OSEnv, variables)),
	}
	if f, ok := a.errOut.(*os.File); ok && sameFile(f, p.Log) {
		cfg.Notify = nil // started by a command: the log already says the same
	}
	return cfg, nil
}

// captured looks up variables as they were when the daemon started.
func captured(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func sameFile(f *os.File, path string) bool {
	one, err := f.Stat()
	if err != nil {
		return false
	}
	other, err := os.Stat(path)
	return err == nil && os.SameFile(one, other)
}

func (a *app) daemonStart() *cobra.Command {
	var f daemonFlags
	c := &cobra.Command{
		Use: "start", Short: "Start the daemon with the variables of this shell", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.startDaemon(cmd.Context(), &f, nil) },
	}
	f.add(c)
	return c
}

// startDaemon starts the daemon. Because a person started it explicitly, it inherits this shell's provider
// variables. If stop is set, the running daemon is stopped first.
func (a *app) startDaemon(ctx context.Context, f *daemonFlags, stop func(context.Context) error) error {
	p, err := a.paths()
	if err != nil {
		return err
	}
	l, err := config.Load(p.Config, config.OSEnv, f.keys())
	if err != nil {
		return invalid("the configuration is wrong: %s", err).withHint("loci config; loci daemon start --help")
	}
	if err := daemon.CheckListen(l.Listen); err != nil { // before starting a daemon that would exit at once
		return err
	}
	o, err := a.ensureOptions(p, os.Environ())
	if err != nil {
		return err
	}
	o.Args = f.args()
	var found client.RunningDaemon
	if stop != nil {
		found, err = client.Restart(ctx, *o, stop)
	} else {
		found, err = client.Ensure(ctx, *o)
	}
	if errors.Is(err, client.ErrSilent) {
		return a.hung(ctx, p)
	}
	if err != nil {
		return err
	}
	if found.Started {
		if found.Status.Listen != "" {
			a.note(daemon.PortLine(found.Status.Listen, l.Token != ""))
		}
		return a.report(found.Status, "the daemon is running (pid %d, %s)", found.Status.PID, found.Socket)
	}
	a.noteSettings(found.Status)
	a.noteListen(f.listen, found.Status.Listen)
	return a.report(found.Status, "the daemon was running already (pid %d, %s)", found.Status.PID, found.Socket)
}

func (a *app) daemonStop() *cobra.Command {
	return &cobra.Command{
		Use: "stop", Short: "Stop the daemon; runs get a moment to finish", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			stopped, err := a.stopDaemon(cmd.Context(), false)
			if err != nil {
				return err
			}
			if !stopped {
				return a.report(map[string]bool{"stopped": false, "running": false}, "the daemon was not running")
			}
			return a.report(map[string]bool{"stopped": true, "running": false}, "the daemon has stopped")
		},
	}
}

// stopDaemon stops the daemon and waits until it is gone. It returns false if none was running.
func (a *app) stopDaemon(ctx context.Context, onlyIdle bool) (bool, error) {
	c, err := a.lookForDaemon(ctx)
	if c == nil || err != nil {
		return false, err
	}
	p, err := a.paths()
	if err != nil {
		return false, err
	}
	asking, answered := context.WithTimeout(ctx, a.patience.answer)
	err = c.Shutdown(asking, onlyIdle)
	answered()
	switch kind := client.KindOf(err); {
	case kind == api.KindTimeout && ctx.Err() == nil && onlyIdle:
		return false, a.hung(ctx, p)
	case kind == api.KindTimeout && ctx.Err() == nil:
		return true, a.endHung(ctx, p, "does not answer")
	case err != nil && kind != api.KindUnavailable: // it may have exited before answering
		return false, err
	}
	waiting, stop := context.WithTimeout(ctx, a.patience.stop)
	defer stop()
	if err := daemon.WaitStopped(waiting, p); err == nil || ctx.Err() != nil {
		return err == nil, because(ctx, err)
	}
	return true, a.endHung(ctx, p, "does not end")
}

// hung says which process holds the home without answering.
func (a *app) hung(ctx context.Context, p config.Paths) error {
	f := &fault{kind: api.KindTimeout, msg: "the daemon holds the home and does not answer"}
	if pid, err := daemon.Holder(ctx, p); err == nil && pid > 0 {
		f.msg = fmt.Sprintf("the daemon, pid %d, holds the home and does not answer", pid)
	}
	return f.withHint("loci daemon stop ends it, forcibly if necessary; loci daemon logs may say what happened")
}

// endHung ends a daemon that doesn't stop by itself.
func (a *app) endHung(ctx context.Context, p config.Paths, why string) error {
	a.note("the daemon " + why + "; it is told to end by the system")
	ctx, stop := context.WithTimeoutCause(
		ctx,
		a.patience.term+a.patience.stop,
		(&fault{kind: api.KindTimeout, msg: "the daemon does not stop"}).
			withHint("look at it with: loci daemon status; loci daemon logs"),
	)
	defer stop()
	if err := daemon.MarkStopped(p); err != nil {
		return err
	}
	return because(ctx, daemon.EndHolder(ctx, p, a.patience.term, func(pid int) {
		a.note(
			fmt.Sprintf("pid %d did not end in %s and is killed; what it was doing goes on from its last saved step", pid, a.patience.term),
		)
	}))
}

// lookForDaemon returns a client of the running daemon, or nil. It starts nothing.
func (a *app) lookForDaemon(ctx context.Context) (*client.Client, error) {
	p, err := a.paths()
	if err != nil {
		return nil, err
	}
	socket, err := daemon.FindSocket(ctx, p)
	if err != nil || socket == "" {
		return nil, err
	}
	return client.New(client.Options{Socket: socket, Version: versionText()}), nil
}

func (a *app) daemonRestart() *cobra.Command {
	var f daemonFlags
	c := &cobra.Command{
		Use: "restart", Short: "Stop the daemon, then start it", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.startDaemon(cmd.Context(), &f, func(ctx context.Context) error {
				_, err := a.stopDaemon(ctx, false)
				return err
			})
		},
	}
	f.add(c)
	return c
}

// daemonState is the output of `loci daemon status --json`.
type daemonState struct {
	Running bool `json:"running"`
	api.Status
}

func (a *app) daemonStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Say whether the daemon is running, and how", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := a.lookForDaemon(ctx)
			if err != nil {
				return err
			}
			if c == nil {
				return a.notRunning()
			}
			asking, answered := context.WithTimeout(ctx, a.patience.answer)
			s, err := c.Status(asking)
			answered()
			if client.KindOf(err) == api.KindTimeout && ctx.Err() == nil {
				p, err := a.paths()
				if err != nil {
					return err
				}
				return a.hung(ctx, p)
			}
			if err != nil {
				return err
			}
			if s.Version != versionText() {
				a.note(fmt.Sprintf("the daemon is version %s, this is %s; loci daemon restart replaces it", s.Version, versionText()))
			}
			a.noteSettings(s)
			if a.json {
				return writeJSON(a.out, daemonState{Running: true, Status: s})
			}
			t := table{head: []string{"DAEMON", "running"}}
			t.add("pid", fmt.Sprint(s.PID))
			t.add("version", s.Version)
			t.add("ready", readyText(s))
			t.add("home", s.Home)
			t.add("socket", s.Socket)
			if s.Listen != "" {
				t.add("listens on", s.Listen)
			}
			t.add("runs", fmt.Sprint(s.Runs))
			t.add("clients", fmt.Sprint(s.Clients))
			t.add("since", local(s.StartedAt.Time))
			if text := embeddingText(s.Embedding); text != "" {
				t.add("embedding", text)
			}
			return t.write(a.out)
		},
	}
}

// noteListen says if a running daemon doesn't listen where it was told to. Port 0 is any port.
func (a *app) noteListen(wanted, on string) {
	if wanted != "" && wanted != on && (on == "" || !strings.HasSuffix(wanted, ":0")) {
		a.note("the daemon does not listen on " + wanted + ": loci daemon restart --listen " + wanted)
	}
}

// noteSettings says if the model that the shell or the configuration names now differs from the one the daemon
// started with.
func (a *app) noteSettings(s api.Status) {
	if line := a.otherSettings(s); line != "" {
		a.note(line)
	}
}

// otherSettings is the text of noteSettings, or empty if the settings are the same.
func (a *app) otherSettings(s api.Status) string {
	cfg, err := a.config()
	if err != nil || cfg.Model == s.Model {
		return ""
	}
	return fmt.Sprintf(
		"the daemon runs with other settings (model: %s, here: %s): loci daemon restart",
		cmp.Or(s.Model, "none"),
		cmp.Or(cfg.Model, "none"),
	)
}

func readyText(s api.Status) string {
	switch {
	case s.Error != "":
		return "no: " + s.Error
	case s.Ready:
		return "yes"
	}
	return "not yet: the store is being opened"
}

// embeddingText says what is waiting for its vector and why; empty if nothing is.
func embeddingText(s *api.EmbeddingStatus) string {
	stalled := func(t api.EmbeddingTrouble) bool { return t.Stalled != nil }
	if s == nil || s.Waiting == 0 && s.Moving == 0 && !slices.ContainsFunc(s.Troubles, stalled) {
		return ""
	}
	var parts []string
	if s.Waiting > 0 {
		parts = append(parts, counted(s.Waiting, "text")+" waiting")
	}
	if s.Moving > 0 {
		parts = append(parts, counted(s.Moving, "archive")+" changing models")
	}
	for _, t := range s.Troubles {
		if stalled(t) {
			parts = append(parts, fmt.Sprintf("%s has stalled: it has not answered since %s", t.Model, moment(t.Stalled)))
			continue
		}
		parts = append(
			parts,
			fmt.Sprintf("%s is asked again at %s: %s", t.Model, t.Next.Local().Format(time.TimeOnly), clip(oneLine(t.Error), 160)),
		)
	}
	return strings.Join(parts, "; ")
}

// notRunning reports, as a value and as an error, that no daemon is running.
func (a *app) notRunning() error {
	p, err := a.paths()
	if err != nil {
		return err
	}
	err = (&fault{kind: api.KindUnavailable, msg: "the daemon is not running"}).withHint(
		"loci daemon start; any other command starts it too",
	)
	if !a.json {
		return err
	}
	state := struct {
		Running bool   `json:"running"`
		Version string `json:"version"`
		Socket  string `json:"socket"`
		Home    string `json:"home"`
		Ready   bool   `json:"ready"`
	}{Version: versionText(), Socket: p.Socket, Home: p.Home}
	return errors.Join(err, writeJSON(a.out, state))
}
