package storage

import (
	"context"
	"strconv"

	"loci/core"
	"loci/storage/sqlite"
)

// scope is the aggregates over one place where statements run: outside of a transaction (reads on the reader pool, each
// write in a transaction of its own) or inside of one.
type scope struct {
	s     *Store
	tx    *sqlite.Querier // the writer's, inside a transaction; nil outside
	depth int             // of savepoints
	over  bool            // the function it was made for has returned
}

var _ core.Store = (*scope)(nil)

func (v *scope) Agents() core.AgentStore               { return agents{v} }
func (v *scope) Blocks() core.BlockStore               { return blocks{v} }
func (v *scope) Messages() core.MessageStore           { return messages{v} }
func (v *scope) Conversations() core.ConversationStore { return conversations{v} }
func (v *scope) Runs() core.RunStore                   { return runs{v} }
func (v *scope) Steps() core.StepStore                 { return steps{v} }
func (v *scope) Snapshots() core.SnapshotStore         { return snapshots{v} }
func (v *scope) Archives() core.ArchiveStore           { return archives{v} }
func (v *scope) Passages() core.PassageStore           { return passages{v} }
func (v *scope) Workspaces() core.WorkspaceStore       { return workspaces{v} }
func (v *scope) Meta() core.MetaStore                  { return meta{v} }
func (v *scope) Rewinds() core.RewindStore             { return rewinds{v} }
func (v *scope) Vectors() core.VectorStore             { return vectorStore{v} }
func (v *scope) Folders() core.FolderStore             { return folders{v} }
func (v *scope) Files() core.FileStore                 { return files{v} }
func (v *scope) Mirrors() core.MirrorStore             { return mirrors{v} }

// txKey marks the context of a function inside a transaction with its store.
type txKey struct{}

// Tx runs fn in one transaction, or inside of one in a savepoint.
func (v *scope) Tx(ctx context.Context, fn func(ctx context.Context, tx core.Store) error) error {
	if v.tx == nil {
		return v.outer(ctx, func(ctx context.Context, tx *scope) error { return fn(ctx, tx) })
	}
	return v.savepoint(ctx, func(ctx context.Context, tx *scope) error { return fn(ctx, tx) })
}

// outer hands fn to the writer.
func (v *scope) outer(ctx context.Context, fn func(ctx context.Context, tx *scope) error) error {
	if ctx.Value(txKey{}) == v.s {
		panic("storage: a transaction was begun on the outer store from inside a transaction; use the tx it was given")
	}
	return v.s.facts.Do(ctx, func(ctx context.Context, q *sqlite.Querier) error {
		tx := &scope{s: v.s, tx: q}
		defer tx.end()
		return fn(context.WithValue(ctx, txKey{}, v.s), tx)
	})
}

// savepoint runs fn so that its error takes back only what it did.
func (v *scope) savepoint(ctx context.Context, fn func(ctx context.Context, tx *scope) error) error {
	v.check()
	ctx = context.WithoutCancel(ctx)
	name := "nested" + strconv.Itoa(v.depth+1)
	if _, err := v.tx.Exec(ctx, "SAVEPOINT "+name); err != nil {
		return sqlite.Classify("savepoint", err)
	}
	inner := &scope{s: v.s, tx: v.tx, depth: v.depth + 1}
	defer inner.end()
	result := fn(ctx, inner)
	if result != nil {
		if _, err := v.tx.Exec(ctx, "ROLLBACK TO "+name); err != nil {
			return sqlite.Classify("roll back to savepoint", err)
		}
	}
	if _, err := v.tx.Exec(ctx, "RELEASE "+name); err != nil {
		return sqlite.Classify("release savepoint", err)
	}
	return result
}

func (v *scope) end() { v.over = true }

func (v *scope) check() {
	if v.over {
		panic("storage: a transaction was used after its function returned")
	}
}

// read returns where to read, and the context for it: inside a transaction a cancelled statement would take the whole
// group with it, so there only the writer decides.
func (v *scope) read(ctx context.Context) (context.Context, *sqlite.Querier) {
	if v.tx == nil {
		return ctx, v.s.facts.Read
	}
	v.check()
	return context.WithoutCancel(ctx), v.tx
}

// write runs fn in the transaction, or outside in one of its own. op names what was tried in errors.
func (v *scope) write(ctx context.Context, op string, fn func(ctx context.Context, q *sqlite.Querier) error) error {
	if v.tx != nil {
		v.check()
		return sqlite.Classify(op, fn(context.WithoutCancel(ctx), v.tx))
	}
	return v.outer(ctx, func(ctx context.Context, tx *scope) error { return sqlite.Classify(op, fn(ctx, tx.tx)) })
}

// atomic is write for what may fail half way: inside a transaction it takes a savepoint.
func (v *scope) atomic(ctx context.Context, op string, fn func(ctx context.Context, q *sqlite.Querier) error) error {
	if v.tx == nil {
		return v.write(ctx, op, fn)
	}
	return v.savepoint(ctx, func(ctx context.Context, tx *scope) error { return sqlite.Classify(op, fn(ctx, tx.tx)) })
}

// Transact runs fn in one transaction, with its statements, for what changes whole tables: forgetting.
func (s *Store) Transact(ctx context.Context, fn func(ctx context.Context, tx core.Store, q *sqlite.Querier) error) error {
	return s.outer(ctx, func(ctx context.Context, tx *scope) error { return fn(ctx, tx, tx.tx) })
}

// Reader runs statements that read what is committed.
func (s *Store) Reader() *sqlite.Querier { return s.facts.Read }

// Maintain runs fn while neither a backup nor the sweeper works, and after what killed backups left was removed.
func (s *Store) Maintain(ctx context.Context, fn func() error) error {
	s.maintenance.Lock()
	defer s.maintenance.Unlock()
	if err := s.RemoveParts(ctx); err != nil {
		return err
	}
	return fn()
}
