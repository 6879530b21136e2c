// Package variables stores what tools find in their environment. The values are sealed before they come here.
//
// It works within a scope of the store's: whoever calls it brings the statements.
package variables

import (
	"context"
	"encoding/json"

	"loci/core"
	"loci/storage/sqlite"
)

// Store is the variables within a scope.
type Store struct{ On *sqlite.Scope }

var _ core.VariableStore = Store{}

type variableRow struct {
	ID          core.VariableID `db:"id"`
	Agent       core.AgentID    `db:"agent_id"`
	Name        string          `db:"name"`
	Description string          `db:"description"`
	Tools       string          `db:"tools"`
	Sealed      []byte          `db:"sealed"`
	CreatedAt   sqlite.Micros   `db:"created_at"`
	UpdatedAt   sqlite.Micros   `db:"updated_at"`
}

func (r *variableRow) variable() (core.Variable, error) {
	v := core.Variable{
		ID: r.ID, Agent: r.Agent, Name: r.Name, Description: r.Description, Sealed: r.Sealed,
		CreatedAt: r.CreatedAt.Time(), UpdatedAt: r.UpdatedAt.Time(),
	}
	return v, sqlite.Decode(r.Tools, &v.Tools)
}

const selectVariables = `SELECT id, agent_id, name, description, tools, sealed, created_at, updated_at FROM variables`

// List implements core.VariableStore.
func (s Store) List(ctx context.Context, agent core.AgentID) ([]core.Variable, error) {
	ctx, q := s.On.Read(ctx)
	var rows []variableRow
	if err := q.All(ctx, &rows, selectVariables+` WHERE agent_id = $1 ORDER BY name`, agent); err != nil {
		return nil, sqlite.Classify("list variables", err)
	}
	return sqlite.Convert(rows, (*variableRow).variable)
}

// Put implements core.VariableStore.
func (s Store) Put(ctx context.Context, v *core.Variable) error {
	if err := v.Validate(); err != nil {
		return err
	}
	tools, err := json.Marshal(append([]string{}, v.Tools...))
	if err != nil {
		return err
	}
	return s.On.Atomic(ctx, "put variable", func(ctx context.Context, q *sqlite.Querier) error {
		if err := s.room(ctx, q, v); err != nil {
			return err
		}
		row := variableRow{
			ID: v.ID, Agent: v.Agent, Name: v.Name, Description: v.Description, Tools: string(tools), Sealed: v.Sealed,
			CreatedAt: sqlite.ToMicros(v.CreatedAt), UpdatedAt: sqlite.ToMicros(v.UpdatedAt),
		}
		return q.NamedGet(ctx, &v.ID, `INSERT INTO variables (id, agent_id, name, description, tools, sealed, created_at, updated_at)
			VALUES (:id, :agent_id, :name, :description, :tools, :sealed, :created_at, :updated_at)
			ON CONFLICT (agent_id, name) DO UPDATE SET description = excluded.description, tools = excluded.tools,
			sealed = excluded.sealed, updated_at = excluded.updated_at RETURNING id`, row)
	})
}

// room refuses a variable of an agent that isn't there, and one too many.
func (s Store) room(ctx context.Context, q *sqlite.Querier, v *core.Variable) error {
	var one int
	if v.Agent != "" {
		ok, err := q.Find(ctx, &one, `SELECT 1 FROM agents WHERE id = $1 AND deleted_at IS NULL`, v.Agent)
		if err != nil {
			return err
		}
		if !ok {
			return sqlite.NotFound("agent", string(v.Agent))
		}
	}
	var others int
	_, err := q.Find(ctx, &others, `SELECT COUNT(*) FROM variables WHERE agent_id = $1 AND name <> $2`, v.Agent, v.Name)
	if err == nil && others >= core.MaxVariables {
		return core.E(core.TooLarge, "there are %d variables already, and no room for %s", others, v.Name)
	}
	return err
}

// Delete implements core.VariableStore.
func (s Store) Delete(ctx context.Context, id core.VariableID) error {
	return s.On.Write(ctx, "delete variable", func(ctx context.Context, q *sqlite.Querier) error {
		n, err := q.Exec(ctx, `DELETE FROM variables WHERE id = $1`, id)
		if err == nil && n == 0 {
			return sqlite.NotFound("variable", string(id))
		}
		return err
	})
}
