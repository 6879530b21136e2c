package crashtest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the files are read beside the daemon, without its code
)

// facts are the home's files, opened read-only.
type facts struct{ main, log, index *sql.DB }

func openFacts(dir string) (*facts, error) {
	open := func(name string) (*sql.DB, error) {
		q := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(1)"}}
		u := url.URL{Scheme: "file", Path: filepath.Join(dir, name), RawQuery: q.Encode()}
		return sql.Open("sqlite", u.String())
	}
	var out facts
	var err1, err2, err3 error
	out.main, err1 = open("loci.db")
	out.log, err2 = open("log.db")
	out.index, err3 = open("index.db")
	return &out, errors.Join(err1, err2, err3)
}

func (s *facts) close() error { return errors.Join(s.main.Close(), s.log.Close(), s.index.Close()) }

// whole asks SQLite whether the files are sound.
func (s *facts) whole(ctx context.Context, f *findings) {
	for name, db := range map[string]*sql.DB{"loci.db": s.main, "log.db": s.log, "index.db": s.index} {
		got := ""
		if err := db.QueryRowContext(ctx, `PRAGMA integrity_check`).Scan(&got); err != nil || got != "ok" {
			f.add("%s is damaged: %s, %w", name, got, err)
		}
	}
}

// none returns queries whose every row is a fault.
func none() map[string]string {
	return map[string]string{
		"runs that never end": `SELECT id, status FROM runs WHERE status IN ('created', 'running')`,
		"steps that never end": `SELECT s.id, s.status FROM steps s JOIN runs r ON r.id = s.run_id WHERE s.status = 'pending' AND ` +
			`r.status NOT IN ('created', 'running')`,
		"messages of no run":     `SELECT id, run_id FROM messages WHERE run_id <> '' AND run_id NOT IN (SELECT id FROM runs)`,
		"messages in no context": `SELECT id, role FROM messages WHERE id NOT IN (SELECT message_id FROM context)`,
		"broken references":      `SELECT "table", parent FROM pragma_foreign_key_check`,
		"edits without a return": `SELECT block_id, version FROM block_versions WHERE author_kind = 'agent' AND step_id NOT IN (SELECT ` +
			`step_id FROM messages WHERE role = 'tool')`,
		"blocks beside their version": `SELECT b.id, b.version FROM blocks b WHERE NOT EXISTS (SELECT 1 FROM block_versions v WHERE ` +
			`v.block_id = b.id AND v.version = b.version AND v.value = b.value)`,
		"wrong counts of passages": `SELECT a.id, a.passages FROM archives a WHERE a.passages <> (SELECT COUNT(*) FROM passages p WHERE ` +
			`p.archive_id = a.id AND p.deleted_at IS NULL)`,
		"wrong counts of messages": `SELECT c.id, c.message_count FROM conversations c WHERE c.message_count <> (SELECT COUNT(*) FROM ` +
			`messages m WHERE m.conversation_id = c.id AND m.hidden = '')`,
		"ended runs with open input": `SELECT r.id, r.status FROM runs r WHERE r.status = 'completed' AND NOT EXISTS (SELECT 1 FROM ` +
			`messages m WHERE m.run_id = r.id AND m.role IN ('user', 'approval'))`,
	}
}

// consistent checks what must be true of the facts as a whole, and of the run log since a time.
func (s *facts) consistent(ctx context.Context, since time.Time, f *findings) {
	for what, query := range none() {
		if err := empty(ctx, s.main, query); err != nil {
			f.add("%s: %w", what, err)
		}
	}
	for what, query := range badEnds() {
		if err := empty(ctx, s.log, query, since.UnixMicro()); err != nil {
			f.add("%s: %w", what, err)
		}
	}
}

// badEnds returns the same for the run log after a time.
func badEnds() map[string]string {
	const isEnd = `CAST(data AS TEXT) LIKE '{"k":"stop"%'`
	return map[string]string{
		"runs with more than one end": `SELECT run_id, COUNT(*) FROM events WHERE at >= ? AND ` + isEnd +
			` GROUP BY run_id HAVING COUNT(*) > 1`,
		"events behind the end": `SELECT run_id, MAX(seq) FROM events WHERE at >= ? GROUP BY run_id
			HAVING MAX(seq) > MAX(CASE WHEN ` + isEnd + ` THEN seq END)`,
		"ends that are not noted": `SELECT run_id, seq FROM events WHERE at >= ? AND ` + isEnd + ` AND run_id NOT IN ` +
			`(SELECT run_id FROM run_ends)`,
	}
}

// empty returns an error that lists the rows of a query with two columns.
func empty(ctx context.Context, db *sql.DB, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // only read
	var found []string
	for rows.Next() {
		var id string
		var other any
		if err := rows.Scan(&id, &other); err != nil {
			return err
		}
		found = append(found, fmt.Sprintf("%s (%v)", id, other))
	}
	if err := rows.Err(); err != nil || len(found) == 0 {
		return err
	}
	return fmt.Errorf("%d: %s", len(found), strings.Join(found[:min(len(found), 10)], ", "))
}

// record is a stored message.
type record struct {
	seq                         int64
	id, conversation, run, role string
	open                        bool
	data                        struct {
		Content []struct {
			Type, Text string
			Call       *struct{ ID, Name, Arguments string }
		}
		Returns []struct {
			CallID  string `json:"call_id"`
			Text    string
			IsError bool `json:"is_error"`
		}
	}
}

func (r *record) calls() (ids []string) {
	for _, c := range r.data.Content {
		if c.Call != nil {
			ids = append(ids, c.Call.ID)
		}
	}
	return ids
}

func (r *record) returns() (ids []string) {
	for _, c := range r.data.Returns {
		ids = append(ids, c.CallID)
	}
	return ids
}

// records returns the visible messages after a seq, in their order within their conversations.
func (s *facts) records(ctx context.Context, after int64) ([]record, error) {
	rows, err := s.main.QueryContext(ctx, `SELECT m.seq, m.id, m.conversation_id, m.run_id, m.role, m.data,
		EXISTS (SELECT 1 FROM context o WHERE o.message_id = m.id AND o."left" IS NULL)
		FROM messages m WHERE m.seq > ? AND m.hidden = '' AND m.deleted_at IS NULL
		ORDER BY m.conversation_id, (SELECT MIN(position) FROM context c WHERE c.message_id = m.id)`, after)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // only read
	var out []record
	for rows.Next() {
		var r record
		var data string
		if err := rows.Scan(&r.seq, &r.id, &r.conversation, &r.run, &r.role, &data, &r.open); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(data), &r.data); err != nil {
			return nil, fmt.Errorf("message %s cannot be read: %w", r.id, err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// paired checks that every call is directly followed by its return, in the whole history and in what is sent.
func paired(all []record, f *findings) {
	for _, view := range [][]record{all, slices.DeleteFunc(slices.Clone(all), func(r record) bool { return !r.open })} {
		var last *record
		for i := range view {
			r := &view[i]
			if last != nil && last.conversation != r.conversation {
				last.dangles(f)
				last = nil
			}
			switch {
			case r.role == "tool" && (last == nil || !slices.Equal(last.calls(), r.returns())):
				f.add("returns %s of run %s do not answer what stands before them", r.id, r.run)
			case r.role == "tool":
			case last != nil:
				last.dangles(f)
			}
			if last = nil; len(r.calls()) > 0 {
				last = r
			}
		}
		if last != nil {
			last.dangles(f)
		}
	}
}

func (r *record) dangles(f *findings) {
	f.add("the calls of message %s, run %s, have no returns behind them", r.id, r.run)
}

// inOrder checks that a conversation holds one run after another, in the order of acceptance. A summary that was made
// between turns belongs to no run.
func inOrder(all []record, numbers map[string]int64, f *findings) {
	var a *record
	for i := range all {
		b := &all[i]
		if b.run == "" {
			continue
		}
		if a != nil && a.conversation == b.conversation && numbers[a.run] > numbers[b.run] {
			f.add(
				"conversation %s: message %s of run %s stands behind run %s, which was accepted later",
				a.conversation,
				b.id,
				b.run,
				a.run,
			)
		}
		a = b
	}
}

func (s *facts) runNumbers(ctx context.Context) (map[string]int64, error) {
	rows, err := s.main.QueryContext(ctx, `SELECT id, number FROM runs`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // only read
	out := map[string]int64{}
	for rows.Next() {
		var id string
		var n int64
		if err := rows.Scan(&id, &n); err != nil {
			return nil, err
		}
		out[id] = n
	}
	return out, rows.Err()
}

// texts concatenates a column, so that words can be counted in it.
func (s *facts) texts(ctx context.Context, query string, args ...any) (string, error) {
	rows, err := s.main.QueryContext(ctx, query, args...)
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }() // only read
	var all strings.Builder
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return "", err
		}
		all.WriteString(text + "\n")
	}
	return all.String(), rows.Err()
}
