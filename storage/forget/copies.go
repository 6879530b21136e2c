package forget

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/core/redact"
	"loci/storage"
	"loci/storage/datadir"
	"loci/storage/sqlite"
	"loci/storage/vectors"
	"loci/storage/view"
)

// copies lists what still holds the texts and isn't touched: backups at the paths they were written to, copies of the
// home's files, any other file in the home, and the user's own files in directories that a folder follows.
func (g *Forgetter) copies(ctx context.Context, f *pass) ([]core.ForgetCopy, error) {
	r := f.r
	var backups []string
	if err := g.s.Reader().All(ctx, &backups, `SELECT path FROM backups ORDER BY path`); err != nil {
		return nil, sqlite.Classify("list backups", err)
	}
	kinds := map[string]core.CopyKind{}
	for _, path := range backups {
		kinds[path] = core.CopyBackup
	}
	cfg := g.s.Config()
	for _, dir := range append([]string{cfg.Dir, cfg.BackupDir}, g.beside...) {
		g.filesIn(dir, kinds, core.CopyFile)
	}
	if err := g.followed(ctx, f.files, kinds); err != nil {
		return nil, err
	}
	found, err := g.mirrors(ctx, f, kinds)
	if err != nil {
		return nil, err
	}
	for path, kind := range kinds {
		if err := ctx.Err(); err != nil {
			return nil, sqlite.Classify("look through copies", context.Cause(ctx))
		}
		holds, err := inFile(ctx, r, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if holds || err != nil {
			found = append(found, core.ForgetCopy{Path: path, Kind: kind, Unknown: !holds})
		}
	}
	slices.SortFunc(found, func(a, b core.ForgetCopy) int { return strings.Compare(a.Path, b.Path) })
	return found, nil
}

// followed finds the files on disk that the texts of files were read from.
func (g *Forgetter) followed(ctx context.Context, ids []core.FileID, kinds map[string]core.CopyKind) error {
	for chunk := range sqlite.Chunks(ids) {
		w := &sqlite.Where{}
		w.And("d.mirrored")
		sqlite.In(w, "f.id", chunk)
		var rows []struct {
			Name string `db:"name"`
			Data string `db:"data"`
		}
		if err := g.s.Reader().
			All(ctx, &rows, `SELECT f.name, d.data FROM files f JOIN folders d ON d.id = f.folder_id`+w.String(), w.Args...); err != nil {
			return sqlite.Classify("find the files of a folder", err)
		}
		for _, row := range rows {
			var d storage.FolderData
			if err := sqlite.Decode(row.Data, &d); err != nil {
				return err
			}
			if d.Mirror != nil {
				kinds[filepath.Join(d.Mirror.Path, filepath.FromSlash(row.Name))] = core.CopyFollowed
			}
		}
	}
	return nil
}

// mirrors finds the files that memory is mirrored to, and git's history of them.
func (g *Forgetter) mirrors(ctx context.Context, f *pass, kinds map[string]core.CopyKind) ([]core.ForgetCopy, error) {
	var paths []string
	if err := g.s.Reader().All(ctx, &paths, `SELECT DISTINCT path FROM mirrors ORDER BY path`); err != nil {
		return nil, sqlite.Classify("list mirrors", err)
	}
	asking, cancel := context.WithTimeout(ctx, historyPatience)
	defer cancel()
	var found []core.ForgetCopy
	for _, path := range paths {
		g.filesIn(path, kinds, core.CopyMirrored)
		if _, err := os.Stat(filepath.Join(path, gitFolder)); err == nil {
			if holds, err := g.inHistory(asking, f.r, path); holds || err != nil {
				found = append(found, core.ForgetCopy{Path: path, Kind: core.CopyGit, Unknown: !holds})
			}
		}
		if f.r.Finds(path) {
			found = append(found, core.ForgetCopy{Path: path, Kind: core.CopyMirror})
		}
	}
	return g.mirrorPaths(ctx, f, found, kinds)
}

// historyPatience is how long git may take for all mirrors together. The history of those left over may hold the text.
const historyPatience = 15 * time.Second

var errNoHistory = core.E(core.Unsupported, "git cannot be asked here")

// inHistory reports whether git's history holds one of the texts.
func (g *Forgetter) inHistory(ctx context.Context, r *redact.Redactor, dir string) (bool, error) {
	if g.history == nil {
		return false, errNoHistory
	}
	scan := redact.NewScanner(r)
	return scan.End(g.history(ctx, dir, scan))
}

// mirrorPaths adds a mirror's files whose names hold a text. If the mirror is on, they are renamed with the blocks and
// follow what is forgotten in them, so only the names are checked.
func (g *Forgetter) mirrorPaths(
	ctx context.Context,
	f *pass,
	found []core.ForgetCopy,
	kinds map[string]core.CopyKind,
) ([]core.ForgetCopy, error) {
	var dir, path, block string
	var on bool
	err := g.s.Reader().
		Each(ctx, `SELECT m.path, m.is_on, f.path, f.block_id FROM mirror_files f JOIN mirrors m ON m.agent_id = f.agent_id`, nil,
			[]any{&dir, &on, &path, &block}, func() error {
				file := filepath.Join(dir, filepath.FromSlash(path))
				if f.r.Finds(path) {
					found = append(found, core.ForgetCopy{Path: file, Kind: core.CopyMirror})
				}
				if on && f.blocks[block] {
					delete(kinds, file)
				}
				return nil
			})
	if err != nil {
		return nil, sqlite.Classify("list files of mirrors", err)
	}
	return found, nil
}

const gitFolder = ".git"

// filesIn adds to kinds the files in a directory that aren't the store's own. They are of the given kind unless their
// names say otherwise.
func (g *Forgetter) filesIn(dir string, kinds map[string]core.CopyKind, kind core.CopyKind) {
	dataDir := g.s.Config().Dir
	own := []string{filepath.Join(dataDir, datadir.ReserveFile)}
	for _, name := range []string{datadir.FactsFile, datadir.EventsFile, datadir.IndexFile} {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			own = append(own, filepath.Join(dataDir, name+suffix))
		}
	}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error { // the callback never returns an error
		name := filepath.Base(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			kinds[path] = kind // it will turn out to be unreadable
			return nil         //nolint:nilerr // it is listed as a file that may hold the text
		case e.IsDir() && name == gitFolder:
			return fs.SkipDir
		case !e.Type().IsRegular() || slices.Contains(own, path) || kinds[path] != "",
			strings.HasPrefix(name, view.VectorFiles) && strings.HasSuffix(name, vectors.Ending):
			return nil
		}
		kinds[path] = kind
		switch {
		case strings.HasPrefix(name, datadir.CopyPrefix):
			kinds[path] = core.CopyMigration
		case strings.Contains(name, ".db.replaced-") || strings.Contains(name, ".db.broken-"):
			kinds[path] = core.CopyReplaced
		}
		return nil
	})
}

// inFile reports whether a file holds one of the texts: in its places if it is a database, else anywhere in its bytes.
func inFile(ctx context.Context, r *redact.Redactor, path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewReaderSize(f, 1<<20)
	var broken error // unreadable as a database; its bytes may be enough
	if head, _ := in.Peek(len(sqlite.Magic)); string(head) == sqlite.Magic {
		var found bool
		if found, broken = inDatabase(ctx, r, path); found {
			return true, nil
		}
	}
	found, err := r.FindsIn(ctx, in)
	return found, errors.Join(err, broken)
}

// inDatabase searches the places of a copy of the facts, which may be older and have fewer of them.
func inDatabase(ctx context.Context, r *redact.Redactor, path string) (bool, error) {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro&immutable=1"}
	db, err := sqlx.Open("sqlite", u.String())
	if err != nil {
		return false, err
	}
	defer func() { _ = db.Close() }()
	q := sqlite.NewQuerier(db, nil)
	defer q.Close()
	f := &pass{q: q, r: r, hashes: map[string]bool{}, blocks: map[string]bool{}}
	for _, p := range places() {
		var known []string
		if err := q.All(ctx, &known, `SELECT name FROM pragma_table_info($1)`, p.table); err != nil {
			return false, err
		}
		if len(known) == 0 {
			continue
		}
		p.columns = slices.DeleteFunc(p.columns, func(c column) bool { return !slices.Contains(known, c.name) })
		found := core.ForgetPlace{}
		if err := f.place(ctx, &p, &found); err != nil {
			return false, err
		}
		if found.Count > 0 {
			return true, nil
		}
	}
	return false, nil
}
