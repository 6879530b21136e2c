// Package traces stores requests to models with their answers.
//
// They lie in the file of the run log: their loss would not matter, no backup has them, nobody waits for the disk because of them,
// and forgetting a text empties that file as a whole.
package traces

import (
	"context"
	"time"

	"loci/core"
	"loci/storage/deflate"
	"loci/storage/sqlite"
)

// Store is the traces within a file.
type Store struct{ File *sqlite.File }

var _ core.TraceStore = Store{}

type traceRow struct {
	ID           core.TraceID        `db:"id"`
	Agent        core.AgentID        `db:"agent_id"`
	Conversation core.ConversationID `db:"conversation_id"`
	Run          core.RunID          `db:"run_id"`
	Step         core.StepID         `db:"step_id"`
	At           sqlite.Micros       `db:"at"`
	Bytes        int                 `db:"bytes"`
	Data         []byte              `db:"data"`
}

// Put implements core.TraceStore.
func (s Store) Put(ctx context.Context, t *core.Trace) error {
	text, err := sqlite.Encode(t)
	if err != nil {
		return err
	}
	data, err := deflate.Compress(text)
	if err != nil {
		return err
	}
	row := traceRow{
		ID: t.ID, Agent: t.Agent, Conversation: t.Conversation, Run: t.Run, Step: t.Step, At: sqlite.ToMicros(t.At), Bytes: len(data),
		Data: data,
	}
	err = s.File.Do(ctx, func(ctx context.Context, q *sqlite.Querier) error {
		_, err := q.Named(ctx, `INSERT INTO traces (id, agent_id, conversation_id, run_id, step_id, at, bytes, data)
			VALUES (:id, :agent_id, :conversation_id, :run_id, :step_id, :at, :bytes, :data)`, row)
		return err
	})
	return sqlite.Classify("keep a trace", err)
}

// mostListed bounds a list: a run has at most that many requests that anybody reads.
const mostListed = 1000

// List implements core.TraceStore.
func (s Store) List(ctx context.Context, q core.TraceQuery) ([]core.Trace, error) {
	column, id := "run_id", string(q.Run)
	if q.Step != "" {
		column, id = "step_id", string(q.Step)
	}
	var rows [][]byte
	text := `SELECT data FROM traces WHERE ` + column + ` = $1 AND $1 <> '' ORDER BY at, rowid LIMIT $2`
	err := s.File.Read.All(ctx, &rows, text, id, mostListed)
	if err != nil {
		return nil, sqlite.Classify("list traces", err)
	}
	out := make([]core.Trace, len(rows))
	for i, data := range rows {
		text, err := deflate.Decompress(data)
		if err != nil {
			return nil, err
		}
		if err := sqlite.Decode(text, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Expire implements core.TraceStore.
func (s Store) Expire(ctx context.Context, t time.Time, most int64) error {
	err := s.File.Do(ctx, func(ctx context.Context, q *sqlite.Querier) error {
		if _, err := q.Exec(ctx, `DELETE FROM traces WHERE at < $1`, sqlite.ToMicros(t)); err != nil {
			return err
		}
		_, err := q.Exec(ctx, `DELETE FROM traces WHERE rowid IN (SELECT rowid FROM (SELECT rowid,
			SUM(bytes) OVER (ORDER BY at DESC, rowid DESC) AS sofar FROM traces) WHERE sofar > $1)`, most)
		return err
	})
	return sqlite.Classify("delete old traces", err)
}
