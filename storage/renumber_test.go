package storage

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"

	"loci/core"
	"loci/core/ingest"
	"loci/storage/datadir"
	"loci/storage/migrations"
	"loci/storage/sqlite"
)

// oldNumbers is a home whose files are numbered as they were at first.
type oldNumbers struct {
	*testing.T
	dir   string
	agent core.AgentID
}

// lineRange is a range of lines as a row keeps it, with the text that it is of.
type lineRange struct {
	Of    string
	Start int
	End   int
	Lines int
}

func newOldNumbers(t *testing.T) *oldNumbers {
	t.Helper()
	h := &oldNumbers{T: t, dir: t.TempDir()}
	s := open(t, Config{Dir: h.dir})
	h.agent = newAgent(t, s)
	ctx, now := t.Context(), time.Now()
	folder := core.Folder{ID: core.NewFolderID(), Name: "papers", CreatedAt: now, UpdatedAt: now}
	h.check(s.Folders().Create(ctx, &folder))
	h.check(s.Folders().Attach(ctx, h.agent, folder.ID))
	for _, f := range []struct {
		name       string
		kind       core.FileKind
		text       string
		lines      int
		start, end int // that are open, and that the passages say
	}{
		{"prose.txt", core.FileText, "One. Two.\nThree.\n\nFour. Five\ngoes on.\n", 5, 4, 5},
		{"whole.txt", core.FileText, "One. Two.\n", 2, 0, 0},
		{"behind.txt", core.FileText, "One. Two.\n", 2, 7, 9},
		{"table.csv", core.FileCSV, "a,b\n\n\n1,2\n", 2, 2, 2},
		{"same.go", core.FileCode, "package a\n\nvar b = 1\n", 3, 3, 3},
		{"notes.md", core.FileMarkdown, "One. Two.\n\nThree.\n", 3, 3, 3},
	} {
		file := core.File{
			ID:        core.NewFileID(),
			Folder:    folder.ID,
			Name:      f.name,
			Kind:      f.kind,
			Status:    core.FilePending,
			CreatedAt: now,
			UpdatedAt: now,
		}
		h.check(s.Files().Create(ctx, &file, []byte(f.text)))
		file.Lines, file.Status = f.lines, core.FileEmbedding
		doc := core.Document{Kind: f.kind, Text: f.text}
		var passages []core.Passage
		for _, c := range ingest.Chunks(doc, 0) {
			passages = append(passages, core.Passage{
				ID: core.NewPassageID(), Text: c.Passage(), CreatedAt: now, UpdatedAt: now,
				Metadata: map[string]any{"line": 1, "end_line": f.lines, "path": []string{"kept"}},
			})
		}
		h.check(s.Files().Fill(ctx, &file, doc, passages))
		h.check(s.Files().Open(ctx, h.agent, core.OpenFile{File: file.ID, Open: true, Start: f.start, End: f.end, UsedAt: now}))
	}
	h.check(s.Close())
	h.sql(func(db *sqlx.DB) {
		_, err := db.ExecContext(ctx, `DELETE FROM goose_db_version WHERE version_id = 10`)
		h.check(err)
		_, err = db.ExecContext(ctx, `UPDATE conversations SET stale = FALSE`)
		h.check(err)
	})
	return h
}

func (h *oldNumbers) check(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *oldNumbers) sql(with func(db *sqlx.DB)) {
	h.Helper()
	db, err := sqlite.OpenPool(h.Context(), filepath.Join(h.dir, datadir.FactsFile), sqlite.Full, false)
	h.check(err)
	with(db)
	h.check(db.Close())
}

// kept returns what is kept of the open files and of the passages.
func (h *oldNumbers) kept() (opened, passages map[string]lineRange) {
	h.Helper()
	opened, passages = map[string]lineRange{}, map[string]lineRange{}
	h.sql(func(db *sqlx.DB) {
		for query, into := range map[string]map[string]lineRange{
			`SELECT f.name AS of, o.start_line AS start, o.end_line AS end, f.data ->> '$.lines' AS lines FROM open_files o JOIN ` +
				`files f ON f.id = o.file_id`: opened,
			`SELECT f.name AS of, p.data ->> '$.metadata.line' AS start, p.data ->> '$.metadata.end_line' AS end, 0 AS lines FROM passages p
				JOIN files f ON f.id = p.file_id WHERE p.data ->> '$.metadata.path[0]' = 'kept'`: passages,
		} {
			var rows []lineRange
			h.check(db.SelectContext(h.Context(), &rows, query))
			for _, r := range rows {
				name := r.Of
				r.Of = ""
				into[name] = r
			}
		}
	})
	return opened, passages
}

func (h *oldNumbers) renumbered() {
	h.Helper()
	opened, passages := h.kept()
	if diff := cmp.Diff(map[string]lineRange{
		"prose.txt": {
			Start: 4,
			End:   5,
			Lines: 5,
		},
		"whole.txt":  {Lines: 1},
		"behind.txt": {Lines: 1},
		"table.csv":  {Start: 4, End: 4, Lines: 4},
		"same.go":    {Start: 3, End: 3, Lines: 3},
		"notes.md":   {Start: 3, End: 3, Lines: 3},
	}, opened); diff != "" {
		h.Errorf("open files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]lineRange{
		"prose.txt": {Start: 1, End: 5}, "whole.txt": {Start: 1, End: 1}, "behind.txt": {Start: 1, End: 1}, "table.csv": {Start: 1, End: 4},
		"same.go": {Start: 1, End: 3}, "notes.md": {Start: 1, End: 3},
	}, passages); diff != "" {
		h.Errorf("passages (-want +got):\n%s", diff)
	}
}

func TestFilesOfAnOldHomeAreRenumberedOnce(t *testing.T) {
	t.Parallel()
	h := newOldNumbers(t)
	s := open(t, Config{Dir: h.dir})
	c, err := s.Conversations().Get(t.Context(), core.DefaultConversation(h.agent))
	if err != nil || !c.Stale {
		t.Errorf("the prompt that shows the old numbers is kept: stale %t, %v", c.Stale, err)
	}
	h.check(s.Close())
	h.renumbered()
	h.check(open(t, Config{Dir: h.dir}).Close())
	h.renumbered()
}

func TestADamagedTextDoesNotStopTheRenumbering(t *testing.T) {
	t.Parallel()
	h := newOldNumbers(t)
	h.sql(func(db *sqlx.DB) {
		_, err := db.ExecContext(
			t.Context(),
			`UPDATE file_texts SET body = x'00ff' WHERE file_id = (SELECT id FROM files WHERE name = 'whole.txt')`,
		)
		h.check(err)
	})
	h.check(open(t, Config{Dir: h.dir}).Close())
	opened, _ := h.kept()
	if got := opened["table.csv"]; got != (lineRange{Start: 4, End: 4, Lines: 4}) {
		t.Errorf("%+v", got)
	}
	if got := opened["whole.txt"]; got != (lineRange{Lines: 2}) {
		t.Errorf("%+v", got)
	}
}

// renumberDir names the home in which the helper process renumbers files.
const renumberDir = "LOCI_TEST_RENUMBER_DIR"

// renumberUntilKilled is that process.
func renumberUntilKilled(dir string) int {
	ctx := context.Background()
	db, err := sqlite.OpenPool(ctx, filepath.Join(dir, datadir.FactsFile), sqlite.Full, false)
	if err == nil {
		s := migrations.Facts()
		renumber := s.Steps[10]
		s.Steps = map[int64]sqlite.Step{10: func(ctx context.Context, tx *sql.Tx) error {
			if err := renumber(ctx, tx); err != nil {
				return err
			}
			_, _ = fmt.Fprintln(os.Stdout, "renumbered")
			select {} // until it is killed
		}}
		_, err = s.Migrate(ctx, db, nil)
	}
	_, _ = fmt.Fprintln(os.Stderr, err)
	return 1
}

func TestARenumberingThatIsKilledIsDoneAnewAndOnce(t *testing.T) {
	t.Parallel()
	h := newOldNumbers(t)
	openedBefore, passagesBefore := h.kept()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), renumberDir+"="+h.dir)
	out, err := cmd.StdoutPipe()
	h.check(err)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	h.check(cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "renumbered\n" {
		t.Errorf("the helper says %q (%v): %s", line, err, stderr.String())
	}
	h.check(cmd.Process.Kill())
	_ = cmd.Wait()
	opened, passages := h.kept()
	if diff := cmp.Diff(openedBefore, opened); diff != "" {
		t.Errorf("half a renumbering is kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(passagesBefore, passages); diff != "" {
		t.Errorf("half a renumbering of passages is kept (-want +got):\n%s", diff)
	}
	h.check(open(t, Config{Dir: h.dir}).Close())
	h.renumbered()
}
