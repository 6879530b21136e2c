package daemon

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"loci/core"
	"loci/core/engine"
	"loci/core/service"
	"loci/daemon/follow"
	"loci/daemon/mirror"
	"loci/daemon/server"
	"loci/providers"
	"loci/providers/offline"
	"loci/storage"
	"loci/tools"
	"loci/tools/parsers"
)

// openParts opens the store and what stands on it, takes up unfinished runs, and lets the requests in.
func (d *Daemon) openParts(ctx context.Context) {
	defer close(d.opened)
	began := time.Now()
	p, err := d.join(ctx)
	d.mu.Lock()
	d.parts, d.fault = p, err
	d.mu.Unlock()
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return // it was asked to end before it had begun
		}
		d.logger.ErrorContext(ctx, "the store does not open", slog.Any("error", err), slog.String("hint", core.HintOf(err)))
		return
	}
	d.logger.InfoContext(ctx, "the store is open", slog.Duration("dur", time.Since(began)))
	d.owned.Go(func() { d.maintain(ctx) })
}

// join opens the parts. What it returns beside an error is what Close has to close.
func (d *Daemon) join(ctx context.Context) (parts, error) {
	var p parts
	var err error
	// The store outlives the context that ends Run: Close ends it after the lanes have drained. Only its opening is
	// interrupted by that context.
	opening, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, giveUp)()
	reached := providers.New(providers.Config{Offline: offline.New(), Log: d.logger, Now: d.cfg.Clock})
	p.models = d.cfg.Models
	if p.models == nil {
		p.models = reached
	}
	p.ingest = service.NewIngest(service.IngestConfig{Parser: parsers.New(), Clock: d.cfg.Clock, Logger: d.logger, Mirrored: follow.Read})
	p.embedding = service.NewEmbedding(service.EmbeddingConfig{Embedders: reached, Env: d.env, Logger: d.logger, After: p.ingest.Nudge})
	p.store, err = storage.Open(opening, storage.Config{
		Dir: d.cfg.Paths.Data, Beside: []string{d.cfg.Paths.Home, d.cfg.Paths.State, filepath.Dir(d.cfg.Paths.Config)},
		Clock: d.cfg.Clock, Logger: d.logger, Embed: p.embedding.Query, History: mirror.History,
	})
	if err != nil {
		return p, err
	}
	p.embedding.Start(ctx, p.store)
	p.ingest.Start(ctx, p.store)
	toolbox, settings := tools.New(), d.cfg.Settings
	p.engine = engine.New(engine.Config{
		Store: p.store, Log: p.store.Events(), Models: p.models, Tools: toolbox, Clock: d.cfg.Clock, Logger: d.logger,
		Env:          d.env,
		DefaultModel: core.Handle(settings.Model), MaxSteps: settings.MaxSteps, Deadline: settings.RunTimeout, Grace: settings.ShutdownGrace,
		RecallWait: d.cfg.RecallWait,
	})
	p.services = service.New(service.Config{
		Store: p.store, Engine: p.engine, Models: p.models, Tools: toolbox, Clock: d.cfg.Clock, Logger: d.logger,
		Env: d.env, Embedding: p.embedding, DefaultModel: core.Handle(settings.Model),
		Ingest:    p.ingest,
		Forgetter: p.store, Forgotten: p.embedding.Forget,
	})
	p.mirrors = mirror.New(mirror.Config{Store: p.store, Services: p.services, Logger: d.logger})
	p.follower = follow.New(follow.Config{
		Store: p.store, Services: p.services, Logger: d.logger, Except: []string{d.cfg.Paths.Home, d.cfg.Paths.Data, d.cfg.Paths.State, d.cfg.Paths.Run},
	})
	if err := p.engine.Recover(ctx); err != nil {
		return p, err
	}
	p.mirrors.Start(ctx)
	return p, p.follower.Start(ctx)
}

// env finds a provider variable of the daemon's own.
func (d *Daemon) env(name string) (core.Secret, bool) {
	v, ok := d.cfg.Environ(name)
	return core.Secret(v), ok && v != ""
}

// awaitParts waits until the store is open, or says why it never will be.
func (d *Daemon) awaitParts(ctx context.Context) (server.Parts, error) {
	select {
	case <-d.opened:
	case <-ctx.Done():
		return server.Parts{}, core.E(core.Unavailable, "the store is not open yet: %w", context.Cause(ctx)).WithHint("try again in a moment; loci daemon logs says how far it is")
	}
	if err := d.openError(); err != nil {
		kind := core.KindOf(err)
		if kind == core.Internal {
			kind = core.Unavailable
		}
		return server.Parts{}, core.E(kind, "the store does not open: %w", err).WithHint("%s", orDoctor(core.HintOf(err)))
	}
	p := d.current()
	return server.Parts{Services: p.services, Engine: p.engine, Mirrors: p.mirrors, Follower: p.follower}, nil
}

func orDoctor(hint string) string {
	if hint == "" {
		return "loci doctor says more"
	}
	return hint
}
