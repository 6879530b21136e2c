package passagelog

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"loci/core"
	"loci/storage/sqlite"
)

// Row is a row of passage_versions.
type Row struct {
	Seq        int64           `db:"num"`
	Passage    core.PassageID  `db:"passage_id"`
	Version    int             `db:"version"`
	Archive    core.ArchiveID  `db:"archive_id"`
	Text       string          `db:"text"`
	Gone       bool            `db:"gone"`
	AuthorKind core.AuthorKind `db:"author_kind"`
	AuthorID   string          `db:"author_id"`
	Step       core.StepID     `db:"step_id"`
	Rewind     core.RewindID   `db:"rewind_id"`
	Restores   int             `db:"restores"`
	At         sqlite.Micros   `db:"at"`
	Data       string          `db:"data"`
}

type rowData struct {
	Tags     []string       `json:"tags,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
	Source   string         `json:"source,omitempty"` // of the author
}

// PassageVersion returns what a row says.
func (r *Row) PassageVersion() (core.PassageVersion, error) {
	var d rowData
	if err := sqlite.Decode(r.Data, &d); err != nil {
		return core.PassageVersion{}, err
	}
	return core.PassageVersion{
		Passage: r.Passage, Archive: r.Archive, Version: r.Version, Text: r.Text, Tags: d.Tags, Metadata: d.Metadata, Gone: r.Gone,
		Author: core.Author{
			Kind: r.AuthorKind, ID: r.AuthorID, Step: r.Step, Restores: r.Restores, Rewind: r.Rewind, Source: d.Source,
		},
		At: r.At.Time(), Seq: r.Seq,
	}, nil
}

// Select reads versions.
const Select = `SELECT num, passage_id, version, archive_id, text, gone, author_kind, author_id, step_id, rewind_id, restores, at, data
	FROM passage_versions`

// first is what a passage was before it changed.
func first(p *core.Passage) core.PassageVersion {
	v := core.PassageVersion{
		Passage: p.ID, Archive: p.Archive, Version: 1, Text: p.Text, Tags: p.Tags, Metadata: p.Metadata,
		Author: core.Author{Kind: core.AuthorUser}, At: p.UpdatedAt, Created: p.CreatedAt,
	}
	if p.Agent != "" {
		v.Author = core.Author{Kind: core.AuthorAgent, ID: string(p.Agent), Step: p.Step, Source: p.Source}
	}
	if v.At.IsZero() {
		v.At = p.CreatedAt
	}
	return v
}

// Changes reports whether a passage has become another version.
func Changes(was, is *core.Passage) bool {
	return was.Text != is.Text || !slices.Equal(was.Tags, is.Tags) ||
		len(was.Metadata)+len(is.Metadata) > 0 && !reflect.DeepEqual(was.Metadata, is.Metadata)
}

// Keep keeps what a passage has become, gone or not; was is what it is until now.
func Keep(ctx context.Context, q *sqlite.Querier, was, is *core.Passage, gone bool, by core.Author, at sqlite.Micros) error {
	last, err := newest(ctx, q, was.ID)
	if err != nil {
		return err
	}
	if last == 0 {
		v := first(was)
		if err := insert(ctx, q, &v); err != nil {
			return err
		}
		last = 1
	}
	return insert(ctx, q, &core.PassageVersion{
		Passage: was.ID, Archive: was.Archive, Version: last + 1, Text: is.Text, Tags: is.Tags, Metadata: is.Metadata, Gone: gone,
		Author: by, At: at.Time(),
	})
}

func newest(ctx context.Context, q *sqlite.Querier, id core.PassageID) (n int, err error) {
	err = q.Get(ctx, &n, `SELECT COALESCE(MAX(version), 0) FROM passage_versions WHERE passage_id = $1`, id)
	return n, err
}

func insert(ctx context.Context, q *sqlite.Querier, v *core.PassageVersion) error {
	if v.Gone {
		v.Text, v.Tags, v.Metadata = "", nil, nil // the version before has it
	}
	data, err := sqlite.Encode(rowData{Tags: v.Tags, Metadata: maps.Clone(v.Metadata), Source: v.Author.Source})
	if err != nil {
		return err
	}
	_, err = q.Named(ctx, `INSERT INTO passage_versions
		(passage_id, version, archive_id, text, gone, author_kind, author_id, step_id, rewind_id, restores, at, data) VALUES
		(:passage_id, :version, :archive_id, :text, :gone, :author_kind, :author_id, :step_id, :rewind_id, :restores, :at, :data)`, Row{
		Passage: v.Passage, Version: v.Version, Archive: v.Archive, Text: v.Text, Gone: v.Gone, AuthorKind: v.Author.Kind,
		AuthorID: v.Author.ID, Step: v.Author.Step, Rewind: v.Author.Rewind, Restores: v.Author.Restores, At: sqlite.ToMicros(v.At),
		Data: data,
	})
	return err
}

// passageRow is what versions need of a passage.
type passageRow struct {
	Archive core.ArchiveID `db:"archive_id"`
	Text    string         `db:"text"`
	Agent   core.AgentID   `db:"agent_id"`
	Step    core.StepID    `db:"step_id"`
	Created sqlite.Micros  `db:"created_at"`
	Updated sqlite.Micros  `db:"updated_at"`
	Living  bool           `db:"living"`
	Data    string         `db:"data"`
}

// Open returns a passage of an archive that is there, and whether it is there itself or was retired. One that was deleted
// for good, or is a part of a file, is not found.
func Open(ctx context.Context, q *sqlite.Querier, id core.PassageID) (p core.Passage, living bool, err error) {
	var row passageRow
	ok, err := q.Find(ctx, &row, `SELECT p.archive_id, p.text, p.agent_id, p.step_id, p.created_at, p.updated_at, p.data,
		p.deleted_at IS NULL AS living FROM passages p JOIN archives a ON a.id = p.archive_id AND a.deleted_at IS NULL
		WHERE p.id = $1 AND p.file_id = '' AND (p.deleted_at IS NULL) = NOT COALESCE((SELECT v.gone FROM passage_versions v
		WHERE v.passage_id = p.id ORDER BY v.version DESC LIMIT 1), FALSE)`, id)
	if err != nil {
		return p, false, sqlite.NameDamage(err, "passage", string(id))
	}
	if !ok {
		return p, false, sqlite.NotFound("passage", string(id))
	}
	var d rowData
	if err := sqlite.Decode(row.Data, &d); err != nil {
		return p, false, sqlite.NameDamage(err, "passage", string(id))
	}
	return core.Passage{
		ID: id, Archive: row.Archive, Text: row.Text, Tags: d.Tags, Metadata: d.Metadata, Agent: row.Agent, Step: row.Step,
		Source: d.Source, CreatedAt: row.Created.Time(), UpdatedAt: row.Updated.Time(),
	}, row.Living, nil
}

// At returns a version of a passage.
func At(ctx context.Context, q *sqlite.Querier, p *core.Passage, version int) (core.PassageVersion, error) {
	var row Row
	ok, err := q.Find(ctx, &row, Select+` WHERE passage_id = $1 AND version = $2`, p.ID, version)
	noun := "version " + strconv.Itoa(version) + " of passage"
	switch {
	case err != nil:
		return core.PassageVersion{}, sqlite.NameDamage(err, noun, string(p.ID))
	case ok:
		v, err := row.PassageVersion()
		v.Created = p.CreatedAt
		return v, sqlite.NameDamage(err, noun, string(p.ID))
	}
	last, err := newest(ctx, q, p.ID)
	switch {
	case err != nil:
		return core.PassageVersion{}, err
	case last == 0 && version == 1:
		return first(p), nil
	}
	return core.PassageVersion{}, core.E(core.NotFound, "passage %s has no version %d", string(p.ID), version)
}

// Reader reads versions within a scope of the store's.
type Reader struct{ On *sqlite.Scope }

// Version implements core.PassageStore.
func (r Reader) Version(ctx context.Context, id core.PassageID, version int) (v core.PassageVersion, err error) {
	ctx, q := r.On.Read(ctx)
	p, _, err := Open(ctx, q, id)
	if err == nil {
		v, err = At(ctx, q, &p, version)
	}
	return v, sqlite.Classify("get passage version", err)
}

// Versions implements core.PassageStore.
func (r Reader) Versions(ctx context.Context, id core.PassageID, pg core.Page) ([]core.PassageVersion, error) {
	ctx, q := r.On.Read(ctx)
	p, _, err := Open(ctx, q, id)
	if err != nil {
		return nil, sqlite.Classify("list passage versions", err)
	}
	w := &sqlite.Where{}
	w.And("passage_id = ?", id)
	tail, err := sqlite.PagedVersions(ctx, q, w, "passage_versions", "passage_id", string(id), pg)
	if err != nil {
		return nil, err
	}
	versions, damaged, err := sqlite.WholePage(ctx, q, (*Row).PassageVersion, Select+w.String()+tail, w.Args...)
	if err != nil {
		return nil, sqlite.Classify("list passage versions", err)
	}
	if len(versions)+damaged == 0 && pg.After == "" && pg.Before == "" {
		return []core.PassageVersion{first(&p)}, nil
	}
	for i := range versions {
		versions[i].Created = p.CreatedAt
	}
	return versions, nil
}

// Lineage implements core.PassageStore.
func (r Reader) Lineage(ctx context.Context, id core.PassageID) ([]core.VersionLink, error) {
	ctx, q := r.On.Read(ctx)
	var links []core.VersionLink
	_, _, err := Open(ctx, q, id)
	if err == nil {
		err = q.All(ctx, &links, `SELECT version, restores FROM passage_versions WHERE passage_id = $1 ORDER BY version`, id)
	}
	if err != nil {
		return nil, sqlite.Classify("read the line of a passage", err)
	}
	if len(links) == 0 {
		links = append(links, core.VersionLink{Version: 1})
	}
	return links, nil
}
