package storage

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/storage/vectors"
)

// copies names what still holds the texts and is not touched: backups where they were made, copies of the home's files,
// whatever else lies in the home, and files of a person's own that a folder follows.
func (s *Store) copies(ctx context.Context, f *forgetter) ([]core.ForgetCopy, error) {
	r := f.r
	var backups []string
	if err := s.facts.r.all(ctx, &backups, `SELECT path FROM backups ORDER BY path`); err != nil {
		return nil, classify("list backups", err)
	}
	kinds := map[string]core.CopyKind{}
	for _, path := range backups {
		kinds[path] = core.CopyBackup
	}
	for _, dir := range append([]string{s.cfg.Dir, s.cfg.BackupDir}, s.cfg.Beside...) {
		s.filesIn(dir, kinds, core.CopyFile)
	}
	if err := s.followed(ctx, f.files, kinds); err != nil {
		return nil, err
	}
	found, err := s.mirrors(ctx, f, kinds)
	if err != nil {
		return nil, err
	}
	for path, kind := range kinds {
		if err := ctx.Err(); err != nil {
			return nil, classify("look through copies", context.Cause(ctx))
		}
		holds, err := r.inFile(ctx, path)
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

// followed finds the files on disk that texts of files were read from.
func (s *Store) followed(ctx context.Context, ids []core.FileID, kinds map[string]core.CopyKind) error {
	for chunk := range chunks(ids) {
		w := &where{}
		w.and("d.mirrored")
		in(w, "f.id", chunk)
		var rows []struct {
			Name string `db:"name"`
			Data string `db:"data"`
		}
		if err := s.facts.r.all(ctx, &rows, `SELECT f.name, d.data FROM files f JOIN folders d ON d.id = f.folder_id`+w.String(), w.args...); err != nil {
			return classify("find the files of a folder", err)
		}
		for _, row := range rows {
			var d folderData
			if err := decode(row.Data, &d); err != nil {
				return err
			}
			if d.Mirror != nil {
				kinds[filepath.Join(d.Mirror.Path, filepath.FromSlash(row.Name))] = core.CopyFollowed
			}
		}
	}
	return nil
}

// mirrors finds the files that memory is mirrored to, and what git keeps of them.
func (s *Store) mirrors(ctx context.Context, f *forgetter, kinds map[string]core.CopyKind) ([]core.ForgetCopy, error) {
	var paths []string
	if err := s.facts.r.all(ctx, &paths, `SELECT DISTINCT path FROM mirrors ORDER BY path`); err != nil {
		return nil, classify("list mirrors", err)
	}
	asking, cancel := context.WithTimeout(ctx, historyPatience)
	defer cancel()
	var found []core.ForgetCopy
	for _, path := range paths {
		s.filesIn(path, kinds, core.CopyMirrored)
		if _, err := os.Stat(filepath.Join(path, gitFolder)); err == nil {
			if holds, err := s.inHistory(asking, f.r, path); holds || err != nil {
				found = append(found, core.ForgetCopy{Path: path, Kind: core.CopyGit, Unknown: !holds})
			}
		}
		if f.r.in(path) {
			found = append(found, core.ForgetCopy{Path: path, Kind: core.CopyMirror})
		}
	}
	return s.mirrorPaths(ctx, f, found, kinds)
}

// historyPatience is how long git is asked, of all mirrors together. Those that are left may hold the text.
const historyPatience = 15 * time.Second

var errNoHistory = core.E(core.Unsupported, "git cannot be asked here")

// inHistory reports whether git keeps one of the texts.
func (s *Store) inHistory(ctx context.Context, r *redactor, dir string) (bool, error) {
	if s.cfg.History == nil {
		return false, errNoHistory
	}
	look := newLook(r)
	return look.end(s.cfg.History(ctx, dir, look))
}

// mirrorPaths adds the files of mirrors that are named after what is looked for. Those of a mirror that is on change
// their names with the blocks, and follow what is forgotten in them: of these only the names are found.
func (s *Store) mirrorPaths(ctx context.Context, f *forgetter, found []core.ForgetCopy, kinds map[string]core.CopyKind) ([]core.ForgetCopy, error) {
	var dir, path, block string
	var on bool
	err := s.facts.r.each(ctx, `SELECT m.path, m.is_on, f.path, f.block_id FROM mirror_files f JOIN mirrors m ON m.agent_id = f.agent_id`, nil,
		[]any{&dir, &on, &path, &block}, func() error {
			file := filepath.Join(dir, filepath.FromSlash(path))
			if f.r.in(path) {
				found = append(found, core.ForgetCopy{Path: file, Kind: core.CopyMirror})
			}
			if on && f.blocks[block] {
				delete(kinds, file)
			}
			return nil
		})
	if err != nil {
		return nil, classify("list files of mirrors", err)
	}
	return found, nil
}

const gitFolder = ".git"

// filesIn finds the files of a folder that are not the store's own; kind is what they are if nothing tells.
func (s *Store) filesIn(dir string, kinds map[string]core.CopyKind, kind core.CopyKind) {
	own := []string{}
	for _, name := range []string{factsFile, eventsFile, indexFile} {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			own = append(own, filepath.Join(s.cfg.Dir, name+suffix))
		}
	}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error { // it returns no error of its own
		name := filepath.Base(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			kinds[path] = kind // which will be found unreadable
			return nil         //nolint:nilerr // it is named as a file that may hold the text
		case e.IsDir() && name == gitFolder:
			return fs.SkipDir
		case !e.Type().IsRegular() || slices.Contains(own, path) || kinds[path] != "",
			strings.HasPrefix(name, vectorFiles) && strings.HasSuffix(name, vectors.Ending):
			return nil
		}
		kinds[path] = kind
		switch {
		case strings.HasPrefix(name, copyPrefix):
			kinds[path] = core.CopyMigration
		case strings.Contains(name, ".db.replaced-") || strings.Contains(name, ".db.broken-"):
			kinds[path] = core.CopyReplaced
		}
		return nil
	})
}

const sqliteMagic = "SQLite format 3\x00"

// inFile reports whether a file holds one of the texts: in a database in its places, else among its bytes.
func (r *redactor) inFile(ctx context.Context, path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewReaderSize(f, 1<<20)
	var broken error // as a database; its bytes may say enough
	if head, _ := in.Peek(len(sqliteMagic)); string(head) == sqliteMagic {
		var found bool
		if found, broken = r.inDatabase(ctx, path); found {
			return true, nil
		}
	}
	found, err := r.inBytes(ctx, in)
	return found, errors.Join(err, broken)
}

// inBytes reads a file.
func (r *redactor) inBytes(ctx context.Context, in io.Reader) (bool, error) {
	look := newLook(r)
	piece := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err := in.Read(piece)
		if _, found := look.Write(piece[:n]); found != nil || err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return look.end(err)
		}
	}
}

// look searches what is written to it, piece by piece; the pieces overlap by the longest text.
type look struct {
	r       *redactor
	room    []byte
	have    int
	overlap int
	found   bool
}

var errFound = errors.New("it is found")

func newLook(r *redactor) *look {
	n := r.longest()
	return &look{r: r, room: make([]byte, n+1<<20), overlap: n}
}

// Write implements io.Writer; its error says that nothing more needs to be written.
func (l *look) Write(p []byte) (int, error) {
	taken := 0
	for taken < len(p) && !l.found {
		n := copy(l.room[l.have:], p[taken:])
		taken, l.have = taken+n, l.have+n
		if l.have == len(l.room) {
			l.found = l.r.in(string(l.room))
			l.have = copy(l.room, l.room[l.have-l.overlap:])
		}
	}
	if l.found {
		return taken, errFound
	}
	return taken, nil
}

// end is the answer, after err ended the writing.
func (l *look) end(err error) (bool, error) {
	if l.found || l.r.in(string(l.room[:l.have])) {
		return true, nil
	}
	return false, err
}

// longest is the length of the longest text in bytes; where case does not count, a letter may have more of them.
func (r *redactor) longest() int {
	n := quoteBytes
	for _, texts := range r.heads {
		n = max(n, len(texts[0]))
	}
	if r.re != nil {
		n = 4 * len(r.re.String())
	}
	return n
}

// inDatabase looks through the places of a copy of the facts, which may be older and know fewer.
func (r *redactor) inDatabase(ctx context.Context, path string) (bool, error) {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro&immutable=1"}
	db, err := sqlx.Open("sqlite", u.String())
	if err != nil {
		return false, err
	}
	defer func() { _ = db.Close() }()
	q := newQuerier(db, nil)
	defer q.close()
	f := &forgetter{q: q, r: r, hashes: map[string]bool{}, blocks: map[string]bool{}}
	for _, p := range places() {
		var known []string
		if err := q.all(ctx, &known, `SELECT name FROM pragma_table_info($1)`, p.table); err != nil {
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
