// Package intake turns accepted files from bytes into passages, in the background.
//
// Promises: two files are read at once, independently, so that a broken file only harms itself. A file's progress is in
// the store, and every step of it is one transaction: interrupted work resumes from there, and no chunk is stored twice.
// A failure of the store is never blamed on the file. Texts held in memory are bounded.
//
// Layer 3, beside core/service: it imports core and core/ingest, which divides texts.
package intake

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

// Limits on reading files.
const (
	readers     = 2                      // files read at once
	claimBatch  = 64                     // files claimed together
	storeFiles  = 64                     // files stored together …
	storeText   = 4 << 20                // … and bytes of text
	longText    = 256 << 10              // bytes of text from which a reader waits until the text can be stored
	settleEvery = 200 * time.Millisecond // between two checks on embedding
	retryAfter  = time.Second            // if the store fails, or more is waiting to be embedded
)

// Config is what reading files needs. Store and Parser are required.
type Config struct {
	Store  core.Store
	Parser core.Parser
	Limits core.ParseLimits // a zero field: its default
	Clock  func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discarded
	// Mirrored reads a file of a folder that follows a directory; nil: there are none. It is called by several goroutines.
	Mirrored func(ctx context.Context, folder core.Folder, f core.File) ([]byte, error)
}

// Worker reads waiting files.
type Worker struct {
	cfg  Config
	stop context.CancelFunc
	wg   sync.WaitGroup
	wake chan struct{} // buffered, one: a file was accepted, or something was embedded
}

// Start starts reading what waits. Call Close before closing the store.
func Start(ctx context.Context, cfg Config) *Worker {
	w := newWorker(cfg)
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop = stop
	w.wg.Go(func() { w.follow(run) })
	return w
}

// newWorker returns a worker that isn't reading yet.
func newWorker(cfg Config) *Worker {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Worker{cfg: cfg, wake: make(chan struct{}, 1)}
}

// Close stops reading; unfinished files are read again after the next Start.
func (w *Worker) Close() {
	w.stop()
	w.wg.Wait()
}

// Nudge says that there may be something to do. It never blocks.
func (w *Worker) Nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// outcome is the result of reading a file.
type outcome struct {
	file   core.File
	doc    core.Document
	lines  int
	chunks []core.Passage
	err    error // the file's own fault
}

// follow hands files to the readers and checks on embedding, until the worker is closed.
func (w *Worker) follow(ctx context.Context) {
	work := make(chan core.File)
	read := results{short: make(chan outcome, storeFiles), long: make(chan outcome)}
	stored := make(chan []core.FileID, storeFiles)
	var reading, storer sync.WaitGroup
	for range readers {
		reading.Go(func() { w.reads(ctx, work, read, stored) })
	}
	storer.Go(func() { w.stores(ctx, read, stored) })
	w.feed(ctx, work, stored)
	close(work)
	reading.Wait()
	close(read.short)
	storer.Wait()
}

// results are files that were read and wait to be stored: many short ones and, because their texts fill the memory, only
// as many long ones as there are readers.
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

// ready is next without blocking.
func (r *results) ready() (o outcome, ok bool) {
	select {
	case o, ok = <-r.short:
	case o = <-r.long:
		ok = true
	default:
	}
	return o, ok
}

// feed gives waiting files to the readers, in order of arrival.
func (w *Worker) feed(ctx context.Context, work chan<- core.File, stored <-chan []core.FileID) {
	busy := map[core.FileID]bool{}
	var queue []core.File
	look, soon, tick := true, true, time.NewTimer(0)
	defer tick.Stop()
	for ctx.Err() == nil {
		if look && len(queue) == 0 && len(busy) < claimBatch/2 {
			var err error
			if queue, err = w.claim(ctx, busy); err != nil && ctx.Err() == nil {
				w.cfg.Logger.WarnContext(ctx, "files that wait cannot be taken up", slog.Any("error", err))
				tick.Reset(retryAfter)
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
		case <-w.wake:
			look = true
			if !soon {
				tick.Reset(settleEvery)
				soon = true
			}
		case <-tick.C:
			look, soon = true, false
			if w.settle(ctx) {
				tick.Reset(retryAfter)
			}
		case <-ctx.Done():
		}
	}
}

// settle completes files that are embedded and reports whether more are on their way.
func (w *Worker) settle(ctx context.Context) bool {
	left, err := w.cfg.Store.Files().Settle(ctx)
	if err != nil && ctx.Err() == nil {
		w.cfg.Logger.WarnContext(ctx, "files cannot be completed", slog.Any("error", err))
	}
	return left > 0 || err != nil
}

// claim marks the next files as being read, including those being read when the program last stopped.
func (w *Worker) claim(ctx context.Context, busy map[core.FileID]bool) ([]core.File, error) {
	waiting := core.FileFilter{Status: []core.FileStatus{core.FilePending, core.FileParsing}}
	some, err := w.cfg.Store.Files().List(ctx, waiting, core.Page{Limit: claimBatch})
	if err != nil || len(some) == 0 {
		return nil, err
	}
	var queue []core.File
	err = w.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
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
func (w *Worker) reads(ctx context.Context, work <-chan core.File, read results, stored chan<- []core.FileID) {
	for f := range work {
		o, err := w.read(ctx, f)
		if err != nil { // not the file's fault: it is taken up again
			if ctx.Err() == nil {
				w.cfg.Logger.WarnContext(ctx, "a file is read later", slog.String("file", string(f.ID)), slog.Any("error", err))
			}
			pause(ctx)
			give(ctx, stored, []core.FileID{f.ID})
			continue
		}
		give(ctx, read.of(&o), o)
	}
}

// pause waits before a retry.
func pause(ctx context.Context) {
	timer := time.NewTimer(retryAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// give sends unless the worker is stopping.
func give[T any](ctx context.Context, to chan<- T, v T) {
	select {
	case to <- v:
	case <-ctx.Done():
	}
}

// read turns a file into text and chunks. An error is not the file's own fault.
func (w *Worker) read(ctx context.Context, f core.File) (outcome, error) {
	o := outcome{file: f}
	data, err := w.bytes(ctx, f)
	if err == nil {
		o.doc, o.err = w.cfg.Parser.Parse(ctx, core.ParseInput{Name: f.Name, Data: data, Limits: w.cfg.Limits})
	} else if o.err = err; !lost(err) {
		return o, err // the store failed
	}
	if ctx.Err() != nil {
		return o, context.Cause(ctx)
	}
	switch core.KindOf(o.err) { //nolint:exhaustive // every other kind is the file's own fault
	case core.Unavailable, core.Conflict: // a conflict: it is being written in the directory that its folder follows
		return o, o.err
	}
	if o.err == nil {
		w.divide(&o)
	}
	return o, nil
}

// divide makes passages from what was read.
func (w *Worker) divide(o *outcome) {
	f := &o.file
	lines := ingest.Lines(o.doc)
	o.lines = ingest.CountLines(lines)
	now := w.cfg.Clock()
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

// bytes returns the bytes to read.
func (w *Worker) bytes(ctx context.Context, f core.File) ([]byte, error) {
	data, err := w.cfg.Store.Files().Data(ctx, f.ID)
	switch {
	case core.KindOf(err) != core.NotFound:
		return data, err
	case w.cfg.Mirrored == nil:
		return nil, lostError{err}
	}
	folder, err := w.cfg.Store.Folders().Get(ctx, f.Folder)
	if err != nil {
		return nil, err
	}
	if data, err = w.cfg.Mirrored(ctx, folder, f); err != nil {
		return nil, lostError{err}
	}
	return data, nil
}

// lostError says that a file's bytes are gone: from the store, and from the directory that its folder follows.
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

// stores writes what was read, everything that is ready in one transaction.
func (w *Worker) stores(ctx context.Context, read results, stored chan<- []core.FileID) {
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
			continue // read again after the next start
		}
		ids := make([]core.FileID, len(group))
		for i := range group {
			ids[i] = group[i].file.ID
		}
		if err := w.cfg.Store.Tx(
			ctx,
			func(ctx context.Context, tx core.Store) error { return w.storeIn(ctx, tx, group) },
		); err != nil &&
			ctx.Err() == nil {
			w.cfg.Logger.WarnContext(ctx, "files that were read cannot be stored yet", slog.Any("error", err))
			pause(ctx)
		}
		give(ctx, stored, ids)
		w.Nudge()
	}
}

// storeIn stores each file in a savepoint, skipping files that are gone or have changed.
func (w *Worker) storeIn(ctx context.Context, tx core.Store, group []outcome) error {
	for i := range group {
		err := tx.Tx(ctx, func(ctx context.Context, tx core.Store) error { return w.storeOne(ctx, tx, &group[i]) })
		if kind := core.KindOf(err); err != nil && kind != core.NotFound && kind != core.Conflict {
			return err
		}
	}
	return nil
}

func (w *Worker) storeOne(ctx context.Context, tx core.Store, o *outcome) error {
	f, err := tx.Files().Get(ctx, o.file.ID)
	if err != nil {
		return err
	}
	if f.Hash != o.file.Hash || f.Status != core.FileParsing {
		return core.E(core.Conflict, "file %s has changed while it was read", f.ID)
	}
	f.UpdatedAt = w.cfg.Clock()
	if o.err != nil {
		f.Status, f.Error = core.FileFailed, explain(o.err)
		if lost(o.err) {
			f.Hash = "" // so that it is read when it can be
			return tx.Files().Update(ctx, &f)
		}
		if f.Chunks > 0 { // from before it changed
			f.Lines, f.Chars, f.Pages = 0, 0, 0
			return tx.Files().Fill(ctx, &f, core.Document{}, nil)
		}
		return tx.Files().Update(ctx, &f)
	}
	f.Kind, f.Title, f.Pages, f.Lines, f.Chars = o.doc.Kind, o.doc.Title, o.doc.Pages, o.lines, utf8.RuneCountInString(o.doc.Text)
	f.Status, f.Error = core.FileEmbedding, ""
	return tx.Files().Fill(ctx, &f, o.doc, o.chunks)
}

// explain tells a person what is wrong with a file. It says so if the fault is ours.
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
