package storage

import (
	"context"

	"loci/core"
	"loci/storage/customtools"
	"loci/storage/expenses"
	"loci/storage/images"
	"loci/storage/mcpservers"
	"loci/storage/passagelog"
	"loci/storage/sqlite"
	"loci/storage/variables"
	"loci/storage/vectorstore"
	"loci/storage/workspace"
)

// scope is the aggregates over one place where statements run, outside of a transaction or inside of one.
type scope struct {
	s  *Store
	on *sqlite.Scope
}

var _ core.Store = (*scope)(nil)

func (v *scope) Agents() core.AgentStore               { return agents{v} }
func (v *scope) Blocks() core.BlockStore               { return blocks{v} }
func (v *scope) Messages() core.MessageStore           { return messages{v} }
func (v *scope) Conversations() core.ConversationStore { return conversations{v} }
func (v *scope) Runs() core.RunStore                   { return runs{v} }
func (v *scope) Steps() core.StepStore                 { return steps{v} }
func (v *scope) Snapshots() core.SnapshotStore         { return snapshots{v} }
func (v *scope) Images() core.ImageStore               { return images.Store{On: v.on, Now: v.s.now} }
func (v *scope) Archives() core.ArchiveStore           { return archives{v} }
func (v *scope) Passages() core.PassageStore           { return passages{passagelog.Reader{On: v.on}, v} }
func (v *scope) Workspaces() core.WorkspaceStore       { return workspace.Store{On: v.on} }
func (v *scope) Variables() core.VariableStore         { return variables.Store{On: v.on} }
func (v *scope) Tools() core.ToolStore                 { return customtools.Store{On: v.on} }
func (v *scope) MCPServers() core.MCPServerStore       { return mcpservers.Store{On: v.on} }
func (v *scope) Expenses() core.ExpenseStore           { return expenses.Store{On: v.on} }
func (v *scope) Providers() core.ProviderStore         { return providers{v} }
func (v *scope) Meta() core.MetaStore                  { return meta{v} }
func (v *scope) Rewinds() core.RewindStore             { return rewinds{v} }
func (v *scope) Vectors() core.VectorStore             { return vectorstore.New(v.on, unembedded, v.s.changed) }
func (v *scope) Folders() core.FolderStore             { return folders{v} }
func (v *scope) Files() core.FileStore                 { return files{v} }
func (v *scope) Mirrors() core.MirrorStore             { return mirrors{v} }

// Tx runs fn in one transaction, or inside of one in a savepoint.
func (v *scope) Tx(ctx context.Context, fn func(ctx context.Context, tx core.Store) error) error {
	return v.on.Tx(ctx, func(ctx context.Context, tx *sqlite.Scope) error { return fn(ctx, &scope{s: v.s, on: tx}) })
}

func (v *scope) read(ctx context.Context) (context.Context, *sqlite.Querier) { return v.on.Read(ctx) }

func (v *scope) write(ctx context.Context, op string, fn func(ctx context.Context, q *sqlite.Querier) error) error {
	return v.on.Write(ctx, op, fn)
}

func (v *scope) atomic(ctx context.Context, op string, fn func(ctx context.Context, q *sqlite.Querier) error) error {
	return v.on.Atomic(ctx, op, fn)
}

// Transact runs fn in one transaction, with its statements, for what changes whole tables: forgetting.
func (s *Store) Transact(ctx context.Context, fn func(ctx context.Context, tx core.Store, q *sqlite.Querier) error) error {
	return s.on.Tx(ctx, func(ctx context.Context, tx *sqlite.Scope) error {
		_, q := tx.Read(ctx)
		return fn(ctx, &scope{s: s, on: tx}, q)
	})
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
