package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"loci/core"
	"loci/core/approval"
	"loci/core/embedding"
	"loci/core/engine"
	"loci/core/finder"
	"loci/core/intake"
	"loci/core/jobs"
	"loci/core/permission"
	"loci/core/picture"
	"loci/core/service"
	"loci/core/spend"
	"loci/core/tracing"
	"loci/core/variables"
	"loci/daemon/api"
	"loci/daemon/commands"
	"loci/daemon/config"
	"loci/daemon/follow"
	"loci/daemon/hooks"
	"loci/daemon/mirror"
	"loci/daemon/permissions"
	"loci/daemon/remote"
	"loci/daemon/seal"
	"loci/daemon/server"
	"loci/daemon/trust"
	"loci/providers"
	"loci/providers/embed"
	"loci/providers/offline"
	"loci/sandbox"
	"loci/sandbox/egress"
	"loci/storage"
	"loci/storage/contents"
	"loci/storage/forget"
	"loci/tools"
	"loci/tools/custom"
	"loci/tools/custom/javascript"
	"loci/tools/custom/packages"
	"loci/tools/custom/python"
	"loci/tools/custom/run"
	"loci/tools/parsers"
	"loci/tools/web"
	"loci/tools/workspace"
	"loci/tools/workspace/masks"
	"loci/tools/workspace/shell"
)

// openParts opens the store and everything built on it, picks up unfinished runs, and lets requests in.
func (d *Daemon) openParts(ctx context.Context) {
	defer close(d.opened)
	began := time.Now()
	p, err := d.join(ctx)
	d.mu.Lock()
	d.parts, d.fault = p, err
	d.mu.Unlock()
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return // it was asked to stop before it had started
		}
		d.logger.ErrorContext(ctx, "the store does not open", slog.Any("error", err), slog.String("hint", core.HintOf(err)))
		return
	}
	d.logger.InfoContext(ctx, "the store is open", slog.Duration("dur", time.Since(began)))
	d.owned.Go(func() { d.maintain(ctx) })
}

// join opens the parts. If it fails, it also returns the parts that Close has to close.
func (d *Daemon) join(ctx context.Context) (parts, error) {
	var p parts
	var err error
	// The store outlives Run's context: Close closes it after the lanes have drained. The context only interrupts
	// opening it.
	opening, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, giveUp)()
	rows, err := catalogue(d.cfg.Settings)
	if err != nil {
		return p, err
	}
	p.sandbox = sandbox.New(sandbox.Config{
		Mode: sandbox.Mode(d.cfg.Settings.Sandbox), Scratch: filepath.Join(d.cfg.Paths.State, "jobs"), Ours: d.ownPorts,
	})
	p.store, err = storage.Open(opening, storage.Config{
		Dir: d.cfg.Paths.Data, Clock: d.cfg.Clock, Logger: d.logger,
	})
	if err != nil {
		return p, err
	}
	// Values of variables are taken out of traces, too.
	p.sealer = seal.New(seal.Config{Path: d.cfg.Paths.Key(), Home: d.cfg.Paths.Home, Keyring: d.keyring()})
	p.variables = variables.New(variables.Config{Store: p.store, Clock: d.cfg.Clock, Sealer: p.sealer})
	p.traces = tracing.New(tracing.Config{
		On: d.cfg.Settings.Traces, Store: p.store.Traces(), Veil: p.variables.Veil, Keep: d.cfg.Settings.TracesKeep,
		Bytes: int64(d.cfg.Settings.TracesMB) << 20, Clock: d.cfg.Clock, Logger: d.logger,
	})
	d.reach(&p, rows)
	p.ledger = spend.New(spend.Config{Store: p.store.Expenses(), Clock: d.cfg.Clock, Logger: d.logger})
	if err := p.ledger.Load(opening); err != nil {
		return p, err
	}
	p.models = p.ledger.Models(p.models)
	embedders := p.ledger.Embedders(p.reached)
	p.intake = intake.Start(
		ctx,
		intake.Config{Store: p.store, Parser: parsers.New(), Clock: d.cfg.Clock, Logger: d.logger, Mirrored: follow.Read},
	)
	p.embedding = embedding.Start(
		ctx,
		embedding.Config{Store: p.store, Embedders: embedders, Env: d.env, Logger: d.logger, After: p.intake.Nudge},
	)
	search := finder.New(finder.Config{
		Store: p.store, Known: embed.Knows, Common: embed.Common, Related: embed.Related, Embed: p.embedding.Query,
		Stalled: p.embedding.Stalled, Clock: d.cfg.Clock, Logger: d.logger,
	})
	p.jobs = jobs.New(jobs.Config{
		Clock: d.cfg.Clock, Logger: d.logger, Changed: func(c core.Change) { p.engine.Announce(c) },
		Ended:  func(ctx context.Context, j jobs.Job) { d.wake(ctx, &p, j) },
		Person: person{&p},
	})
	pictures := picture.New()
	written, settings := d.toolbox(&p), d.cfg.Settings
	held := contents.New(contents.Config{Dir: filepath.Join(d.cfg.Paths.Data, contents.Folder), Clock: d.cfg.Clock, Logger: d.logger})
	toolbox := d.mcpServers(&p, written)
	p.permissions, p.trust = d.permissions(), trust.New(d.cfg.Paths.Trust(), usable)
	p.engine = engine.New(engine.Config{
		Store:    p.store,
		Search:   search,
		Log:      p.store.Events(),
		Models:   p.models,
		Tools:    toolbox,
		Contents: held,
		Pictures: pictures,
		Clock:    d.cfg.Clock,
		Logger:   d.logger,
		Env:      d.env,

		Permissions: p.permissions,
		Trust:       p.trust,
		Hooks:       d.hooks(&p),
		Variables:   p.variables,
		Related:     embed.Related,

		DefaultModel: core.Handle(
			settings.Model,
		),
		MaxSteps:    settings.MaxSteps,
		Deadline:    settings.RunTimeout,
		Grace:       settings.ShutdownGrace,
		RecallWait:  d.cfg.RecallWait,
		AnswerLimit: settings.AnswerMB << 20,
	})
	beside := []string{d.cfg.Paths.Home, d.cfg.Paths.State, filepath.Dir(d.cfg.Paths.Config)}
	p.services = service.New(service.Config{
		Store: p.store, Search: search, Engine: p.engine, Models: p.models, Puller: p.reached, Tools: toolbox,
		Clock: d.cfg.Clock, Logger: d.logger, Env: d.env, Embedders: embedders, Embedding: p.embedding,
		DefaultModel: core.Handle(settings.Model),
		Accepted:     p.intake.Nudge, Restorer: workspace.Restorer{Contents: held}, Pictures: pictures, Remote: remote.New(nil),
		Searches: d.network().Searches,
		Maker:    written, Variables: p.variables, Hosts: p.hosts,
		Catalogue: p.reached, Sealer: p.sealer,
		Forgetter: forget.New(p.store, beside, mirror.History, held), Forgotten: func() { p.embedding.Forget(); p.jobs.Forget() },
	})
	if err := p.services.Providers.Load(ctx); err != nil { // before anything asks a model
		return p, err
	}
	p.approvals = approval.New(p.store, p.engine, d.cfg.Clock)
	p.mirrors = mirror.New(mirror.Config{Store: p.store, Services: p.services, Logger: d.logger})
	p.follower = follow.New(follow.Config{
		Store:    p.store,
		Services: p.services,
		Logger:   d.logger,
		Except:   []string{d.cfg.Paths.Home, d.cfg.Paths.Data, d.cfg.Paths.State, d.cfg.Paths.Run},
	})
	if err := d.sweepWrites(ctx, p.store); err != nil {
		return p, err
	}
	d.recoverLines(ctx, &p, held)
	if err := p.services.History.FinishRewinds(ctx); err != nil { // before runs go on in those folders
		d.logger.ErrorContext(ctx, "files of an interrupted rewind are not back", slog.Any("error", err))
	}
	if err := p.engine.Recover(ctx); err != nil {
		return p, err
	}
	p.mirrors.Start(ctx)
	return p, p.follower.Start(ctx)
}

// reach is how models are reached: those of the catalogue's providers, unless a test has its own.
func (d *Daemon) reach(p *parts, rows []providers.Row) {
	cfg := providers.Config{Rows: rows, Offline: offline.New(), Log: d.logger, Now: d.cfg.Clock, Comments: d.cfg.Settings.CommentsTime}
	cfg.Listings = filepath.Join(d.cfg.Paths.State, "models.json")
	if p.traces.On() {
		cfg.Traces = p.traces
	}
	p.reached = providers.New(cfg)
	if p.models = d.cfg.Models; p.models == nil {
		p.models = p.reached
	}
}

// toolbox is all tools there are.
func (d *Daemon) toolbox(p *parts) *custom.Box {
	path, _ := d.cfg.Environ("PATH") // without one, only the system's programs are found
	pythons := run.New(run.Config{Sandbox: p.sandbox, Start: python.Interpreter(path)})
	engines := run.New(run.Config{Sandbox: p.sandbox, Start: javascript.Engine(path)})
	p.runners = []*run.Runner{pythons, engines}
	p.packages = packages.New(packages.Config{
		Sandbox: p.sandbox, Dir: filepath.Join(d.cfg.Paths.State, "packages"), Python: python.Find(path), Node: javascript.FindNode(path),
		PyPI: d.cfg.Settings.PipIndex, Npm: d.cfg.Settings.NpmRegistry, Clock: d.cfg.Clock,
	})
	return custom.New(custom.Config{
		BuiltIn: tools.NewOn(d.machine(p.sandbox, p.jobs), d.network()), Store: p.store, Sandbox: p.sandbox,
		Folder: d.cfg.Paths.Tools(), Logger: d.logger, Python: pythons, JavaScript: engines, Packages: p.packages, Jobs: p.jobs,
	})
}

// hosts are those that rules open everywhere, for tools that are run outside of a conversation.
func (p *parts) hosts() (core.HostRules, error) {
	set, err := p.permissions.Rules("")
	if err != nil {
		return nil, err
	}
	return set.Hosts(permission.Place{}), nil
}

// permissions are the rules that people wrote.
func (d *Daemon) permissions() *permissions.Files {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // rules that begin with ~/ count nowhere
	}
	return permissions.New(permissions.Config{
		Own: d.cfg.Paths.Permissions(), System: config.SystemPermissions(), Home: home, Ours: d.ours(),
	})
}

// usable says what is wrong with what a folder brings, so that it could not act as it says.
func usable(it *core.FolderItem, text string) error {
	if it.Kind != core.ItemHooks {
		return nil
	}
	return hooks.Check(text, it.Path)
}

// hooks are the person's own programs, which get what a program needs to run, and no key; and those of trusted folders, which
// are confined as shell lines are.
func (d *Daemon) hooks(p *parts) *hooks.Hooks {
	cfg := hooks.Config{Path: d.cfg.Paths.Hooks()}
	cfg.Home, _ = d.cfg.Environ("HOME")
	for _, name := range MachineVariables() {
		if value, ok := d.cfg.Environ(name); ok {
			cfg.Environ = append(cfg.Environ, name+"="+value)
		}
	}
	known, lines := p.trust, shell.New(d.machine(p.sandbox, p.jobs))
	cfg.Folder = func(folder string) []byte {
		if text, ok := known.Trusted(folder, core.FolderHooks); ok {
			return []byte(text)
		}
		return nil
	}
	rules := p.permissions
	cfg.Cage = func(ctx context.Context, h hooks.Caged) (core.JobResult, error) {
		set, err := rules.Rules(h.Folder)
		if err != nil {
			return core.JobResult{}, err
		}
		at := permission.Place{Mode: h.Mode, Root: h.Folder, Dir: h.Folder, Home: rules.Home(), Real: permission.Real}
		w := core.WorkspaceEnv{Path: h.Folder, Dir: h.Folder, Mode: h.Mode}
		w.Paths = set.Paths(permission.Call{Does: permission.DoesShell}, at)
		return lines.Hook(ctx, w, h.Command, h.Stdin, h.Limit)
	}
	return hooks.New(cfg)
}

// MachineVariables returns the names of the variables that the person's programs need to run, the home among them. The daemon has
// those with which it was started.
func MachineVariables() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"}
}

// AgentVariables returns the names of the variables by which ssh and gpg find the person's agents for keys, which only a line that
// the person lets out of the sandbox gets.
func AgentVariables() []string { return []string{"SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "GNUPGHOME"} }

// ours are the folders with what is Loci's own.
func (d *Daemon) ours() []string {
	p := d.cfg.Paths
	named := []string{p.Home, p.Data, p.State, p.Run, filepath.Dir(p.Config), filepath.Dir(p.Socket)}
	all := slices.Clone(named)
	for _, path := range named {
		all = append(all, permission.Real(path))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// machine is what shell lines need to know of it.
func (d *Daemon) machine(confined core.Sandbox, lines *jobs.Registry) shell.Config {
	paths := d.cfg.Paths
	home, _ := d.cfg.Environ("HOME") // without one, lines have no toolchains of the person's
	return shell.Config{
		Sandbox: confined, Jobs: lines, Caches: filepath.Join(paths.State, "caches"), Home: home, Hidden: d.ours(),
		Watch: d.watcher().Watch, Environ: d.cfg.Environ, Off: sandbox.Mode(d.cfg.Settings.Sandbox) == sandbox.Off,
	}
}

// network is what tools that leave the machine need to know of it.
func (d *Daemon) network() web.Config {
	return web.Config{
		Network: egress.Machine{}, Parser: parsers.New(), Agent: "loci/" + d.cfg.Version, SearXNG: d.cfg.Settings.SearXNG,
	}
}

// ProviderVariables returns the names of the variables that tell how to reach a provider or a search service, those that the
// settings name among them. A client passes the ones it has to the daemon; a daemon that a command starts on its own inherits none.
func ProviderVariables(c config.Config) []string {
	rows, err := catalogue(c)
	if err != nil {
		rows = providers.Rows() // no daemon starts with such settings, and the one that runs had others
	}
	return append(providers.Variables(rows), web.Variables()...)
}

// CheckProviders says what is wrong with the settings of providers and of the model, with which a daemon would not start.
func CheckProviders(c config.Config) error {
	_, err := catalogue(c)
	return err
}

// catalogue is the providers as the settings want them, with that of the default model among them.
func catalogue(c config.Config) ([]providers.Row, error) {
	rows, err := providers.Configure(providers.Rows(), c.Providers)
	if err != nil || c.Model == "" {
		return rows, err
	}
	if err := providers.Known(rows, core.Handle(c.Model)); err != nil {
		return nil, core.E(core.Invalid, "model: %w", err).WithHint("%s", core.HintOf(err))
	}
	return rows, nil
}

// env looks up one of the daemon's own provider variables.
func (d *Daemon) env(name string) (core.Secret, bool) {
	v, ok := d.cfg.Environ(name)
	return core.Secret(v), ok && v != ""
}

// awaitParts waits until the store is open, or returns the error that kept it from opening.
func (d *Daemon) awaitParts(ctx context.Context) (server.Parts, error) {
	select {
	case <-d.opened:
	case <-ctx.Done():
		return server.Parts{}, core.E(core.Unavailable, "the store is not open yet: %w", context.Cause(ctx)).
			WithHint("try again in a moment; loci daemon logs says how far it is")
	}
	if err := d.openError(); err != nil {
		kind := core.KindOf(err)
		if kind == core.Internal {
			kind = core.Unavailable
		}
		return server.Parts{}, core.E(kind, "the store does not open: %w", err).WithHint("%s", orDoctor(core.HintOf(err)))
	}
	p := d.current()
	return server.Parts{
		Services: p.services, Engine: p.engine, Undo: p.services.Undo, Approvals: p.approvals, Mirrors: p.mirrors, Follower: p.follower,
		Permissions: p.permissions, Trust: p.trust, Commands: d.commands(p.trust), Closes: closes, Names: workspace.Names,
		Jobs: p.jobs, Variables: p.variables, Ledger: p.ledger, Traces: p.traces, MCP: p.servers,
	}, nil
}

// commands are those that people wrote for the chat.
func (d *Daemon) commands(known *trust.Trust) server.Commands {
	written := commands.New(d.cfg.Paths.Commands(), known.Below)
	return func(folder string) (out []api.Command) {
		for _, c := range written.List(folder) {
			out = append(out, api.Command{
				Name: c.Name, Description: c.Description, ArgumentHint: c.Hint, Text: c.Text, Path: c.Path, Brought: c.Brought,
			})
		}
		return out
	}
}

// closes finds what rules close to a shell line, as the tool does before it runs one.
func closes(ctx context.Context, folder string, rules core.PathRules) (hidden, readOnly []string, err error) {
	about := rules.Of(folder)
	if about == nil {
		return nil, nil, nil
	}
	found, err := masks.Find(ctx, folder, about)
	if found.AllHidden {
		found.Hidden = []string{"."}
	}
	if found.AllReadOnly {
		found.ReadOnly = []string{"."}
	}
	return found.Hidden, found.ReadOnly, err
}

func orDoctor(hint string) string {
	if hint == "" {
		return "loci doctor says more"
	}
	return hint
}

// BusVariable is the variable that says how the session of a desktop is reached, whose keyring keeps the key of secrets.
const BusVariable = "DBUS_SESSION_BUS_ADDRESS"

// keyring is that of the desktop's session in which the daemon was started.
func (d *Daemon) keyring() seal.Keyring {
	bus, _ := d.cfg.Environ(BusVariable)
	return seal.Desktop(bus)
}
