package backup

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/storage"
	"loci/storage/datadir"
	"loci/storage/sqlite"
)

// MetaHeld is the key of meta under which a restored home keeps what waits.
const MetaHeld = "held"

// HeldKind is what a held path was for.
type HeldKind string

// The kinds.
const (
	HeldMirror HeldKind = "mirror" // an agent's memory is kept in sync with the folder
	HeldFolder HeldKind = "folder" // a folder of files follows the directory
	HeldPart   HeldKind = "part"   // an unfinished backup that is to be removed
	HeldBackup HeldKind = "backup" // a copy that was made, for forgetting to look through
	HeldModel  HeldKind = "model"  // a server that texts are sent to for an embedding; the path is its address
)

// Held is a path outside of the home that a backup named, or a server that it agreed to send texts to. Who made the backup
// chose it, so a restored home neither reads nor writes nor removes anything there, nor sends anything: it waits until a
// person allows it, or drops it.
type Held struct {
	Kind   HeldKind      `json:"kind"`
	ID     string        `json:"id,omitempty"` // of the agent or folder; a model's handle
	Name   string        `json:"-"`            // theirs, as it is now
	Path   string        `json:"path"`
	Off    bool          `json:"off,omitempty"` // the mirror was off
	Branch string        `json:"branch,omitempty"`
	At     sqlite.Micros `json:"at,omitempty"`
	Mirror *core.Mirror  `json:"mirror,omitempty"` // of a folder
}

// maxHeld bounds what may wait.
const maxHeld = 10_000

// hold takes every path outside of the home out of the tables that act on it, and keeps it in a list.
func hold(ctx context.Context, tx *sqlx.Tx) ([]Held, error) {
	all, err := heldIn(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, h := range all {
		if err := h.check(); err != nil {
			return nil, err
		}
	}
	for _, take := range []func(context.Context, *sqlx.Tx) ([]Held, error){holdMirrors, holdFolders, holdCopies, holdModels} {
		more, err := take(ctx, tx)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	all = newest(all)
	if len(all) > maxHeld {
		return nil, core.E(core.Invalid, "the backup names %d paths outside of its home, more than %d", len(all), maxHeld).
			WithHint(hintBackup)
	}
	if err := putHeld(ctx, tx, all); err != nil {
		return nil, err
	}
	return all, nameHeld(ctx, tx, all)
}

// check refuses what hold never keeps. The list came with the backup, so what it shows must be all that it does.
func (h *Held) check() error {
	ok := false
	switch h.Kind {
	case HeldMirror:
		ok = h.ID != "" && h.Mirror == nil
	case HeldFolder:
		ok = h.ID != "" && h.Mirror != nil && h.Mirror.Path == h.Path
	case HeldModel:
		ok = h.ID != "" && h.Mirror == nil
	case HeldPart, HeldBackup:
		ok = h.ID == "" && h.Mirror == nil && (h.Kind == HeldPart) == (h.At == datadir.Unfinished)
	}
	if !ok || h.Path == "" {
		return core.E(core.Invalid, "the list of paths that wait holds one that loci did not put there: %q", h.Path).WithHint(hintBackup)
	}
	return nil
}

// newest leaves the last that waits for each agent, folder and copy: what acted when the backup was made stands behind what
// waited already.
func newest(all []Held) []Held {
	type key struct{ kind, of string }
	last := map[key]int{}
	of := func(h *Held) key {
		if h.ID == "" {
			return key{"copy", h.Path}
		}
		return key{string(h.Kind), h.ID}
	}
	for i := range all {
		last[of(&all[i])] = i
	}
	var out []Held
	for i := range all {
		if last[of(&all[i])] == i {
			out = append(out, all[i])
		}
	}
	return out
}

func holdMirrors(ctx context.Context, tx *sqlx.Tx) ([]Held, error) {
	taken, err := storage.TakeMirrors(ctx, tx)
	out := make([]Held, len(taken))
	for i, m := range taken {
		out[i] = Held{Kind: HeldMirror, ID: string(m.Agent), Path: m.Path, Off: !m.On, Branch: m.Branch, At: sqlite.ToMicros(m.CreatedAt)}
	}
	return out, err
}

func holdFolders(ctx context.Context, tx *sqlx.Tx) ([]Held, error) {
	taken, err := storage.TakeFolderMirrors(ctx, tx)
	var out []Held
	for _, f := range taken {
		out = append(out, Held{Kind: HeldFolder, ID: string(f.ID), Path: f.Mirror.Path, Mirror: f.Mirror})
	}
	return out, err
}

func holdCopies(ctx context.Context, tx *sqlx.Tx) ([]Held, error) {
	var rows []struct {
		Path string        `db:"path"`
		At   sqlite.Micros `db:"at"`
	}
	if err := tx.SelectContext(ctx, &rows, `SELECT path, at FROM backups ORDER BY at, path`); err != nil {
		return nil, sqlite.Classify("hold backups", err)
	}
	var out []Held
	for _, r := range rows {
		h := Held{Kind: HeldBackup, Path: r.Path, At: r.At}
		if r.At == datadir.Unfinished {
			h.Kind = HeldPart
		}
		if h.Kind == HeldBackup || !datadir.Gone(r.Path) {
			out = append(out, h)
		}
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM backups`)
	return out, sqlite.Classify("hold backups", err)
}

// heldIn reads what waits, without names.
func heldIn(ctx context.Context, on sqlx.QueryerContext) ([]Held, error) {
	var texts []string
	if err := sqlx.SelectContext(ctx, on, &texts, `SELECT value FROM meta WHERE key = $1`, MetaHeld); err != nil || len(texts) == 0 {
		return nil, sqlite.Classify("read what waits", err)
	}
	var all []Held
	if err := json.Unmarshal([]byte(texts[0]), &all); err != nil {
		return nil, core.E(core.Invalid, "the list of paths that wait cannot be read: %w", err).WithHint(hintBackup)
	}
	return all, nil
}

func putHeld(ctx context.Context, on sqlx.ExecerContext, all []Held) error {
	if len(all) == 0 {
		_, err := on.ExecContext(ctx, `DELETE FROM meta WHERE key = $1`, MetaHeld)
		return sqlite.Classify("keep what waits", err)
	}
	text, err := sqlite.Encode(all)
	if err != nil {
		return err
	}
	return setMeta(ctx, on, MetaHeld, text)
}

// nameHeld fills in what agents and folders are called; one that is gone has no name.
func nameHeld(ctx context.Context, on sqlx.QueryerContext, all []Held) error {
	for i := range all {
		table := "agents"
		switch all[i].Kind {
		case HeldFolder:
			table = "folders"
		case HeldMirror:
		case HeldPart, HeldBackup, HeldModel:
			continue
		}
		var names []string
		if err := sqlx.SelectContext(
			ctx,
			on,
			&names,
			`SELECT name FROM `+table+` WHERE id = $1 AND deleted_at IS NULL`,
			all[i].ID,
		); err != nil {
			return sqlite.Classify("name what waits", err)
		}
		if len(names) > 0 {
			all[i].Name = names[0]
		}
	}
	return nil
}

// Waiting lists the paths of the home in dir that wait for a person; its store may be open.
func Waiting(ctx context.Context, dir string) ([]Held, error) {
	path := filepath.Join(dir, datadir.FactsFile)
	if _, err := os.Stat(path); err != nil {
		return nil, nil // where nothing is stored nothing waits
	}
	db, err := sqlite.OpenPool(ctx, path, sqlite.Full, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // it was only read from
	all, err := heldIn(ctx, db)
	if err != nil {
		return nil, err
	}
	agreed, err := endpoints(ctx, db)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(h Held) bool { // somebody has agreed to a server meanwhile
		return h.Kind == HeldModel && agreed[h.ID] != core.EmbeddingHeld
	})
	return all, nameHeld(ctx, db, all)
}

// Settle ends the waiting of those that pick chooses: they are allowed, and then act again as before the backup, or dropped
// for good. It returns those it chose.
func Settle(ctx context.Context, s *storage.Store, allow bool, pick func(Held) bool) ([]Held, error) {
	var chosen []Held
	err := s.Transact(ctx, func(ctx context.Context, tx core.Store, q *sqlite.Querier) error {
		all, err := Waiting(ctx, s.Config().Dir) // nobody else writes it while the writer is held
		if err != nil {
			return err
		}
		chosen = nil
		left := slices.DeleteFunc(slices.Clone(all), pick)
		for _, h := range all {
			if !pick(h) {
				continue
			}
			chosen = append(chosen, h)
			if allow {
				if err := allowed(ctx, tx, q, h); err != nil {
					return err
				}
			}
		}
		text, err := sqlite.Encode(left)
		if err != nil {
			return err
		}
		return tx.Meta().Put(ctx, MetaHeld, text)
	})
	return chosen, err
}

// allowed puts a path back where it acts. Of an agent or folder that is gone nothing does.
func allowed(ctx context.Context, tx core.Store, q *sqlite.Querier, h Held) error {
	if h.Name == "" && (h.Kind == HeldMirror || h.Kind == HeldFolder) {
		return nil
	}
	if h.Kind == HeldModel {
		return allowModel(ctx, tx, h)
	}
	if !filepath.IsAbs(h.Path) || filepath.Clean(h.Path) != h.Path {
		return core.E(core.Invalid, "%q is no whole path on this computer", h.Path).WithHint("drop it: loci restore --drop PATH")
	}
	switch h.Kind {
	case HeldMirror:
		id := core.AgentID(h.ID)
		if _, anew, err := tx.Mirrors().Find(ctx, id); err != nil || anew {
			return err
		}
		return tx.Mirrors().Put(ctx, core.MemoryMirror{Agent: id, Path: h.Path, Branch: h.Branch, On: !h.Off, CreatedAt: h.At.Time()})
	case HeldFolder:
		f, err := tx.Folders().Get(ctx, core.FolderID(h.ID))
		if err != nil || f.Mirror != nil {
			return err
		}
		f.Mirror = h.Mirror
		return tx.Folders().Update(ctx, &f)
	case HeldPart, HeldBackup:
		return datadir.NoteBackup(ctx, q, h.Path, h.At)
	case HeldModel:
	}
	return nil
}
