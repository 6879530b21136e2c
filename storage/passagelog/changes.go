package passagelog

import (
	"context"

	"loci/core"
	"loci/storage/sqlite"
)

// changeRow is a version with the time its passage was made.
type changeRow struct {
	Row
	Created sqlite.Micros `db:"created_at"`
}

func (r *changeRow) change() (core.PassageVersion, error) {
	v, err := r.PassageVersion()
	v.Created = r.Created.Time()
	return v, err
}

// Changes implements core.PassageStore.
func (r Reader) Changes(ctx context.Context, f core.PassageChanges) ([]core.PassageVersion, error) {
	ctx, q := r.On.Read(ctx)
	w := &sqlite.Where{}
	w.And("v.archive_id = ?", f.Archive)
	w.And("v.version > 1")
	if f.By != "" {
		w.And("v.author_kind = 'agent' AND v.author_id = ?", f.By)
	}
	if f.Restored != "" {
		w.And(`v.restores > 0 AND v.author_kind = 'user' AND v.rewind_id = '' AND EXISTS (SELECT 1 FROM passage_versions o
			WHERE o.passage_id = v.passage_id AND o.author_kind = 'agent' AND o.author_id = ?)`, f.Restored)
	}
	if f.Before > 0 {
		w.And("v.num < ?", f.Before)
	}
	if f.After > 0 {
		w.And("v.num > ?", f.After)
	}
	// The last version says that a passage is gone, or it is there: others were deleted for good.
	w.And(`(p.deleted_at IS NULL) = NOT (SELECT n.gone FROM passage_versions n WHERE n.passage_id = v.passage_id
		ORDER BY n.version DESC LIMIT 1)`)
	limit := 50
	if f.Limit > 0 {
		limit = f.Limit
	}
	out, _, err := sqlite.WholePage(ctx, q, (*changeRow).change, `SELECT v.*, p.created_at FROM passage_versions v
		JOIN passages p ON p.id = v.passage_id JOIN archives a ON a.id = v.archive_id AND a.deleted_at IS NULL`+
		w.String()+` ORDER BY v.num DESC LIMIT `+w.Arg(limit), w.Args...)
	return out, sqlite.Classify("list changes of passages", err)
}
