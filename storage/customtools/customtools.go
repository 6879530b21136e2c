// Package customtools stores the tools that people wrote.
//
// It works within a scope of the store's: whoever calls it brings the statements.
package customtools

import (
	"context"
	"encoding/json"

	"loci/core"
	"loci/storage/sqlite"
)

// Store is the tools within a scope.
type Store struct{ On *sqlite.Scope }

var _ core.ToolStore = Store{}

// Row is a tool as it lies in the table.
type Row struct {
	ID          core.ToolID       `db:"id"`
	Name        string            `db:"name"`
	Description string            `db:"description"`
	Language    core.ToolLanguage `db:"language"`
	Source      string            `db:"source"`
	Data        string            `db:"data"`
	CreatedAt   sqlite.Micros     `db:"created_at"`
	UpdatedAt   sqlite.Micros     `db:"updated_at"`
}

// toolData is what of a tool nothing looks for.
type toolData struct {
	Parameters  json.RawMessage    `json:"parameters"`
	ArgsSchema  json.RawMessage    `json:"args_schema,omitempty"`
	Tags        []string           `json:"tags,omitempty"`
	Pip         []core.Requirement `json:"pip,omitempty"`
	Npm         []core.Requirement `json:"npm,omitempty"`
	ReturnChars int                `json:"return_chars,omitempty"`
	Asks        bool               `json:"asks,omitempty"`
	Parallel    bool               `json:"parallel,omitempty"`
	Metadata    map[string]any     `json:"metadata,omitempty"`
}

// Tool reads a row.
func (r *Row) Tool() (core.CustomTool, error) {
	var d toolData
	if err := sqlite.Decode(r.Data, &d); err != nil {
		return core.CustomTool{}, err
	}
	return core.CustomTool{
		ID: r.ID, Name: r.Name, Description: r.Description, Language: r.Language, Source: r.Source,
		Parameters: d.Parameters, ArgsSchema: d.ArgsSchema, Tags: d.Tags, Pip: d.Pip, Npm: d.Npm, ReturnChars: d.ReturnChars,
		Asks: d.Asks, Parallel: d.Parallel, Metadata: d.Metadata, CreatedAt: r.CreatedAt.Time(), UpdatedAt: r.UpdatedAt.Time(),
	}, nil
}

// Select reads all rows.
const Select = `SELECT id, name, description, language, source, data, created_at, updated_at FROM tools`

// Get implements core.ToolStore.
func (s Store) Get(ctx context.Context, id core.ToolID) (core.CustomTool, error) {
	t, ok, err := s.find(ctx, "get tool", Select+` WHERE id = $1`, string(id))
	if err == nil && !ok {
		err = sqlite.NotFound("tool", string(id))
	}
	return t, err
}

// Find implements core.ToolStore.
func (s Store) Find(ctx context.Context, name string) (core.CustomTool, bool, error) {
	return s.find(ctx, "find tool", Select+` WHERE name = $1`, name)
}

func (s Store) find(ctx context.Context, op, query, value string) (core.CustomTool, bool, error) {
	ctx, q := s.On.Read(ctx)
	var row Row
	ok, err := q.Find(ctx, &row, query, value)
	if err != nil || !ok {
		return core.CustomTool{}, false, sqlite.Classify(op, err)
	}
	t, err := row.Tool()
	return t, err == nil, err
}

// Among implements core.ToolStore.
func (s Store) Among(ctx context.Context, ids []core.ToolID) ([]core.CustomTool, error) {
	list, err := json.Marshal(append([]core.ToolID{}, ids...))
	if err != nil {
		return nil, err
	}
	return s.list(ctx, Select+` WHERE id IN (SELECT value FROM json_each($1)) ORDER BY name`, string(list))
}

// List implements core.ToolStore.
func (s Store) List(ctx context.Context) ([]core.CustomTool, error) {
	return s.list(ctx, Select+` ORDER BY name`)
}

func (s Store) list(ctx context.Context, query string, args ...any) ([]core.CustomTool, error) {
	ctx, q := s.On.Read(ctx)
	whole, _, err := sqlite.Whole(ctx, q, (*Row).Tool, query, args...) // of one that can't be read, doctor tells
	return whole, sqlite.Classify("list tools", err)
}

// Put implements core.ToolStore.
func (s Store) Put(ctx context.Context, t *core.CustomTool) error {
	if err := t.Validate(); err != nil {
		return err
	}
	data, err := sqlite.Encode(toolData{
		Parameters: t.Parameters, ArgsSchema: t.ArgsSchema, Tags: t.Tags, Pip: t.Pip, Npm: t.Npm, ReturnChars: t.ReturnChars,
		Asks: t.Asks, Parallel: t.Parallel, Metadata: t.Metadata,
	})
	if err != nil {
		return err
	}
	return s.On.Atomic(ctx, "put tool", func(ctx context.Context, q *sqlite.Querier) error {
		if err := room(ctx, q, t); err != nil {
			return err
		}
		row := Row{
			ID: t.ID, Name: t.Name, Description: t.Description, Language: t.Language, Source: t.Source, Data: data,
			CreatedAt: sqlite.ToMicros(t.CreatedAt), UpdatedAt: sqlite.ToMicros(t.UpdatedAt),
		}
		_, err := q.Named(ctx, `INSERT INTO tools (id, name, description, language, source, data, created_at, updated_at)
			VALUES (:id, :name, :description, :language, :source, :data, :created_at, :updated_at)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description, language = excluded.language,
			source = excluded.source, data = excluded.data, updated_at = excluded.updated_at`, row)
		return err
	})
}

// room refuses a name that is taken, and one tool too many.
func room(ctx context.Context, q *sqlite.Querier, t *core.CustomTool) error {
	var taken, others int
	if _, err := q.Find(ctx, &taken, `SELECT COUNT(*) FROM tools WHERE name = $1 AND id <> $2`, t.Name, t.ID); err != nil {
		return err
	}
	if taken > 0 {
		return core.E(core.Conflict, "there is a tool named %s already", t.Name).WithHint("loci tools show %s", t.Name)
	}
	_, err := q.Find(ctx, &others, `SELECT COUNT(*) FROM tools WHERE id <> $1`, t.ID)
	if err == nil && others >= core.MaxCustomTools {
		return core.E(core.TooLarge, "there are %d tools already, and no room for %s", others, t.Name)
	}
	return err
}

// Delete implements core.ToolStore.
func (s Store) Delete(ctx context.Context, id core.ToolID) error {
	return s.On.Write(ctx, "delete tool", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Exec(ctx, `DELETE FROM tools WHERE id = $1`, id)
		if err == nil && n == 0 {
			return sqlite.NotFound("tool", string(id))
		}
		return err
	})
}
