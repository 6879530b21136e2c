package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"loci/core"
	"loci/core/ingest"
)

// The bounds of reading files.
const (
	ingestReaders = 2                      // files that are read at once
	ingestBatch   = 64                     // files that are taken up together
	storeFiles    = 64                     // files that are stored together …
	storeText     = 4 << 20                // … and bytes of text
	longText      = 256 << 10              // bytes of text from which on a reader waits until it can be stored
	settleEvery   = 200 * time.Millisecond // between two looks at what is embedded
)

// IngestConfig is what reading files needs.
type IngestConfig struct {
	Parser core.Parser
	Limits core.ParseLimits // a zero field: its default
	Clock  func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discarded
	// Mirrored reads a file of a folder that follows a directory; nil: there are none. It is called by several goroutines.
	Mirrored func(ctx context.Context, folder core.Folder, f core.File) ([]byte, error)
}

// Ingest reads the files that were accepted, in the background: two at once, each by itself, so that what a broken file
// does happens to that file alone. Where a file is on its way stands in the store, and every step of it is one
// transaction: what was interrupted is begun again from there, and no chunk is stored twice.
type Ingest struct {
	cfg    IngestConfig
	store  core.Store
	cancel context.CancelFunc
	wg     sync.WaitGroup
	wake   chan struct{} // buffered, one: a file was accepted, or something was embedded
}

// NewIngest returns what reads files; Start lets it follow a store.
func NewIngest(cfg IngestConfig) *Ingest {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Ingest{cfg: cfg, wake: make(chan struct{}, 1)}
}

// Start begins to read what waits. Close must be called before the store is closed.
func (g *Ingest) Start(ctx context.Context, store core.Store) {
	g.store = store
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	g.cancel = cancel
	g.wg.Go(func() { g.follow(run) })
}

// Close ends reading; what is not finished is begun again with the next Start.
func (g *Ingest) Close() {
	if g.cancel != nil {
		g.cancel()
	}
	g.wg.Wait()
}

// Nudge says that there may be something to do. It never waits.
func (g *Ingest) Nudge() { g.nudge() }

func (g *Ingest) nudge() {
	if g == nil {
		return
	}
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// outcome is what reading a file gave.
type outcome struct {
	file   core.File
	doc    core.Document
	lines  int
	chunks []core.Passage
	err    error // the file's own fault
}

// follow hands files to the readers and looks after what is embedded, until it is closed.
func (g *Ingest) follow(ctx context.Context) {
	work := make(chan core.File)
	read := results{short: make(chan outcome, storeFiles), long: make(chan outcome)}
	stored := make(chan []core.FileID, storeFiles)
	var readers, storer sync.WaitGroup
	for range ingestReaders {
		readers.Go(func() { g.reads(ctx, work, read, stored) })
	}
	storer.Go(func() { g.stores(ctx, read, stored) })
	g.feed(ctx, work, stored)
	close(work)
	readers.Wait()
	close(read.short)
	storer.Wait()
}

// results are files that were read, on their way to be stored: many short ones, and of the long ones, whose texts fill the
// memory, those that the readers hold.
type results struct{ short, long chan outcome }

func (r *results) of(o *outcome) chan<- outcome {
	if len(o.doc.Text) >= longText {
		return r.long
	}
	return r.short
}

// next waits for a result; ok is false at the end.
func (r *results) next() (o outcome, ok bool) {
	select {
	case o, ok = <-r.short:
	case o = <-r.long:
		ok = true
	}
	return o, ok
}

// ready is next for who does not wait.
func (r *results) ready() (o outcome, ok bool) {
	select {
	case o, ok = <-r.short:
	case o = <-r.long:
		ok = true
	default:
	}
	return o, ok
}

// feed gives the readers what waits, in the order of arrival.
func (g *Ingest) feed(ctx context.Context, work chan<- core.File, stored <-chan []core.FileID) {
	busy := map[core.FileID]bool{}
	var queue []core.File
	look, soon, tick := true, true, time.NewTimer(0)
	defer tick.Stop()
	for ctx.Err() == nil {
		if look && len(queue) == 0 && len(busy) < ingestBatch/2 {
			var err error
			if queue, err = g.claim(ctx, busy); err != nil && ctx.Err() == nil {
				g.cfg.Logger.WarnContext(ctx, "files that wait cannot be taken up", slog.Any("error", err))
				tick.Reset(firstRest)
			}
			look = false
		}
		var out chan<- core.File
		var next core.File
		if len(queue) > 0 {
			out, next = work, queue[0]
		}
		select {
		case out <- next:
			busy[next.ID] = true
			queue = queue[1:]
		case ids := <-stored:
			for _, id := range ids {
				delete(busy, id)
			}
			look = true
		case <-g.wake:
			look = true
			if !soon {
				tick.Reset(settleEvery)
				soon = true
			}
		case <-tick.C:
			look, soon = true, false
			if g.settle(ctx) {
				tick.Reset(firstRest)
			}
		case <-ctx.Done():
		}
	}
}

// settle completes what is embedded and reports whether more is on its way.
func (g *Ingest) settle(ctx context.Context) bool {
	left, err := g.store.Files().Settle(ctx)
	if err != nil && ctx.Err() == nil {
		g.cfg.Logger.WarnContext(ctx, "files cannot be completed", slog.Any("error", err))
	}
	return left > 0 || err != nil
}

// claim marks the next files as being read. Those that were being read when the program ended are among them.
func (g *Ingest) claim(ctx context.Context, busy map[core.FileID]bool) ([]core.File, error) {
	waiting := core.FileFilter{Status: []core.FileStatus{core.FilePending, core.FileParsing}}
	some, err := g.store.Files().List(ctx, waiting, core.Page{Limit: ingestBatch})
	if err != nil || len(some) == 0 {
		return nil, err
	}
	var queue []core.File
	err = g.store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		queue = nil
		for _, f := range some {
			if busy[f.ID] {
				continue
			}
			f, err := tx.Files().Get(ctx, f.ID)
			if core.KindOf(err) == core.NotFound {
				continue
			}
			if err != nil {
				return err
			}
			if f.Status == core.FilePending {
				f.Status = core.FileParsing
				err = tx.Files().Update(ctx, &f)
			}
			if err != nil {
				return err
			}
			if f.Status == core.FileParsing {
				queue = append(queue, f)
			}
		}
		return nil
	})
	return queue, err
}

// reads is one reader.
func (g *Ingest) reads(ctx context.Context, work <-chan core.File, read results, stored chan<- []core.FileID) {
	for f := range work {
		o, err := g.read(ctx, f)
		if err != nil { // not the file's fault: it is taken up again
			if ctx.Err() == nil {
				g.cfg.Logger.WarnContext(ctx, "a file is read later", slog.String("file", string(f.ID)), slog.Any("error", err))
			}
			pause(ctx)
			give(ctx, stored, []core.FileID{f.ID})
			continue
		}
		give(ctx, read.of(&o), o)
	}
}

// pause lets what was in the way pass.
func pause(ctx context.Context) {
	timer := time.NewTimer(firstRest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// give sends unless reading is at its end.
func give[T any](ctx context.Context, to chan<- T, v T) {
	select {
	case to <- v:
	case <-ctx.Done():
	}
}

// read turns a file into text and chunks. An error is not the file's own.
func (g *Ingest) read(ctx context.Context, f core.File) (outcome, error) {
	o := outcome{file: f}
	data, err := g.bytes(ctx, f)
	if err == nil {
		o.doc, o.err = g.cfg.Parser.Parse(ctx, core.ParseInput{Name: f.Name, Data: data, Limits: g.cfg.Limits})
	} else if o.err = err; !lost(err) {
		return o, err // the trouble is the store's
	}
	if ctx.Err() != nil {
		return o, context.Cause(ctx)
	}
	switch core.KindOf(o.err) { //nolint:exhaustive // every other kind is the file's own fault
	case core.Unavailable, core.Conflict: // a conflict: it is being written in the directory that its folder follows
		return o, o.err
	}
	if o.err == nil {
		g.divide(&o)
	}
	return o, nil
}

// divide makes passages of what was read.
func (g *Ingest) divide(o *outcome) {
	f := &o.file
	lines := ingest.Lines(o.doc)
	o.lines = len(lines)
	now := g.cfg.Clock()
	written := f.CreatedAt
	if !f.ModifiedAt.IsZero() {
		written = f.ModifiedAt
	}
	for _, c := range ingest.Chunks(o.doc, 0) {
		text := clip(c.Passage(), core.MaxPassageChars)
		if text == "" {
			continue
		}
		o.chunks = append(o.chunks, core.Passage{
			ID: core.NewPassageID(), Text: text, Metadata: placeOf(c, lines), CreatedAt: written, UpdatedAt: now,
		})
	}
}

// bytes returns what is to be read.
func (g *Ingest) bytes(ctx context.Context, f core.File) ([]byte, error) {
	data, err := g.store.Files().Data(ctx, f.ID)
	switch {
	case core.KindOf(err) != core.NotFound:
		return data, err
	case g.cfg.Mirrored == nil:
		return nil, lostError{err}
	}
	folder, err := g.store.Folders().Get(ctx, f.Folder)
	if err != nil {
		return nil, err
	}
	if data, err = g.cfg.Mirrored(ctx, folder, f); err != nil {
		return nil, lostError{err}
	}
	return data, nil
}

// lostError says that nobody has the bytes of a file: not the store, and not the directory which its folder follows.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

func lost(err error) bool {
	var e lostError
	return errors.As(err, &e)
}

// placeOf says where in its file a chunk stands: the lines as views count them, the pages, and the headings above it.
func placeOf(c ingest.Chunk, lines []ingest.Line) map[string]any {
	place := map[string]any{}
	if first, last := ingest.Span(lines, c); first > 0 {
		place["line"], place["end_line"] = first, last
	}
	if c.Page > 0 {
		place["page"] = c.Page
		if c.EndPage > c.Page {
			place["end_page"] = c.EndPage
		}
	}
	if len(c.Path) > 0 {
		place["path"] = c.Path
	}
	return place
}

// clip cuts a text to so many characters.
func clip(s string, chars int) string {
	if utf8.RuneCountInString(s) <= chars {
		return s
	}
	return string([]rune(s)[:chars])
}

// stores writes what was read, all that is ready in one transaction.
func (g *Ingest) stores(ctx context.Context, read results, stored chan<- []core.FileID) {
	for {
		first, ok := read.next()
		if !ok {
			return
		}
		group, text := []outcome{first}, len(first.doc.Text)
		for len(group) < storeFiles && text < storeText {
			o, ok := read.ready()
			if !ok {
				break
			}
			group, text = append(group, o), text+len(o.doc.Text)
		}
		if ctx.Err() != nil {
			continue // begun again with the next start
		}
		ids := make([]core.FileID, len(group))
		for i := range group {
			ids[i] = group[i].file.ID
		}
		if err := g.store.Tx(ctx, func(ctx context.Context, tx core.Store) error { return g.storeIn(ctx, tx, group) }); err != nil && ctx.Err() == nil {
			g.cfg.Logger.WarnContext(ctx, "files that were read cannot be stored yet", slog.Any("error", err))
			pause(ctx)
		}
		give(ctx, stored, ids)
		g.nudge()
	}
}

// storeIn stores each file in a savepoint: one that is gone, or has changed, is passed over.
func (g *Ingest) storeIn(ctx context.Context, tx core.Store, group []outcome) error {
	for i := range group {
		err := tx.Tx(ctx, func(ctx context.Context, tx core.Store) error { return g.storeOne(ctx, tx, &group[i]) })
		if kind := core.KindOf(err); err != nil && kind != core.NotFound && kind != core.Conflict {
			return err
		}
	}
	return nil
}

func (g *Ingest) storeOne(ctx context.Context, tx core.Store, o *outcome) error {
	f, err := tx.Files().Get(ctx, o.file.ID)
	if err != nil {
		return err
	}
	if f.Hash != o.file.Hash || f.Status != core.FileParsing {
		return core.E(core.Conflict, "file %s has changed while it was read", f.ID)
	}
	f.UpdatedAt = g.cfg.Clock()
	if o.err != nil {
		f.Status, f.Error = core.FileFailed, explain(o.err)
		if lost(o.err) {
			f.Hash = "" // so that it is read when it can be
			return tx.Files().Update(ctx, &f)
		}
		if f.Chunks > 0 { // of what it was before it changed
			f.Lines, f.Chars, f.Pages = 0, 0, 0
			return tx.Files().Fill(ctx, &f, core.Document{}, nil)
		}
		return tx.Files().Update(ctx, &f)
	}
	f.Kind, f.Title, f.Pages, f.Lines, f.Chars = o.doc.Kind, o.doc.Title, o.doc.Pages, o.lines, utf8.RuneCountInString(o.doc.Text)
	f.Status, f.Error = core.FileEmbedding, ""
	return tx.Files().Fill(ctx, &f, o.doc, o.chunks)
}

// explain says to a person what is wrong with a file. What is our own fault is told as such.
func explain(err error) string {
	if core.KindOf(err) == core.Internal {
		var e *core.Error
		if !errors.As(err, &e) || e.Msg == "" {
			return "the file could not be read: " + err.Error()
		}
	}
	text := err.Error()
	if hint := core.HintOf(err); hint != "" {
		text += "; " + hint
	}
	return text
}
