package forget

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/storage"
	"loci/storage/backup"
	"loci/storage/sqlite"
	"loci/storage/vectors"
	"loci/storage/view"
)

// textless lists the columns of texts and bytes that hold no user content: ids, hashes, words of ours, and what is
// derived from texts without spelling them.
func textless() map[string][]string {
	return map[string][]string{
		"meta":             {"key", "value"},
		"agents":           {"id", "type", "model", "last_stop", "name_key"},
		"agent_tags":       {"agent_id"},
		"blocks":           {"id"},
		"block_tags":       {"block_id"},
		"block_versions":   {"block_id", "author_kind", "author_id", "step_id", "rewind_id"},
		"agent_blocks":     {"agent_id", "block_id"},
		"conversations":    {"id", "agent_id"},
		"messages":         {"id", "agent_id", "conversation_id", "run_id", "step_id", "role", "hidden"},
		"context":          {"conversation_id", "message_id", "why"},
		"runs":             {"id", "agent_id", "conversation_id", "status", "stop_reason", "request"},
		"steps":            {"id", "run_id", "agent_id", "conversation_id", "status", "model", "system_hash", "tools_hash", "agent_hash"},
		"snapshots":        {"hash", "kind"},
		"archives":         {"id", "folder_id"},
		"agent_archives":   {"agent_id", "archive_id"},
		"passages":         {"id", "archive_id", "agent_id", "step_id", "file_id"},
		"passage_tags":     {"passage_id"},
		"passage_versions": {"passage_id", "archive_id", "author_kind", "author_id", "step_id", "rewind_id"},
		"archive_tags":     {"archive_id"},
		"workspaces":       {"agent_id", "conversation_id"},
		"file_reads":       {"conversation_id", "hash"},
		"providers":        {"id", "name", "type", "protocol", "base_url", "sealed"}, // a person's settings; loci providers removes them
		"expenses":         {"id", "agent_id", "conversation_id", "run_id", "step_id", "purpose", "model"},
		"budgets":          {"agent_id"},
		"mcp_servers":      {"id", "name", "transport", "data", "sealed"}, // a person's settings; loci mcp removes them
		"mcp_tools":        {"id", "server_id", "name", "remote"},
		"tools":            {"id", "name", "language"},                    // a name that calls bear, which messages keep
		"variables":        {"id", "agent_id", "name", "tools", "sealed"}, // values can't be read; loci secrets removes them
		"file_changes": {
			"agent_id", "conversation_id", "run_id", "step_id", "call_id", "rewind_id",
			"before_kind", "before_hash", "after_kind", "after_hash",
		},
		"images":          {"media_type", "body"}, // no pixels are looked through: an image is forgotten by its hash
		"image_uses":      {"owner"},
		"changes":         {"kind", "id", "op"},
		"rewinds":         {"id", "agent_id", "conversation_id", "step_id", "undoes"},
		"rewind_passages": {"passage_id"},
		"vector_sets":     {"kind", "model"},
		"vectors":         {"data"}, // removed with their text
		"vector_queue":    {"kind"},
		"vector_moves":    {"archive_id"},
		"folders":         {"id", "archive_id"},
		"files":           {"id", "folder_id", "hash", "status"},
		"file_bytes":      {"file_id", "data"}, // nothing is forgotten while files are waiting to be read
		"file_texts":      {"file_id"},
		"folder_agents":   {"agent_id", "folder_id"},
		"open_files":      {"agent_id", "file_id"},
		"mirrors":         {"agent_id", "path", "branch"}, // says where a mirror is, which is reported
		"mirror_files":    {"agent_id", "block_id", "path", "block_hash", "file_hash", "next_block", "next_file"},
		"backups":         {"path"}, // says where a backup is, which stays there
	}
}

func TestEveryColumnIsAPlaceOfTextsOrKnownToHoldNone(t *testing.T) {
	t.Parallel()
	s := open(t, storage.Config{})
	type at struct {
		Table  string `db:"tbl"`
		Column string `db:"col"`
	}
	var have []at
	err := s.Reader().All(t.Context(), &have, `SELECT m.name AS tbl, c.name AS col FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name <> 'goose_db_version' AND c.type IN ('TEXT', `+
		`'BLOB', '') ORDER BY 1, 2`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[at]bool{}
	for _, p := range places() {
		for _, c := range p.columns {
			want[at{p.table, c.name}] = true
		}
	}
	for table, columns := range textless() {
		for _, c := range columns {
			if want[at{table, c}] {
				t.Errorf("%s.%s is in both lists", table, c)
			}
			want[at{table, c}] = true
		}
	}
	for _, c := range have {
		if !want[c] {
			t.Errorf("%s.%s is in neither list: may it hold a text?", c.Table, c.Column)
		}
		delete(want, c)
	}
	for c := range want {
		t.Errorf("there is no column %s.%s", c.Table, c.Column)
	}
}

func TestNothingOfAForgottenTextIsLeft(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	for _, w := range traces()[:2] { // make sure that the test can fail: it sees what is there
		if left := remains(t, d.s, d.dir, w); len(left) < 3 {
			t.Fatalf("before: %v", left)
		}
	}
	plan, err := d.s.Trace(t.Context(), core.ForgetQuery{Text: secret})
	d.check(err)
	done, err := d.s.Forget(t.Context(), core.ForgetQuery{Text: secret})
	d.check(err)
	if plan.Total() != done.Total() || plan.Conversations != 1 || done.Conversations != 1 {
		t.Errorf("planned %d in %d, did %d in %d", plan.Total(), plan.Conversations, done.Total(), done.Conversations)
	}
	if diff := cmp.Diff([]core.ForgetCopy{{Path: d.disk, Kind: core.CopyFollowed}}, done.Copies); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
	for _, part := range []string{"Zanzibarowitz", "5558812"} { // names and tags, which are parts of the secret; a number
		_, err = d.s.Forget(t.Context(), core.ForgetQuery{Text: part})
		d.check(err)
	}
	if left := remains(t, d.s, d.dir, append(traces(), "5558812")...); len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, "\n"))
	}
	d.rest()
	d.check(d.s.Close())
	d.open()
	if left := remains(t, d.s, d.dir, traces()...); len(left) > 0 {
		t.Errorf("after a restart: %v", left)
	}
}

func TestForgettingThatWasInterruptedIsFinishedAtTheNextStart(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	// Without the cleaning that Forget does afterwards.
	_, err := d.s.remove(t.Context(), core.ForgetQuery{Text: "zanzibarowitz", IgnoreCase: true})
	d.check(err)
	d.check(d.s.Close())
	codes := filepath.Join(d.dir, view.VectorFiles+"99"+vectors.Ending)
	d.check(os.WriteFile(codes, []byte("of what was forgotten"), 0o600))
	d.open()
	if _, err := os.Stat(codes); !os.IsNotExist(err) {
		t.Errorf("codes of vectors are left: %v", err)
	}
	d.embed()
	d.found("what was said", "hello", 1) // the index works again
	if left := remains(t, d.s, d.dir, "zanzibarow"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	var pending int
	d.check(d.s.Reader().Get(t.Context(), &pending, `SELECT COUNT(*) FROM forgets WHERE done_at = 0`))
	if pending != 0 {
		t.Error("it is still pending")
	}
}

func TestARecordIsForgottenWithItsCopies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		query func(d *diary) core.ForgetQuery
		check func(d *diary)
	}{
		"message": {
			func(d *diary) core.ForgetQuery { return core.ForgetQuery{Message: d.message} },
			func(d *diary) {
				m, err := d.s.Messages().Get(d.Context(), d.message)
				d.check(err)
				if m.PlainText() != "[forgotten]" || m.Preface != "" {
					d.Errorf("the message is %+v", m)
				}
				run, err := d.s.Runs().Get(d.Context(), "run-a")
				d.check(err)
				if got := run.Input[0].PlainText(); got != "[forgotten]" {
					d.Errorf("the input is %q", got)
				}
				p, err := d.s.Passages().Get(d.Context(), d.part)
				d.check(err)
				if strings.Contains(p.Text, "Hello") || !strings.Contains(p.Text, "Zanzibarowitz") {
					d.Errorf("the passage is %q", p.Text)
				}
			},
		},
		"passage": {
			func(d *diary) core.ForgetQuery { return core.ForgetQuery{Passage: d.part} },
			func(d *diary) {
				if _, err := d.s.Passages().Get(d.Context(), d.part); core.KindOf(err) != core.NotFound {
					d.Errorf("the passage: %v", err)
				}
				a, err := d.s.Archives().Get(d.Context(), d.archive)
				d.check(err)
				if a.Passages != 3 {
					d.Errorf("%d passages are counted", a.Passages)
				}
			},
		},
		"versions of a passage": {
			func(d *diary) core.ForgetQuery { return core.ForgetQuery{Passage: d.mended} },
			func(d *diary) {
				if left := remains(d.T, d.s, d.dir, "nothing of it", "once: "); len(left) > 0 {
					d.Errorf("left: %v", left)
				}
				err := d.s.Passages().Restore(d.Context(), d.mended, 1, core.Author{})
				if core.KindOf(err) != core.NotFound {
					d.Errorf("it came back: %v", err)
				}
			},
		},
		"block": {
			func(d *diary) core.ForgetQuery { return core.ForgetQuery{Block: d.block} },
			func(d *diary) {
				b, err := d.s.Blocks().Get(d.Context(), d.block)
				d.check(err)
				if b.Value != "[forgotten]" {
					d.Errorf("the block is %q", b.Value)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDiary(t)
			plan, err := d.s.Trace(t.Context(), c.query(d))
			d.check(err)
			if plan.Total() == 0 || !plan.At.IsZero() {
				t.Errorf("the plan is %+v", plan)
			}
			done, err := d.s.Forget(t.Context(), c.query(d))
			d.check(err)
			if done.At.IsZero() {
				t.Errorf("done: %+v", done)
			}
			c.check(d)
		})
	}
}

func TestWhatCannotBeForgottenIsSaid(t *testing.T) {
	t.Parallel()
	s := open(t, storage.Config{})
	for name, c := range map[string]struct {
		q    core.ForgetQuery
		kind core.Kind
	}{
		"nothing":  {core.ForgetQuery{}, core.Invalid},
		"two":      {core.ForgetQuery{Text: "some text", Message: "message-x"}, core.Invalid},
		"short":    {core.ForgetQuery{Text: " ab "}, core.Invalid},
		"long":     {core.ForgetQuery{Text: strings.Repeat("ab", 50_001)}, core.Invalid},
		"any case": {core.ForgetQuery{Text: strings.Repeat("ab", 501), IgnoreCase: true}, core.Invalid},
		"any id":   {core.ForgetQuery{Message: "message-x", IgnoreCase: true}, core.Invalid},
		"broken":   {core.ForgetQuery{Text: "abc\xffdef"}, core.Invalid},
		"message":  {core.ForgetQuery{Message: "message-x"}, core.NotFound},
		"passage":  {core.ForgetQuery{Passage: "passage-x"}, core.NotFound},
		"no block": {core.ForgetQuery{Block: "block-x"}, core.NotFound},
	} {
		if _, err := s.Trace(t.Context(), c.q); core.KindOf(err) != c.kind {
			t.Errorf("trace %s: %v", name, err)
		}
		if _, err := s.Forget(t.Context(), c.q); core.KindOf(err) != c.kind {
			t.Errorf("forget %s: %v", name, err)
		}
	}
	got, err := s.Forget(t.Context(), core.ForgetQuery{Text: "stands nowhere"})
	if err != nil || got.Total() != 0 {
		t.Errorf("what stands nowhere: %+v, %v", got, err)
	}
}

func TestAFileOfADirectoryIsReadBeforeItsTextIsForgotten(t *testing.T) {
	t.Parallel()
	s, now := open(t, storage.Config{}), time.Now()
	folder := core.Folder{ID: core.NewFolderID(), Name: "notes", Mirror: &core.Mirror{Path: t.TempDir()}, CreatedAt: now, UpdatedAt: now}
	f := core.File{
		ID:         core.NewFileID(),
		Folder:     folder.ID,
		Name:       "a.txt",
		Status:     core.FilePending,
		ModifiedAt: now,
		CreatedAt:  now,
		UpdatedAt:  now,
	}
	for _, err := range []error{s.Folders().Create(t.Context(), &folder), s.Files().Create(t.Context(), &f, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, status := range []core.FileStatus{core.FilePending, core.FileParsing} {
		f.Status = status
		if err := s.Files().Update(t.Context(), &f); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Forget(t.Context(), core.ForgetQuery{Text: "whatever it says"}); core.KindOf(err) != core.Busy {
			t.Errorf("while it is %s: %v", status, err)
		}
	}
}

func TestBackupsAndCopiesThatHoldTheTextAreNamed(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	beside, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "b.db")
	d.s.beside = []string{beside}
	d.check(backup.Write(t.Context(), d.s.Store, elsewhere))
	removed := filepath.Join(t.TempDir(), "c.db")
	d.check(backup.Write(t.Context(), d.s.Store, removed))
	d.check(os.Remove(removed))
	clean, other := filepath.Join(t.TempDir(), "d.db"), filepath.Join(t.TempDir(), "e.db")
	d.check(backup.Write(t.Context(), d.s.Store, clean))
	d.check(backup.Write(t.Context(), open(t, storage.Config{}).Store, other))
	d.check(os.Rename(other, clean)) // it is known, and holds nothing of it
	for name, text := range map[string]string{
		"copied.txt": "x " + secret, "other.txt": "nothing", "loci.db.replaced-1-wal": "bytes " + secret,
	} {
		dir := beside
		if strings.HasPrefix(name, "loci") {
			dir = d.dir
		}
		d.check(os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("-", 1<<20)+text), 0o600))
	}
	d.check(os.WriteFile(filepath.Join(d.dir, "loci-v4-x.db"), []byte(sqlite.Magic+"damaged"), 0o600))
	got, err := d.s.Forget(t.Context(), core.ForgetQuery{Text: secret})
	d.check(err)
	want := []core.ForgetCopy{
		{Path: elsewhere, Kind: core.CopyBackup},
		{Path: d.disk, Kind: core.CopyFollowed},
		{Path: filepath.Join(beside, "copied.txt"), Kind: core.CopyFile},
		{Path: filepath.Join(d.dir, "loci-v4-x.db"), Kind: core.CopyMigration, Unknown: true},
		{Path: filepath.Join(d.dir, "loci.db.replaced-1-wal"), Kind: core.CopyReplaced},
	}
	slices.SortFunc(want, func(a, b core.ForgetCopy) int { return strings.Compare(a.Path, b.Path) })
	if diff := cmp.Diff(want, got.Copies); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
	if text, err := os.ReadFile(filepath.Join(beside, "copied.txt")); err != nil || !strings.Contains(string(text), secret) {
		t.Errorf("a copy was touched: %v", err)
	}
}

func TestASnapshotThatIsSentAgainIsWholeAgain(t *testing.T) {
	t.Parallel()
	d := newDiary(t)
	_, body, err := d.s.Snapshots().Get(t.Context(), d.hashes["system"])
	d.check(err)
	_, err = d.s.Forget(t.Context(), core.ForgetQuery{Text: secret})
	d.check(err)
	hash, err := d.s.Snapshots().Put(t.Context(), core.SnapshotSystem, body)
	d.check(err)
	_, again, err := d.s.Snapshots().Get(t.Context(), hash)
	redacted, rerr := d.s.Snapshots().RedactedAt(t.Context(), hash)
	if err != nil || rerr != nil || hash != d.hashes["system"] || again != body || !redacted.IsZero() {
		t.Errorf("%q, redacted %v: %v, %v", again, redacted, err, rerr)
	}
}

func TestForgettingLeavesNoCodesOfVectors(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	texts := make([]string, 2500) // more than a block, so that the file contains codes
	for i := range texts {
		texts[i] = "filler " + strings.Repeat("x", i%7+1) + " number " + core.NewID[string]("n")
	}
	texts[3] = "the Zanzibarowitz affair"
	l.insert(l.archive, nil, texts...)
	l.embed()
	in := core.PassageFilter{Archives: []core.ArchiveID{l.archive}}
	hits := l.byMeaning(texts[3], in)
	if len(hits) == 0 || hits[0].Passage.Text != texts[3] {
		t.Fatal("not found by meaning")
	}
	before := codeFiles(t, l.dir)
	_, err := l.s.Forget(t.Context(), core.ForgetQuery{Text: texts[3]})
	l.check(err)
	if after := codeFiles(t, l.dir); len(after) == 0 || slices.Equal(before, after) {
		t.Errorf("codes %v, before %v", after, before)
	}
	for _, h := range l.byMeaning(texts[3], core.PassageFilter{Archives: []core.ArchiveID{l.archive}}) {
		if h.Why.Vector > 4 {
			t.Errorf("%q still stands out", h.Passage.Text)
		}
	}
	left := remains(t, l.s, l.dir, "zanzibarow", string(vectors.Bytes(mustUnit(t, texts[3]))))
	if len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func mustUnit(t *testing.T, text string) []float32 {
	t.Helper()
	unit, ok := vectors.Unit(meaningOf(text))
	if !ok {
		t.Fatal("no unit vector")
	}
	return unit
}

func codeFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+vectors.Ending))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestTagsThatBecomeTheSameAreCountedTogether(t *testing.T) {
	t.Parallel()
	d := newLibrary(t)
	for _, tag := range []string{"Quimby", "quimby"} {
		d.check(d.s.Passages().Insert(t.Context(), &core.Passage{
			ID: core.NewPassageID(), Archive: d.archive, Text: "a note", Tags: []string{tag}, CreatedAt: time.Now(), UpdatedAt: time.Now(),
		}))
	}
	_, err := d.s.Forget(t.Context(), core.ForgetQuery{Text: "QUIMBY", IgnoreCase: true})
	d.check(err)
	tags, err := d.s.Passages().TopTags(t.Context(), d.archive, 10)
	d.check(err)
	if diff := cmp.Diff([]core.TagCount{{Tag: "forgotten", Count: 2}}, tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func TestABackupThatWasKilledIsNamedByForgettingAndRemovedByIt(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	s := open(t, storage.Config{})
	part := filepath.Join(elsewhere, "backup.db.part-1")
	note := func() { // as things are while the copy is made
		err := s.Transact(t.Context(), func(ctx context.Context, _ core.Store, q *sqlite.Querier) error {
			_, err := q.Exec(ctx, `INSERT INTO backups (path, at) VALUES ($1, 0) ON CONFLICT (path) DO UPDATE SET at = excluded.at`, part)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	note()
	leave := func() {
		for _, name := range []string{part, part + "-journal"} {
			if err := os.WriteFile(name, []byte("half of Zanzibarowitz"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	leave()
	plan, err := s.Trace(t.Context(), core.ForgetQuery{Text: "Zanzibarowitz"})
	if want := []core.ForgetCopy{{Path: part, Kind: core.CopyBackup}}; err != nil || !slices.Equal(plan.Copies, want) {
		t.Errorf("named: %+v, %v", plan.Copies, err)
	}
	for name, again := range map[string]func() error{
		"forgetting": func() error {
			done, err := s.Forget(t.Context(), core.ForgetQuery{Text: "Zanzibarowitz"})
			if len(done.Copies) > 0 {
				t.Errorf("named: %+v", done.Copies)
			}
			return err
		},
		"a backup": func() error { return backup.Write(t.Context(), s.Store, filepath.Join(elsewhere, "another.db")) },
	} {
		leave()
		note()
		if err := again(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(elsewhere, "*.part-*")); len(left) > 0 {
			t.Errorf("%s leaves %v", name, left)
		}
		var notes int
		if err := s.Reader().Get(t.Context(), &notes, `SELECT COUNT(*) FROM backups WHERE at = 0`); err != nil || notes > 0 {
			t.Errorf("%s leaves %d notes: %v", name, notes, err)
		}
	}
}
