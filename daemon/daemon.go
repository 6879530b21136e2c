// Package daemon wires everything together: it opens the store, the engine, the services and the server, keeps them
// running, and shuts them down in order. It is the only package below the terminal that knows all the others.
//
// Promises: one daemon per home, enforced by a lock that dies with the process; the socket listens before the store
// is open, and requests wait for the store until their own deadline; unfinished runs are picked up before the first
// request is answered; Run returns within ten seconds of its context ending; the log contains no secrets and no
// conversation text.
//
// Layer 5. A picture of what it wires is in docs/architecture.md, "The house"; the order of a shutdown in "Rules of
// concurrency".
package daemon

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"loci/core"
	"loci/core/approval"
	"loci/core/embedding"
	"loci/core/engine"
	"loci/core/intake"
	"loci/core/jobs"
	"loci/core/mcpservers"
	"loci/core/service"
	"loci/core/spend"
	"loci/core/tracing"
	"loci/core/variables"
	"loci/daemon/api"
	"loci/daemon/config"
	"loci/daemon/follow"
	"loci/daemon/ipc"
	"loci/daemon/mirror"
	"loci/daemon/permissions"
	"loci/daemon/seal"
	"loci/daemon/server"
	"loci/daemon/trust"
	"loci/providers"
	"loci/sandbox"
	"loci/storage"
	"loci/tools/custom/packages"
	"loci/tools/custom/run"
	"loci/tools/mcpclient"
)

// Config is what a daemon needs. Paths and Settings are required.
type Config struct {
	Paths    config.Paths
	Settings config.Config
	Version  string
	Environ  func(name string) (string, bool) // ProviderVariables, MachineVariables and their kin as they were at startup; nil: none
	Clock    func() time.Time                 // nil: time.Now
	Notify   func(line string)                // gets a line to show to the person at the terminal; nil: dropped
	Linger   time.Duration                    // how long a daemon whose store won't open stays up to say why
	Models   core.Models                      // nil: the providers

	RecallWait time.Duration // how long a turn waits for recall; 0: the engine's default

	heirs time.Duration // 0: waitForHeirs
}

// Shutdown timeouts. Together they stay under the promised ten seconds.
const (
	endRuns    = 7 * time.Second // runs finish or are cancelled, lanes drain
	endStreams = time.Second     // responses in progress are written out
	endAnswers = endStreams / 2  // of that, the responses of runs, which end by themselves
	waitForOld = 12 * time.Second

	// waitForHeirs is how long a socket that accepts connections may still belong to a killed daemon: a child that it
	// was just starting holds the socket and the lock until it executes its own program.
	waitForHeirs = time.Second
)

// Daemon is one running daemon. Make it with Open, then Run it once, then Close it.
type Daemon struct {
	cfg     Config
	logger  *slog.Logger
	level   *slog.LevelVar
	logFile io.Closer
	lock    *ipc.Lock
	socket  net.Listener
	tcp     net.Listener // nil without --listen
	started time.Time

	stop     chan struct{} // closed when somebody requests shutdown
	stopOnce sync.Once
	opened   chan struct{} // closed when the store is open, or has failed to open
	owned    sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	parts parts
	fault error
}

// parts are set once the store is open.
type parts struct {
	reached   *providers.Providers
	store     *storage.Store
	models    core.Models
	ledger    *spend.Ledger
	traces    *tracing.Recorder
	embedding *embedding.Worker
	intake    *intake.Worker
	engine    *engine.Engine
	services  *service.Services
	approvals *approval.Approvals
	mirrors   *mirror.Mirrors
	follower  *follow.Follower

	permissions *permissions.Files
	trust       *trust.Trust
	sandbox     *sandbox.Local
	runners     []*run.Runner // of tools that people wrote
	packages    *packages.Store
	mcp         *mcpclient.Manager
	servers     *mcpservers.Servers
	jobs        *jobs.Registry
	variables   *variables.Variables
	sealer      *seal.Sealer
}

// Open takes the home's lock and starts listening. It neither answers requests nor opens the store yet. If the home
// already has a running daemon, Open returns a Conflict.
func Open(ctx context.Context, cfg Config) (*Daemon, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Environ == nil {
		cfg.Environ = func(string) (string, bool) { return "", false }
	}
	if err := CheckListen(cfg.Settings.Listen); err != nil {
		return nil, err
	}
	d := &Daemon{cfg: cfg, started: time.Now(), stop: make(chan struct{}), opened: make(chan struct{})}
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Daemon) open(ctx context.Context) error {
	p := d.cfg.Paths
	for _, dir := range []string{p.Data, p.State, p.Run} {
		if err := ipc.PrivateDir(dir); err != nil {
			return core.E(core.Forbidden, "prepare the home: %w", err).WithHint("make %s a folder of your own with mode 0700", dir)
		}
	}
	var err error
	if d.lock, err = takeLock(ctx, p, cmp.Or(d.cfg.heirs, waitForHeirs)); err != nil {
		return err
	}
	if err := sweepTrials(p); err != nil {
		return err
	}
	if err := os.Remove(p.Stopped); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return core.E(core.Internal, "%w", err).WithHint("check that the home can be written: loci doctor")
	}
	d.logger, d.level, d.logFile = openLog(p.Log, d.cfg.Settings)
	if d.socket, err = ipc.Listen(ctx, p.Socket); err != nil {
		return core.E(core.Unavailable, "listen on the socket: %w", err).WithHint("loci paths shows where it is; loci doctor says more")
	}
	if err := d.lock.Note(p.Socket); err != nil {
		return core.E(core.Internal, "%w", err)
	}
	return d.listenTCP(ctx)
}

// takeLock takes the home's lock. If a daemon that is shutting down still holds it, takeLock waits.
func takeLock(ctx context.Context, p config.Paths, heirs time.Duration) (*ipc.Lock, error) {
	lock, err := ipc.TryLock(p.Lock)
	if !errors.Is(err, ipc.ErrLocked) {
		return lock, lockError(err)
	}
	socket, findErr := FindSocket(ctx, p)
	if findErr != nil {
		return nil, findErr
	}
	if socket != "" {
		short, cancel := context.WithTimeout(ctx, heirs)
		defer cancel()
		if lock, err = ipc.WaitLock(short, p.Lock); err == nil {
			return lock, nil
		}
		return nil, core.E(core.Conflict, "a daemon is running for this home already, on %s", socket).
			WithHint("loci daemon status, loci daemon restart")
	}
	ctx, cancel := context.WithTimeout(ctx, waitForOld)
	defer cancel()
	if lock, err = ipc.WaitLock(ctx, p.Lock); err != nil {
		return nil, core.E(core.Conflict, "another daemon holds this home but does not answer: %w", err).
			WithHint("end it, then try again; the lock is %s", p.Lock)
	}
	return lock, nil
}

func lockError(err error) error {
	if err == nil {
		return nil
	}
	return core.E(core.Internal, "%w", err).WithHint("check that the home can be written: loci doctor")
}

// Run serves until ctx ends or a client requests shutdown, then shuts everything down in order. If the store failed
// to open, Run returns that error.
func (d *Daemon) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.owned.Go(func() { d.openParts(ctx) })

	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer endRequests()
	srv := d.httpServer(requests)
	d.logger.InfoContext(
		ctx,
		"daemon started",
		slog.Int("pid", os.Getpid()),
		slog.String("version", d.cfg.Version),
		slog.String("socket", d.cfg.Paths.Socket),
	)
	d.serve(ctx, srv)
	d.notify("the daemon listens on " + d.cfg.Paths.Socket)

	d.wait(ctx)
	if ctx.Err() != nil { // a signal: this is a requested shutdown too
		d.markStopped()
	}
	began := time.Now()
	d.logger.InfoContext(ctx, "daemon is stopping")
	cancel()
	d.takeDown(srv, endRequests)
	d.owned.Wait()
	d.logger.InfoContext(ctx, "daemon stopped", slog.Duration("dur", time.Since(began)))
	return d.openError()
}

// wait returns when it is time to shut down.
func (d *Daemon) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-d.stop:
		return
	case <-d.opened:
	}
	var lingered <-chan time.Time
	if err := d.openError(); err != nil {
		timer := time.NewTimer(d.cfg.Linger)
		defer timer.Stop()
		lingered = timer.C
	}
	select {
	case <-ctx.Done():
	case <-d.stop:
	case <-lingered:
	}
}

// serve starts answering on all listeners.
func (d *Daemon) serve(ctx context.Context, srv *http.Server) {
	for _, l := range []net.Listener{d.socket, d.tcp} {
		if l == nil {
			continue
		}
		d.owned.Go(func() {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				d.logger.ErrorContext(ctx, "a listener failed", slog.String("address", l.Addr().String()), slog.Any("error", err))
				d.requestStop()
			}
		})
	}
}

func (d *Daemon) httpServer(requests context.Context) *http.Server {
	handler := server.New(server.Config{
		Open: d.awaitParts, Host: d, Version: d.cfg.Version, Logger: d.logger,
		Token: core.Secret(d.cfg.Settings.Token), Origins: d.cfg.Settings.Origins, Clock: d.cfg.Clock,
		MCP: d.mcp(),
	})
	return &http.Server{
		Handler: handler, ConnContext: server.ConnContext,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(d.logger.Handler(), slog.LevelWarn),
	}
}

// takeDown shuts down in order: no new connections, runs finish or are cancelled, their streams end, the store
// closes.
func (d *Daemon) takeDown(srv *http.Server, endRequests func()) {
	ctx, cancel := context.WithTimeout(context.Background(), endRuns+endStreams)
	defer cancel()
	written := make(chan struct{}) // every response is
	var closing sync.WaitGroup
	closing.Go(func() {
		defer close(written)
		if err := srv.Shutdown(ctx); err != nil {
			d.logger.WarnContext(ctx, "connections were cut", slog.Any("error", err))
			_ = srv.Close() // nobody is left to report the error to
		}
	})
	<-d.opened
	p := d.current()
	if p.engine != nil {
		runs, endOfRuns := context.WithTimeout(ctx, endRuns)
		if err := p.engine.Shutdown(runs); err != nil {
			d.logger.WarnContext(ctx, "runs did not end in time", slog.Any("error", err))
		}
		endOfRuns()
	}
	select { // whoever follows a run that has just ended still reads its end
	case <-written:
	case <-time.After(endAnswers):
	}
	endRequests()
	closing.Wait()
	if p.jobs != nil {
		p.jobs.Close()
	}
	if p.mcp != nil {
		p.mcp.Close()
	}
	for _, r := range p.runners {
		r.Close()
	}
	if p.packages != nil {
		p.packages.Close()
	}
	if p.sandbox != nil {
		p.sandbox.Close()
	}
	if p.mirrors != nil {
		p.mirrors.Close()
	}
	if p.follower != nil {
		p.follower.Close()
	}
	if p.services != nil {
		p.services.Close()
	}
	if p.intake != nil {
		p.intake.Close()
	}
	if p.embedding != nil {
		p.embedding.Close()
	}
	if p.reached != nil {
		p.reached.Close()
	}
}

// Close releases the home. Call it after Run has returned.
func (d *Daemon) Close() error {
	d.owned.Wait()
	var errs []error
	if store := d.current().store; store != nil {
		errs = append(errs, store.Close())
	}
	for _, l := range []net.Listener{d.socket, d.tcp} {
		if l == nil {
			continue
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if d.logFile != nil {
		errs = append(errs, d.logFile.Close())
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Unlock())
	}
	return errors.Join(errs...)
}

func (d *Daemon) requestStop() { d.stopOnce.Do(func() { close(d.stop) }) }

func (d *Daemon) current() parts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.parts
}

func (d *Daemon) openError() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fault
}

func (d *Daemon) notify(line string) {
	if d.cfg.Notify != nil {
		d.cfg.Notify(line)
	}
}

// Status reports the daemon's state; the server adds what the engine and the services know.
func (d *Daemon) Status(ctx context.Context) api.Status {
	s := api.Status{
		PID: os.Getpid(), Version: d.cfg.Version, Socket: d.cfg.Paths.Socket, Home: d.cfg.Paths.Home,
		Model: d.cfg.Settings.Model, StartedAt: api.At(d.started),
	}
	if d.tcp != nil {
		s.Listen = d.tcp.Addr().String()
	}
	select {
	case <-d.opened:
		s.Ready = true
	default:
	}
	if err := d.openError(); err != nil {
		s.Ready, s.Error = false, err.Error()
	}
	s.Embedding = d.embeddingStatus(ctx)
	if box := d.current().sandbox; box != nil {
		if level := box.Level(ctx); level != sandbox.LevelFull {
			s.Sandbox = string(level)
		}
	}
	return s
}

// embeddingStatus reports what is waiting to be embedded; nil if nothing is.
func (d *Daemon) embeddingStatus(ctx context.Context) *api.EmbeddingStatus {
	e := d.current().embedding
	if e == nil || d.openError() != nil {
		return nil
	}
	p, troubles, err := e.Status(ctx)
	if err != nil || p.Waiting == 0 && p.Moving == 0 && len(troubles) == 0 {
		return nil
	}
	out := &api.EmbeddingStatus{Waiting: p.Waiting, Moving: p.Moving, Troubles: []api.EmbeddingTrouble{}}
	for _, t := range troubles {
		trouble := api.EmbeddingTrouble{Model: string(t.Model), Error: t.Err.Error(), Failures: t.Failures, Next: api.At(t.Next)}
		if t.Stall != nil {
			trouble.Stalled = api.PtrTo(api.At(t.Stall.Since))
		}
		out.Troubles = append(out.Troubles, trouble)
	}
	return out
}

// Backup copies the facts to a new file and verifies the copy.
func (d *Daemon) Backup(ctx context.Context, path string) (api.BackupResult, error) {
	store := d.current().store
	if store == nil {
		return api.BackupResult{}, core.E(core.Unavailable, "the store is not open")
	}
	return backup(ctx, store, path)
}

// Logs returns the log level and the log's path.
func (d *Daemon) Logs() api.Logs {
	return api.Logs{Level: levelName(d.level.Level()), Path: filepath.Clean(d.cfg.Paths.Log)}
}

// SetLogLevel changes the log level from now on.
func (d *Daemon) SetLogLevel(level string) error {
	l, err := parseLevel(level)
	if err != nil {
		return err
	}
	d.level.Set(l)
	return nil
}

// Shutdown starts the shutdown and returns. With ifIdle, a busy daemon keeps running and returns Busy.
func (d *Daemon) Shutdown(_ context.Context, ifIdle bool) error {
	p := d.current()
	switch hint := "wait for it, or stop it anyway: loci daemon stop"; {
	case !ifIdle || p.engine == nil:
	case !p.engine.Idle():
		return core.E(core.Busy, "the daemon is busy with a run").WithHint("%s", hint)
	case p.jobs.Running() > 0:
		return core.E(core.Busy, "a shell line goes on in the background").WithHint("%s", hint)
	}
	d.markStopped()
	d.requestStop()
	return nil
}

// markStopped records that this shutdown is not a crash, before anybody can notice it.
func (d *Daemon) markStopped() {
	if err := MarkStopped(d.cfg.Paths); err != nil {
		d.logger.Warn("the stop is not marked as wanted", slog.Any("error", err))
	}
}
