package storage

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/storage/sqlite"
)

// TestANumberThatIsNoneDamagesOneMessage: SQLite keeps a text in any column.
func TestANumberThatIsNoneDamagesOneMessage(t *testing.T) {
	t.Parallel()
	for _, column := range []string{"created_at = 'abc'", "created_at = 1.5", "tokens = 'many'", "is_error = 'no'"} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()
			s := open(t, Config{})
			a := newAgent(t, s)
			say(t, s, a, 1)
			say(t, s, a, 2)
			err := s.Transact(t.Context(), func(ctx context.Context, _ core.Store, q *sqlite.Querier) error {
				_, err := q.Exec(ctx, `UPDATE messages SET `+column+` WHERE seq = 1`)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			list, err := s.Messages().List(t.Context(), core.MessageFilter{}, core.Page{})
			const damage = "is damaged"
			if err != nil || len(list) != 2 || !strings.Contains(list[0].Said(), damage) || strings.Contains(list[1].Said(), damage) {
				t.Errorf("the list: %+v, %v", list, err)
			}
			window, err := s.Messages().Context(t.Context(), core.DefaultConversation(a))
			if err != nil || len(window) != 2 {
				t.Errorf("the context: %+v, %v", window, err)
			}
			damaged, err := s.Damaged(t.Context())
			if err != nil || !strings.Contains(damaged.String(), string(list[0].ID)) {
				t.Errorf("damaged: %s, %v", damaged, err)
			}
		})
	}
}

// TestANumberThatIsNoneIsSaidToBeDamage: not in the words of the database's library.
func TestANumberThatIsNoneIsSaidToBeDamage(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	a := newAgent(t, s)
	spoil := func(column, value string) {
		t.Helper()
		err := s.Transact(t.Context(), func(ctx context.Context, _ core.Store, q *sqlite.Querier) error {
			_, err := q.Exec(ctx, `UPDATE `+column+` = `+value)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	archive := core.Archive{ID: core.NewArchiveID(), Name: "notes"}
	if err := errors.Join(s.Archives().Create(t.Context(), &archive), s.Archives().Attach(t.Context(), a, archive.ID)); err != nil {
		t.Fatal(err)
	}
	spoil("archives SET passages", "'many'")
	if _, err := s.Agents().Get(t.Context(), a); err != nil {
		t.Errorf("an agent whose archive is damaged: %v", err)
	}
	spoil("agents SET created_at", "'never'")
	if _, err := s.Agents().Get(t.Context(), a); !errors.Is(err, core.ErrDamaged) || strings.Contains(err.Error(), "Scan") {
		t.Errorf("a word for a time: %v", err)
	}
	for value, year := range map[string]int{"300000000000000000": 9999, "-9000000000000000000": 1} { // JSON has four digits for a year
		spoil("agents SET created_at", value)
		if got, err := s.Agents().Get(t.Context(), a); err != nil || got.CreatedAt.Year() != year {
			t.Errorf("%s: made in %d, %v", value, got.CreatedAt.Year(), err)
		}
	}
}

func TestADamagedStepIsNotTakenForAnEmptyOne(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	a := newAgent(t, s)
	conv := core.DefaultConversation(a)
	run := core.Run{ID: core.NewRunID(), Agent: a, Conversation: conv, Status: core.RunRunning, CreatedAt: time.Now()}
	step := core.Step{ID: core.NewStepID(), Run: run.ID, Agent: a, Conversation: conv, CreatedAt: time.Now()}
	err := errors.Join(s.Runs().Create(t.Context(), &run), s.Steps().Create(t.Context(), &step),
		s.Transact(t.Context(), func(ctx context.Context, _ core.Store, q *sqlite.Querier) error {
			_, err := q.Exec(ctx, `UPDATE steps SET data = '{'`)
			return err
		}))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Steps().Get(t.Context(), step.ID); !errors.Is(err, core.ErrDamaged) {
		t.Errorf("%+v, %v", got, err)
	}
	if list, err := s.Steps().List(t.Context(), core.StepFilter{Run: run.ID}, core.Page{}); err != nil || len(list) != 0 {
		t.Errorf("the list: %+v, %v", list, err)
	}
}

// TestManyDamagedRowsAreCountedAndHideNoOtherKind: of forty messages and one agent the agent is named, and all are counted.
func TestManyDamagedRowsAreCountedAndHideNoOtherKind(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	a := newAgent(t, s)
	for i := range 40 {
		say(t, s, a, i+1)
	}
	archive := core.Archive{ID: core.NewArchiveID(), Name: "notes"}
	err := errors.Join(s.Archives().Create(t.Context(), &archive),
		s.Transact(t.Context(), func(ctx context.Context, _ core.Store, q *sqlite.Querier) error {
			_, wrong := q.Exec(ctx, `UPDATE messages SET tokens = 'many'`)
			_, cut := q.Exec(ctx, `UPDATE messages SET data = '{' WHERE seq % 2 = 0`) // a row with two faults is one row
			_, other := q.Exec(ctx, `UPDATE archives SET created_at = 'never'`)
			return errors.Join(wrong, cut, other)
		}))
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Damaged(t.Context())
	if err != nil || d.Rows != 41 || len(d.Named) != 20 || d.More {
		t.Errorf("%d rows, %d named, more: %t, %v", d.Rows, len(d.Named), d.More, err)
	}
	if got := d.String(); !strings.HasSuffix(got, "; and 21 more") || strings.Count(got, ";") != 20 ||
		!strings.Contains(got, string(archive.ID)) {
		t.Errorf("it says %s", got)
	}
}

// TestADamagedPassageIsNotWrittenOver: what can't be read of it, such as its tags, would be lost.
func TestADamagedPassageIsNotWrittenOver(t *testing.T) {
	t.Parallel()
	s := open(t, Config{})
	archive := core.Archive{ID: core.NewArchiveID(), Name: "notes"}
	p := core.Passage{ID: core.NewPassageID(), Archive: archive.ID, Text: "a note", Tags: []string{"kept"}, CreatedAt: time.Unix(1, 0)}
	if err := errors.Join(s.Archives().Create(t.Context(), &archive), s.Passages().Insert(t.Context(), &p)); err != nil {
		t.Fatal(err)
	}
	err := s.Transact(t.Context(), func(ctx context.Context, _ core.Store, q *sqlite.Querier) error {
		_, err := q.Exec(ctx, `UPDATE passages SET data = 'no JSON' WHERE id = $1`, p.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	by := core.Author{Kind: core.AuthorUser}
	p.Text, p.Tags = "another", nil
	for what, err := range map[string]error{
		"changed": s.Passages().Update(t.Context(), &p, by), "retired": s.Passages().Retire(t.Context(), p.ID, by),
	} {
		if !errors.Is(err, core.ErrDamaged) {
			t.Errorf("it is %s: %v", what, err)
		}
	}
}
