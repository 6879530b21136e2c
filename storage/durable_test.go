package storage

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
	"loci/storage/sqlite"
)

// crashDir tells a copy of the test binary to be the process that is killed.
const crashDir = "LOCI_TEST_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		os.Exit(writeUntilKilled(dir))
	}
	if dir := os.Getenv(renumberDir); dir != "" {
		os.Exit(renumberUntilKilled(dir))
	}
	os.Exit(m.Run())
}

// writeUntilKilled writes from several goroutines and says on standard output what was answered.
func writeUntilKilled(dir string) int {
	ctx := context.Background()
	s, err := Open(ctx, Config{Dir: dir})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	agents, err := s.Agents().List(ctx, core.AgentFilter{}, core.Page{})
	if err != nil || len(agents) != 1 {
		_, _ = fmt.Fprintln(os.Stderr, len(agents), err)
		return 1
	}
	conv := core.DefaultConversation(agents[0].ID)
	var out sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				m := core.Message{
					ID:           core.NewMessageID(),
					Agent:        agents[0].ID,
					Conversation: conv,
					Role:         core.RoleUser,
					Content:      []core.Content{core.Text("word")},
					CreatedAt:    time.Now(),
				}
				err := s.Tx(ctx, func(ctx context.Context, tx core.Store) error {
					if err := tx.Messages().Insert(ctx, &m); err != nil {
						return err
					}
					return tx.Messages().Enter(ctx, conv, 1, []core.MessageID{m.ID}, nil)
				})
				if err != nil {
					return
				}
				out.Lock()
				_, _ = os.Stdout.WriteString(string(m.ID) + "\n")
				out.Unlock()
			}
		})
	}
	wg.Wait()
	return 1
}

func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Config{Dir: dir})
	agent := newAgent(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	for round := range 5 {
		ids := killed(t, dir, 1+rand.IntN(150))
		s := open(t, Config{Dir: dir})
		for _, id := range ids {
			if _, err := s.Messages().Get(t.Context(), core.MessageID(id)); err != nil {
				t.Errorf("round %d: %s was acknowledged and is gone: %v", round, id, err)
			}
		}
		acknowledged += len(ids)
		checkWhole(t, s, agent, acknowledged)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killed runs the helper until it has acknowledged n messages, kills it, and returns all that it acknowledged.
func killed(t *testing.T, dir string, n int) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ids []string
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // an unfinished line was not acknowledged
		}
		ids = append(ids, strings.TrimSpace(line))
		if len(ids) == n {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	if len(ids) < n {
		t.Fatalf("the helper ended by itself after %d: %s", len(ids), stderr.String())
	}
	return ids
}

// checkWhole compares counters with rows, and every message with its context row.
func checkWhole(t *testing.T, s *Store, agent core.AgentID, atLeast int) {
	t.Helper()
	var row struct {
		Messages int `db:"messages"`
		Counted  int `db:"counted"`
		Entered  int `db:"entered"`
	}
	err := s.facts.Readers.GetContext(t.Context(), &row, `SELECT (SELECT COUNT(*) FROM messages) AS messages,
		(SELECT message_count FROM agents) AS counted, (SELECT COUNT(*) FROM context) AS entered`)
	if err != nil {
		t.Fatal(err)
	}
	if row.Messages < atLeast || row.Counted != row.Messages || row.Entered != row.Messages {
		t.Errorf("%+v, acknowledged %d", row, atLeast)
	}
	found, err := matchMessages(t.Context(), s, core.SearchQuery{Text: "word", Limit: 5}, core.MessageFilter{Agent: agent})
	if err != nil || len(found) != 5 {
		t.Errorf("search after the kill: %d hits, %v", len(found), err)
	}
}

// step writes what a step of a run writes, and returns the statements that took.
func step(t *testing.T, s *Store, a core.AgentID, rev int, record func() []string) []string {
	t.Helper()
	conv := core.DefaultConversation(a)
	record()
	err := s.Tx(t.Context(), func(ctx context.Context, tx core.Store) error {
		c, err := tx.Conversations().Get(ctx, conv)
		if err != nil {
			return err
		}
		run := core.Run{ID: core.NewRunID(), Agent: a, Conversation: conv, Status: core.RunRunning, CreatedAt: time.Now()}
		if err := tx.Runs().Create(ctx, &run); err != nil {
			return err
		}
		st := core.Step{ID: core.NewStepID(), Run: run.ID, Agent: a, Conversation: conv, Number: 1, SentRev: rev, CreatedAt: time.Now()}
		if err := tx.Steps().Create(ctx, &st); err != nil {
			return err
		}
		var ids []core.MessageID
		for _, role := range []core.Role{core.RoleUser, core.RoleAssistant, core.RoleTool} {
			m := core.Message{
				ID:           core.NewMessageID(),
				Agent:        a,
				Conversation: conv,
				Run:          run.ID,
				Role:         role,
				Content:      []core.Content{core.Text("text")},
				CreatedAt:    time.Now(),
			}
			if err := tx.Messages().Insert(ctx, &m); err != nil {
				return err
			}
			ids = append(ids, m.ID)
		}
		if err := tx.Messages().Enter(ctx, conv, rev, ids, nil); err != nil {
			return err
		}
		if rev > 10 { // the window stays the same size
			old, err := tx.Messages().ContextIDs(ctx, conv)
			if err != nil {
				return err
			}
			if err := tx.Messages().Leave(ctx, conv, rev, core.LeftEviction, old[:3]); err != nil {
				return err
			}
		}
		c.Rev = rev
		if err := tx.Conversations().Update(ctx, &c); err != nil {
			return err
		}
		run.Status = core.RunCompleted
		if err := tx.Runs().Update(ctx, &run); err != nil {
			return err
		}
		return tx.Agents().Finished(ctx, a, core.StopEndTurn, time.Now(), time.Second)
	})
	if err != nil {
		t.Fatalf("step: %v", err)
	}
	return record()
}

func TestAStepCostsTheSameWhateverTheHistory(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	s := open(t, Config{OnStatement: func(text string) error {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, text)
		return nil
	}})
	record := func() []string {
		mu.Lock()
		defer mu.Unlock()
		all := seen
		seen = nil
		return all
	}
	a := newAgent(t, s)
	var short []string
	rev := 0
	for range 34 { // 102 messages
		rev++
		short = step(t, s, a, rev, record)
	}
	grow(t, s, a, 10_000)
	long := step(t, s, a, rev+1, record)
	if strings.Join(short, "\n") != strings.Join(long, "\n") {
		t.Errorf("%d statements at 100 messages, %d at 10,000:\n%s", len(short), len(long), strings.Join(long, "\n"))
	}
	plans(t, s, long)
}

// grow adds messages that have left the window, the quick way.
func grow(t *testing.T, s *Store, a core.AgentID, n int) {
	t.Helper()
	conv := core.DefaultConversation(a)
	err := s.write(t.Context(), "grow", func(ctx context.Context, q *sqlite.Querier) error {
		for i := range n {
			id := fmt.Sprint("old-", i)
			_, err := q.Exec(
				ctx,
				`INSERT INTO messages (id, agent_id, conversation_id, run_id, step_id, role, hidden, is_error, tokens, created_at, `+
					`preface, data)
				VALUES ($1, $2, $3, '', '', 'user', '', FALSE, 1, 1, '', '{}')`,
				id,
				a,
				conv,
			)
			if err != nil {
				return err
			}
			_, err = q.Exec(ctx, `INSERT INTO context (conversation_id, message_id, position, entered, "left", why, cut_to)
				VALUES ($1, $2, $3, 1, 2, 'eviction', 0)`, conv, id, 1000+i)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// plans checks that no statement of a step reads a whole table.
func plans(t *testing.T, s *Store, texts []string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(text, " ") || strings.HasPrefix(text, "BEGIN") || strings.HasPrefix(text, "SAVEPOINT") ||
			strings.HasPrefix(text, "RELEASE") {
			continue
		}
		args := make([]any, strings.Count(text, "$"))
		var plan []struct {
			ID      int    `db:"id"`
			Parent  int    `db:"parent"`
			NotUsed int    `db:"notused"`
			Detail  string `db:"detail"`
		}
		if err := s.facts.Readers.SelectContext(t.Context(), &plan, "EXPLAIN QUERY PLAN "+text, args...); err != nil {
			t.Fatalf("explain %s: %v", text, err)
		}
		for _, r := range plan {
			if detail := r.Detail; strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "VALUES CLAUSE") {
				t.Errorf("%s\n%s", detail, text)
			}
		}
	}
}
