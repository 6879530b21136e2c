package mirror

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"loci/core"
	"loci/core/service"
)

// rounds limits how often one pass looks again: after its own actions, and after somebody else was faster.
const rounds = 6

// pass is one sync of one mirror. If it is interrupted between any two of its actions, the next one continues.
type pass struct {
	store    core.Store
	services *service.Services
	logger   *slog.Logger
	mirror   core.MemoryMirror
	owner    string // content of the folder's marker
	folder   *folder
	git      *git
	waiting  int // replaced files still to be checked once more
	troubles []core.MirrorNote
}

// run syncs both sides as far as no person has to decide.
func (p *pass) run(ctx context.Context) (core.MirrorState, error) {
	state := core.MirrorState{Mirror: p.mirror}
	if err := p.ready(ctx); err != nil {
		return state, err
	}
	var err error
	if p.waiting, err = p.folder.sweep(); err != nil {
		return state, err
	}
	var last plan
	for round := range rounds {
		p.troubles = nil
		var files map[string]*file
		if last, files, err = p.look(ctx); err != nil {
			return state, err
		}
		// Everything in the folder is committed before any of it is replaced.
		p.folder.point("commit what is there")
		if state.Commit, err = p.git.commit(ctx, files, len(last.actions) > 0, message(round)); err != nil {
			return state, err
		}
		if len(last.actions) == 0 || !p.act(ctx, last.actions) {
			break
		}
	}
	if err := p.folder.tellRefused(last.notes); err != nil {
		p.troubles = append(p.troubles, core.MirrorNote{
			Kind: core.MirrorUnreadable, Path: blocksDir, Text: "the notes beside refused files are not up to date: " + err.Error(),
		})
	}
	state.Notes = append(last.notes, p.troubles...)
	state.Blocks = last.alike
	state.SyncedAt = time.Now()
	return state, ctx.Err()
}

func message(round int) string {
	if round == 0 {
		return "Keep what was edited in the folder"
	}
	return "Follow the agent's memory"
}

// ready checks that the folder belongs to this mirror and that no person is in the middle of something there.
func (p *pass) ready(ctx context.Context) error {
	if err := p.folder.owned(p.owner); err != nil {
		return err
	}
	for _, name := range pauses() {
		if _, err := p.folder.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return core.E(core.Conflict, "a merge or rebase is under way in %s: the mirror waits for its end", p.mirror.Path).
				WithHint("finish it, or git -C %s merge --abort", p.mirror.Path)
		}
	}
	branch, _, err := p.git.head(ctx)
	if err == nil && branch != p.mirror.Branch {
		return core.E(core.Conflict, "the branch %s is checked out in %s: the mirror waits for %s", branch, p.mirror.Path, p.mirror.Branch).
			WithHint("git -C %s switch %s, or loci memory mirror %s to follow this branch", p.mirror.Path, p.mirror.Branch, p.mirror.Path)
	}
	return err
}

// look reads both sides and decides.
func (p *pass) look(ctx context.Context) (plan, map[string]*file, error) {
	files, err := p.folder.scan()
	if err != nil {
		return plan{}, nil, err
	}
	rows, err := p.store.Mirrors().Files(ctx, p.mirror.Agent)
	if err != nil {
		return plan{}, nil, err
	}
	blocks, err := p.store.Blocks().OfAgent(ctx, p.mirror.Agent)
	if err != nil {
		return plan{}, nil, err
	}
	return planned(p.mirror.Agent, blocks, rows, files), files, nil
}

// act does what was decided. It reports whether to look again: not if everything failed.
func (p *pass) act(ctx context.Context, actions []action) (again bool) {
	for _, a := range actions {
		if ctx.Err() != nil {
			return false
		}
		p.folder.point(a.verb.String() + " " + a.path)
		err := p.one(ctx, a)
		switch {
		case err == nil || errors.Is(err, errChanged):
			again = true
		default:
			p.troubles = append(p.troubles, core.MirrorNote{
				Kind: core.MirrorUnreadable, Path: a.path, Label: a.block.Label, Text: a.verb.String() + " did not work: " + err.Error(),
			})
		}
	}
	return again
}

func (p *pass) one(ctx context.Context, a action) error {
	switch a.verb {
	case record:
		return p.store.Mirrors().PutFile(ctx, a.row)
	case forget:
		return p.store.Mirrors().RemoveFile(ctx, a.row.Agent, a.row.Block)
	case take:
		return p.take(ctx, a)
	case write:
		return p.write(ctx, a)
	case clash:
		p.logger.WarnContext(
			ctx,
			"both sides of a memory block were edited; the file's text is kept beside it",
			slog.String("agent", string(p.mirror.Agent)),
			slog.String("file", a.path),
		)
		if err := p.folder.keepBeside(a.path, a.file.Data); err != nil {
			return err
		}
		return p.write(ctx, a)
	case aside:
		p.logger.WarnContext(
			ctx,
			"a file stood where a memory block belongs; it is kept beside it",
			slog.String("agent", string(p.mirror.Agent)),
			slog.String("file", a.path),
		)
		if a.file.Hash == "" {
			return a.file.Err
		}
		if err := p.folder.keepBeside(a.path, a.file.Data); err != nil {
			return err
		}
		return p.folder.take(a.path, a.file.Hash)
	case move:
		return p.move(ctx, a)
	case unplace:
		if err := p.folder.take(a.path, a.file.Hash); err != nil {
			return err
		}
		return p.store.Mirrors().RemoveFile(ctx, a.row.Agent, a.row.Block)
	case makes:
		_, err := p.services.Mirrors.Make(ctx, p.mirror.Agent, a.block, func(b core.Block) core.MirrorFile { return a.alike(b) })
		return changed(err)
	}
	return nil
}

// changed returns errChanged for a block that is no longer what it was.
func changed(err error) error {
	if kind := core.KindOf(err); kind == core.Conflict || kind == core.NotFound {
		return errChanged
	}
	return err
}

// alike returns the record of a block that is now in sync with its file.
func (a *action) alike(b core.Block) core.MirrorFile {
	return core.MirrorFile{Agent: a.row.Agent, Block: b.ID, Path: a.path, BlockHash: hashBlock(b), FileHash: a.file.Hash}
}

// take copies the file's text into the block, if the block still is what it was.
func (p *pass) take(ctx context.Context, a action) error {
	_, err := p.services.Mirrors.Take(
		ctx,
		a.block.ID,
		a.file.Doc.patch(),
		a.block.Version,
		func(b core.Block) core.MirrorFile { return a.alike(b) },
	)
	return changed(err)
}

// write copies the block's text into the file, if the file still is what it was. What is about to be written is
// recorded first.
func (p *pass) write(ctx context.Context, a action) error {
	hash, was := "", document{}
	if a.file != nil {
		if hash = a.file.Hash; hash == "" {
			return a.file.Err
		}
		if a.file.Err == nil {
			was = a.file.Doc
		}
	}
	data := render(a.block, was)
	row := a.row
	row.NextBlock, row.NextFile = hashBlock(a.block), hashFile(data)
	if err := p.store.Mirrors().PutFile(ctx, row); err != nil {
		return err
	}
	p.folder.point("replace " + a.path)
	if err := p.folder.replace(a.path, hash, data); err != nil {
		if errors.Is(err, errChanged) {
			err = errors.Join(err, p.store.Mirrors().PutFile(ctx, a.row)) // it was not written
		}
		return err
	}
	p.folder.point("replaced " + a.path)
	row.BlockHash, row.FileHash, row.NextBlock, row.NextFile = row.NextBlock, row.NextFile, "", ""
	return p.store.Mirrors().PutFile(ctx, row)
}

// move renames a file that is in sync with its block to the block's current name.
func (p *pass) move(ctx context.Context, a action) error {
	if err := p.folder.put(a.to, a.file.Data); err != nil {
		there := p.folder.read(a.to)
		if !errors.Is(err, errChanged) || there == nil || there.Hash != a.file.Hash {
			return err
		}
	}
	p.folder.point("moved " + a.path)
	if err := p.folder.take(a.path, a.file.Hash); err != nil {
		return err
	}
	row := a.row
	row.Path = a.to
	return p.store.Mirrors().PutFile(ctx, row)
}

func (v verb) String() string {
	switch v {
	case record:
		return "remember"
	case take:
		return "take into the block"
	case write:
		return "write the file"
	case clash:
		return "keep both"
	case aside:
		return "put aside"
	case move:
		return "rename the file"
	case unplace:
		return "make room"
	case forget:
		return "forget the file"
	case makes:
		return "make a block"
	}
	return "?"
}

// owned checks the marker that says which mirror the folder belongs to.
func (f *folder) owned(owner string) error {
	data, err := f.root.ReadFile(ownerFile)
	if err != nil {
		return core.E(core.Conflict, "%s is not the mirror's folder any more: its mark is gone: %w", f.dir, err).
			WithHint("loci memory mirror %s makes it one again", f.dir)
	}
	if strings.TrimSpace(string(data)) != owner {
		return core.E(core.Conflict, "%s mirrors the memory of another agent, or of another home of loci", f.dir).
			WithHint("choose another folder, or turn the other mirror off; if there is none any more, delete %s/%s", f.dir, ownerFile)
	}
	return nil
}

// mark records which mirror the folder belongs to. The marker of another home is a conflict; another agent of this
// home must have been deleted.
func (f *folder) mark(owner string) error {
	if err := f.makeDirs(asideDir); err != nil {
		return core.E(core.Unavailable, "prepare %s: %w", f.dir, err)
	}
	home, _, _ := strings.Cut(owner, " ")
	if data, err := f.root.ReadFile(ownerFile); err == nil && !strings.HasPrefix(string(data), home+" ") {
		return f.owned(owner)
	}
	name, err := f.fill([]byte(owner + "\n"))
	if err == nil {
		err = f.root.Rename(name, ownerFile)
	}
	if err != nil {
		return core.E(core.Unavailable, "mark %s: %w", f.dir, err)
	}
	return nil
}
