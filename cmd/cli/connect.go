package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"loci/daemon"
	"loci/daemon/api"
	"loci/daemon/client"
	"loci/daemon/config"
)

// version is set by release builds.
var version = ""

// versionText names this build: by its release, or the commit it was built from, or as a development build.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return strings.TrimPrefix(v, "v")
	}
	return "dev"
}

// paths says where everything is.
func (a *app) paths() (config.Paths, error) {
	if a.places == nil {
		p, err := config.FindPaths(config.OSEnv)
		if err != nil {
			return p, invalid("%s", err)
		}
		a.places = &p
	}
	return *a.places, nil
}

// config reads the configuration.
func (a *app) config() (*config.Settings, error) {
	if a.loaded == nil {
		p, err := a.paths()
		if err != nil {
			return nil, err
		}
		l, err := config.Load(p.Config, config.OSEnv, nil)
		if err != nil {
			return nil, invalid("the configuration is wrong: %s", err).withHint(checkConfig)
		}
		a.loaded = &l
	}
	return a.loaded, nil
}

// checkedConfig is the configuration, with the settings of providers checked as a daemon does when it starts.
func (a *app) checkedConfig() (*config.Settings, error) {
	l, err := a.config()
	if err != nil {
		return nil, err
	}
	if err := daemon.CheckProviders(l.Config); err != nil {
		_, hint := daemon.Explain(err)
		return nil, invalid("the configuration is wrong: %s", err).withHint("%s", cmp.Or(hint, checkConfig))
	}
	return l, nil
}

// checkConfig is the hint to an error in the configuration that has none of its own.
const checkConfig = "fix it, then check it with: loci config"

// options say how to reach the daemon, and how to start it unless starting is disabled.
func (a *app) options() (client.Options, error) {
	p, err := a.paths()
	if err != nil {
		return client.Options{}, err
	}
	cfg, err := a.config()
	if err != nil {
		return client.Options{}, err
	}
	o := client.Options{Socket: p.Socket, Version: versionText(), Notify: a.note, Patience: a.patience.silence}
	if a.noStart || cfg.NoStart {
		return o, nil
	}
	// A daemon started by a command doesn't inherit the provider variables: they belong to the command's session.
	o.Ensure, err = a.ensureOptions(p, config.DaemonEnviron(os.Environ(), daemon.ProviderVariables(cfg.Config)))
	return o, err
}

func (a *app) ensureOptions(p config.Paths, environ []string) (*client.EnsureOptions, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return &client.EnsureOptions{
		Exe: exe, Environ: p.Environ(environ), Socket: p.Socket, Lock: p.Lock, StartLock: p.StartLock, Stopped: p.Stopped, Log: p.Log,
		Version: versionText(), Notify: a.note,
	}, nil
}

// note writes one line to standard error.
func (a *app) note(line string) { say(a.errOut, oneLine(line)) }

// verbose says whether the person wants to hear about routine events.
func (a *app) verbose() bool {
	l, err := a.config()
	return err == nil && l.LogLevel == "debug"
}

// connect makes a client. Its first call reaches the daemon, starting it if it isn't running.
func (a *app) connect(context.Context) (*client.Client, error) {
	o, err := a.options()
	if err != nil {
		return nil, err
	}
	return client.New(o), nil
}

// register tells the daemon who is asking, from which folder and with which keys.
func (a *app) register(ctx context.Context, c *client.Client, kind string, open *api.Open) (api.Session, error) {
	l, err := a.config()
	if err != nil {
		return api.Session{}, err
	}
	return a.registerAs(ctx, c, who(kind, l, open))
}

// registerAs is register for a client that says more about itself.
func (a *app) registerAs(ctx context.Context, c *client.Client, who api.Client) (api.Session, error) {
	s, err := c.Register(ctx, who)
	if err != nil {
		return s, err
	}
	a.noteSettings(s.Status)
	return s, nil
}

// who describes this client to the daemon.
func who(kind string, l *config.Settings, open *api.Open) api.Client {
	return api.Client{
		Kind: kind, PID: os.Getpid(), Folder: workingFolder(), Zone: zoneName(config.OSEnv),
		Env: config.ProviderEnv(config.OSEnv, daemon.ProviderVariables(l.Config)), Open: open,
	}
}

// workingFolder is the current directory, or empty if it can't be determined.
func workingFolder() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// zoneName is the IANA name of this machine's time zone, or empty if there is none.
func zoneName(lookup config.Env) string {
	if tz, ok := lookup("TZ"); ok {
		return knownZone(strings.TrimPrefix(tz, ":"))
	}
	target, err := filepath.EvalSymlinks("/etc/localtime")
	if err != nil {
		return ""
	}
	if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
		return knownZone(name)
	}
	return ""
}

func knownZone(name string) string {
	if name == "" {
		return "UTC"
	}
	if _, err := time.LoadLocation(name); err != nil || filepath.IsAbs(name) {
		return ""
	}
	return name
}
