// Package passagelog knows what passages were, and what takes an agent's own back to a point in its past.
//
// It works within a scope of the store's: whoever calls it brings the statements, and a transaction where it writes.
package passagelog

import (
	"context"
	"slices"

	"loci/core"
	"loci/storage/sqlite"
)

// Point is a point in the past, between steps and between rewinds.
type Point struct {
	Step   int64 `db:"step"`   // the last step before the point
	Rewind int64 `db:"rewind"` // the first rewind that is not
}

// Find finds the point at which a step was sent, or before a rewind.
func Find(ctx context.Context, q *sqlite.Querier, at core.RewindPoint) (before Point, err error) {
	var ok bool
	if at.Step != "" {
		ok, err = q.Find(
			ctx,
			&before,
			`SELECT s.num - 1 AS step, COALESCE((SELECT MAX(number) FROM rewinds WHERE after_step < s.num), 0) + 1 AS rewind
			FROM steps s WHERE s.id = $1`,
			at.Step,
		)
	} else {
		ok, err = q.Find(ctx, &before, `SELECT after_step AS step, number AS rewind FROM rewinds WHERE id = $1`, at.Rewind)
	}
	if err != nil {
		return before, sqlite.Classify("find a point in the past", err)
	}
	if !ok {
		return before, core.E(core.NotFound, "there is no step or rewind %s%s", at.Step, at.Rewind)
	}
	return before, nil
}

// Back says what takes an agent's passages back to a point.
func Back(
	ctx context.Context,
	q *sqlite.Querier,
	agent core.AgentID,
	own, others []core.ArchiveID,
	at core.RewindPoint,
) (back core.PassagesBack, err error) {
	if len(own)+len(others) == 0 {
		return back, nil
	}
	before, err := Find(ctx, q, at)
	if err != nil {
		return back, err
	}
	if back.Take, back.Bring, err = inserted(ctx, q, agent, own, before); err != nil {
		return back, err
	}
	back.Turn, err = turned(ctx, q, agent, slices.Concat(own, others), before)
	return back, err
}

// inserted compares the passages that are there with those that were: a passage was there if its step was before the
// point, and the last rewind before the point that touched it did not take it.
func inserted(
	ctx context.Context,
	q *sqlite.Querier,
	agent core.AgentID,
	archives []core.ArchiveID,
	before Point,
) (take, bring []core.PassageID, err error) {
	if len(archives) == 0 {
		return nil, nil, nil
	}
	const last = `COALESCE((SELECT r.taken FROM rewind_passages r WHERE r.passage_id = p.id AND r.rewind < ? ORDER BY ` +
		`r.rewind DESC LIMIT 1), FALSE)`
	w := &sqlite.Where{}
	columns := w.Bind(
		`SELECT p.id, p.deleted_at IS NULL AS living, s.num <= ? AND NOT `+last+` AS wanted, EXISTS (SELECT 1 FROM rewind_passages r
		WHERE r.passage_id = p.id AND r.taken AND r.rewind = (SELECT MAX(x.rewind) FROM rewind_passages x WHERE x.passage_id = `+
			`p.id)) AS taken
		FROM steps s JOIN passages p ON p.step_id = s.id AND p.step_id <> ''`,
		before.Step,
		before.Rewind,
	)
	w.And("s.agent_id = ? AND p.agent_id = ?", agent, agent)
	w.And("(s.num > ? OR p.id IN (SELECT passage_id FROM rewind_passages))", before.Step)
	sqlite.In(w, "p.archive_id", archives)
	var rows []struct {
		ID     core.PassageID `db:"id"`
		Living bool           `db:"living"`
		Wanted bool           `db:"wanted"`
		Taken  bool           `db:"taken"` // what deleted it was a rewind
	}
	if err := q.All(ctx, &rows, columns+w.String()+` ORDER BY p.seq`, w.Args...); err != nil {
		return nil, nil, sqlite.Classify("compare passages", err)
	}
	for _, r := range rows {
		switch {
		case r.Living && !r.Wanted:
			take = append(take, r.ID)
		case !r.Living && r.Wanted && r.Taken:
			bring = append(bring, r.ID)
		}
	}
	return take, bring, nil
}

// turned finds the passages whose last changes are the agent's own since the point, or were made by rewinds since, and
// the version that each had before these. What somebody else changed later stays; so does a passage that the agent
// inserted since, unless it is taken whole. Who undid some of the agent's changes, up to an earlier one of these, changed
// nothing else.
func turned(
	ctx context.Context,
	q *sqlite.Querier,
	agent core.AgentID,
	archives []core.ArchiveID,
	before Point,
) (turns []core.PassageTurn, err error) {
	w := &sqlite.Where{}
	columns := w.Bind(
		`SELECT v.passage_id, v.version, v.restores, v.author_kind = 'agent' AND v.author_id = ? AND COALESCE(s.num, 0) > ? OR `+
			`COALESCE(r.number, 0) >= ? AS since
		FROM passage_versions v LEFT JOIN steps s ON s.id = v.step_id LEFT JOIN rewinds r ON r.id = v.rewind_id AND r.agent_id = ?`,
		agent, before.Step, before.Rewind, agent,
	)
	w.And(`v.passage_id IN (
		SELECT c.passage_id FROM steps t JOIN passage_versions c ON c.step_id = t.id AND c.step_id <> '' WHERE t.agent_id = ? AND t.num > ?
		UNION
		SELECT c.passage_id FROM rewinds w JOIN passage_versions c ON c.rewind_id = w.id AND c.rewind_id <> ''
		WHERE w.agent_id = ? AND w.number >= ?)`, agent, before.Step, agent, before.Rewind)
	sqlite.In(w, "v.archive_id", archives)
	var rows []struct {
		Passage  core.PassageID `db:"passage_id"`
		Version  int            `db:"version"`
		Restores int            `db:"restores"`
		Since    bool           `db:"since"`
	}
	if err := q.All(ctx, &rows, columns+w.String()+` ORDER BY v.passage_id, v.version DESC`, w.Args...); err != nil {
		return nil, sqlite.Classify("compare versions of passages", err)
	}
	since := map[core.PassageTurn]bool{}
	for i := len(rows) - 1; i >= 0; i-- {
		r := &rows[i]
		r.Since = r.Since || since[core.PassageTurn{Passage: r.Passage, Version: r.Restores}]
		since[core.PassageTurn{Passage: r.Passage, Version: r.Version}] = r.Since
	}
	for i := 0; i < len(rows); {
		id, newest := rows[i].Passage, i
		next := func() bool { // a version that was forgotten is missing, and nothing older takes its place
			return i < len(rows) && rows[i].Passage == id && (i == newest || rows[i].Version == rows[i-1].Version-1)
		}
		for next() && rows[i].Since {
			i++
		}
		if i > newest && next() {
			turns = append(turns, core.PassageTurn{Passage: id, Version: rows[i].Version})
		}
		for i < len(rows) && rows[i].Passage == id {
			i++
		}
	}
	return turns, nil
}
