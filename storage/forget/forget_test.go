package forget

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/finder"
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
		"meta":            {"key", "value"},
		"agents":          {"id", "type", "model", "last_stop", "name_key"},
		"agent_tags":      {"agent_id"},
		"blocks":          {"id"},
		"block_tags":      {"block_id"},
		"block_versions":  {"block_id", "author_kind", "author_id", "step_id"},
		"agent_blocks":    {"agent_id", "block_id"},
		"conversations":   {"id", "agent_id"},
		"messages":        {"id", "agent_id", "conversation_id", "run_id", "step_id", "role", "hidden"},
		"context":         {"conversation_id", "message_id", "why"},
		"runs":            {"id", "agent_id", "conversation_id", "status", "stop_reason", "request"},
		"steps":           {"id", "run_id", "agent_id", "conversation_id", "status", "model", "system_hash", "tools_hash", "agent_hash"},
		"snapshots":       {"hash", "kind"},
		"archives":        {"id", "folder_id"},
		"agent_archives":  {"agent_id", "archive_id"},
		"passages":        {"id", "archive_id", "agent_id", "step_id", "file_id"},
		"passage_tags":    {"passage_id"},
		"archive_tags":    {"archive_id"},
		"workspaces":      {"agent_id", "conversation_id"},
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

// secret is a text with everything that JSON may write differently, and a word found nowhere else.
const secret = `Žofie "Quimby" lives <at> Zanzibarowitz`

// diary is a home with the secret in every place.
type diary struct {
	*library
	agent   core.AgentID
	conv    core.ConversationID
	hashes  map[string]string // of snapshots, by what they are of
	message core.MessageID
	whole   core.PassageID // the passage of which nothing is left
	part    core.PassageID
	block   core.BlockID
	file    core.FileID
	disk    string
}

func newDiary(t *testing.T) *diary {
	t.Helper()
	d := &diary{library: newLibrary(t), hashes: map[string]string{}}
	now := time.Now()
	a := core.Agent{
		ID:          core.NewAgentID(),
		Name:        "Zanzibarowitz",
		Type:        core.AgentLettaV1,
		Description: secret,
		System:      "Remember: " + secret,
		CreatedAt:   now,
		UpdatedAt:   now,
		Metadata:    map[string]any{secret: secret, "phone": 5558812},
		Tags:        []string{secret, "kept"},
		Timezone:    "UTC",
	}
	d.agent, d.conv = a.ID, core.DefaultConversation(a.ID)
	d.check(d.s.Agents().Create(t.Context(), &a))
	d.check(d.s.Tx(t.Context(), d.fill))
	d.addFile()
	d.check(d.s.Events().Append(t.Context(),
		core.Event{
			Run:  "run-a",
			Seq:  1,
			At:   now,
			Body: core.Said{Text: secret[:12]},
		}, core.Event{Run: "run-a", Seq: 2, At: now, Body: core.Said{Text: secret[12:]}},
		core.Event{Run: "run-a", Seq: 3, At: now, Body: core.UserInput{Role: core.RoleUser, Text: secret}},
		core.Event{Run: "run-a", Seq: 4, At: now, Body: core.Stop{Reason: core.StopEndTurn, Status: core.RunCompleted}}),
	)
	d.embed()
	return d
}

// addFile adds a file of a folder that follows a directory.
func (d *diary) addFile() {
	d.Helper()
	ctx, now := d.Context(), time.Now()
	d.disk = filepath.Join(d.TempDir(), "notes.txt")
	d.check(os.WriteFile(d.disk, []byte(secret), 0o600))
	folder := core.Folder{
		ID:          core.NewFolderID(),
		Name:        "notes",
		Description: secret,
		Mirror:      &core.Mirror{Path: filepath.Dir(d.disk)},
		CreatedAt:   now,
		UpdatedAt:   now,
	}
	d.check(d.s.Folders().Create(ctx, &folder))
	f := core.File{
		ID:        core.NewFileID(),
		Folder:    folder.ID,
		Name:      "notes.txt",
		Status:    core.FilePending,
		Title:     secret,
		CreatedAt: now,
		UpdatedAt: now,
	}
	d.check(d.s.Files().Create(ctx, &f, []byte(secret)))
	if _, err := d.s.Forget(ctx, core.ForgetQuery{Text: "nowhere"}); core.KindOf(err) != core.Busy {
		d.Errorf("while a file is to be read: %v", err)
	}
	doc := core.Document{
		Kind:     "text",
		Title:    secret,
		Text:     "x " + secret,
		Sections: []core.Section{{End: 2 + len(secret), Line: 1, EndLine: 1}},
	}
	d.file = f.ID
	f.Status = core.FileEmbedding
	d.check(d.s.Files().Fill(ctx, &f, doc, []core.Passage{{ID: core.NewPassageID(), Text: secret, CreatedAt: now}}))
}

func (d *diary) fill(ctx context.Context, tx core.Store) error {
	now := time.Now()
	for kind, body := range map[core.SnapshotKind]string{
		core.SnapshotSystem: "<human>\n" + secret + "\n</human>", core.SnapshotText: secret,
		core.SnapshotTools: `[{"name":"note","description":` + quote(secret) + `,"parameters":{"type":"object"}}]`,
		core.SnapshotAgent: `{"type":"letta_v1_agent","rules":[{"type":"run_first","tool_name":"note","args":{"text":` + quote(secret) +
			`}}],"pin":{"at":"2026-01-02T03:04:05Z"}}`,
	} {
		hash, err := tx.Snapshots().Put(ctx, kind, body)
		d.check(err)
		d.hashes[string(kind)] = hash
	}
	c := core.Conversation{
		ID: d.conv, Agent: d.agent, Summary: secret, PinSystem: d.hashes["system"], PinTools: d.hashes["tools"], PinKey: "key", Rev: 3,
		LastFolder: "/home/Zanzibarowitz", CreatedAt: now,
	}
	d.check(tx.Conversations().Create(ctx, &c))
	d.block = core.NewBlockID()
	b := core.Block{
		ID: d.block, Label: "Zanzibarowitz", Value: "Name: " + secret + "\nlikes tea", Description: secret, Limit: 1000, Version: 1,
		Metadata: map[string]any{"a": secret}, Tags: []string{secret}, CreatedAt: now, UpdatedAt: now,
	}
	d.check(tx.Blocks().Create(ctx, &b, core.BlockAuthor{Kind: core.AuthorUser}))
	d.check(tx.Blocks().Attach(ctx, d.agent, d.block))
	run := core.Run{
		ID:           "run-a",
		Agent:        d.agent,
		Conversation: d.conv,
		Status:       core.RunCompleted,
		CreatedAt:    now,
		Notices:      []string{secret},
		Client: core.Client{
			Workspace: "/home/Zanzibarowitz",
		},
		Config: core.RunConfig{System: secret},
		Error:  &core.RunError{Message: secret, Detail: secret},
	}
	d.message = core.NewMessageID()
	run.Input = []core.Message{{ID: d.message, Role: core.RoleUser, Content: []core.Content{core.Text(secret)}, CreatedAt: now}}
	d.check(tx.Runs().Create(ctx, &run))
	d.check(tx.Steps().Create(ctx, &core.Step{
		ID:           "step-a",
		Run:          "run-a",
		Agent:        d.agent,
		Conversation: d.conv,
		Number:       1,
		Status:       core.StepFailed,
		SystemHash:   d.hashes["system"],
		ToolsHash:    d.hashes["tools"],
		AgentHash:    d.hashes["agent"],
		Error:        &core.StepError{Message: secret, Trace: secret},
		CreatedAt:    now,
	}))
	d.messages(ctx, tx)
	d.check(tx.Rewinds().Create(ctx, &core.Rewind{
		ID:           core.NewRewindID(),
		Agent:        d.agent,
		Conversation: d.conv,
		Step:         "step-a",
		State:        `{"type":"letta_v1_agent","override":"` + "x" + `","note":` + quote(secret) + `}`,
		CreatedAt:    now,
	}))
	d.check(tx.Workspaces().Put(ctx, core.Workspace{Path: "/home/Zanzibarowitz", Agent: d.agent, Conversation: d.conv, UsedAt: now}))
	return d.passages(ctx, tx)
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// inASCII returns a text as a JSON writer restricted to ASCII writes it.
func inASCII(s string) string {
	var b strings.Builder
	for _, c := range utf16.Encode([]rune(strings.ReplaceAll(s, `"`, `\"`))) {
		if c < utf8.RuneSelf {
			b.WriteByte(byte(c))
		} else {
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

func (d *diary) messages(ctx context.Context, tx core.Store) {
	now := time.Now()
	nested := `{"results":[{"text":` + quote(secret) + `}]}`
	for i, m := range []core.Message{
		{
			ID: d.message, Role: core.RoleUser, Run: "run-a", Content: []core.Content{core.Text("Hello. " + secret + "\nBye.")},
			Preface: "in /home/Zanzibarowitz",
		},
		{Role: core.RoleAssistant, Content: []core.Content{
			{Type: core.ContentReasoning, Text: secret, Signature: "signed"},
			{
				Type: core.ContentCall,
				Call: &core.ToolCall{
					ID: "call-1", Name: "note",
					Arguments: `{"text":` + quote(secret) + `,` + quote(secret) + `:1,"again":` + quote(nested) + `}`,
				},
			},
		}, Native: &core.Native{Provider: "p", Model: "m", Data: json.RawMessage(`{"type":"message","text":"` + inASCII(secret) + `"}`)}},
		{Role: core.RoleTool, Returns: []core.ToolReturn{{CallID: "call-1", Name: "note", Text: nested, Stdout: []string{secret}}}},
		{Role: core.RoleUser, Hidden: core.HiddenRecall, Content: []core.Content{core.Text("recalled: " + secret)}},
		{Role: core.RoleUser, Content: []core.Content{core.Text("something else")}},
	} {
		if m.ID == "" {
			m.ID = core.NewMessageID()
		}
		m.Agent, m.Conversation, m.CreatedAt = d.agent, d.conv, now
		d.check(tx.Messages().Insert(ctx, &m))
		d.check(tx.Messages().Enter(ctx, d.conv, i+1, []core.MessageID{m.ID}, nil))
	}
}

func (d *diary) passages(ctx context.Context, tx core.Store) error {
	now := time.Now()
	d.whole, d.part = core.NewPassageID(), core.NewPassageID()
	gone := core.Passage{ID: core.NewPassageID(), Archive: d.archive, Text: "gone: " + secret, CreatedAt: now, UpdatedAt: now}
	d.check(tx.Passages().Insert(ctx,
		&core.Passage{ID: d.whole, Archive: d.archive, Text: secret + ".", Tags: []string{"kept"}, CreatedAt: now, UpdatedAt: now},
		&core.Passage{
			ID: d.part, Archive: d.archive, Text: "One line.\nThen " + secret + " and more.", Tags: []string{"Zanzibarowitz", "kept"},
			Metadata: map[string]any{"who": secret}, CreatedAt: now, UpdatedAt: now,
		},
		&core.Passage{ID: core.NewPassageID(), Archive: d.archive, Text: "unconcerned", CreatedAt: now, UpdatedAt: now}, &gone))
	return tx.Passages().Delete(ctx, gone.ID)
}

// remains reads all files of a home and returns where a word of the secret is left, even inside compressed data.
func remains(t *testing.T, s *home, dir string, words ...string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, w := range words {
			if strings.Contains(strings.ToLower(string(data)), strings.ToLower(w)) {
				found = append(found, filepath.Base(path)+" holds "+w)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var hashes []string
	if err := s.Reader().All(t.Context(), &hashes, `SELECT hash FROM snapshots`); err != nil {
		t.Fatal(err)
	}
	for _, h := range hashes {
		kind, body, err := s.Snapshots().Get(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range words {
			if strings.Contains(strings.ToLower(body), strings.ToLower(w)) {
				found = append(found, "the snapshot of "+string(kind)+" holds "+w)
			}
		}
	}
	return found
}

// traces are what must not be left: parts of the secret in all forms, and what the index makes of its one rare word.
func traces() []string { return []string{"Zanzibarowitz", "zanzibarow", "Žofie", `\u017d`, "Quimby"} }

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

// rest checks that everything that wasn't forgotten is unchanged.
func (d *diary) rest() {
	d.Helper()
	ctx := d.Context()
	if _, err := d.s.Passages().Get(ctx, d.whole); core.KindOf(err) != core.NotFound {
		d.Errorf("a passage of which nothing is left: %v", err)
	}
	p, err := d.s.Passages().Get(ctx, d.part)
	d.check(err)
	if want := "One line.\nThen [forgotten] and more."; p.Text != want {
		d.Errorf("the other passage is %q", p.Text)
	}
	if diff := cmp.Diff([]string{"forgotten", "kept"}, p.Tags); diff != "" {
		d.Errorf("tags (-want +got):\n%s", diff)
	}
	tags, err := d.s.Passages().TopTags(ctx, d.archive, 10)
	d.check(err)
	if diff := cmp.Diff([]core.TagCount{{Tag: "forgotten", Count: 1}, {Tag: "kept", Count: 1}}, tags); diff != "" {
		d.Errorf("tags of the archive (-want +got):\n%s", diff)
	}
	m, err := d.s.Messages().Get(ctx, d.message)
	d.check(err)
	if m.PlainText() != "Hello. [forgotten]\nBye." || m.RedactedAt.IsZero() {
		d.Errorf("the message is %q, redacted %v", m.PlainText(), m.RedactedAt)
	}
	d.found("Bye", "hello", 1)
	d.found("zanzibarowitz", "Zanzibarowitz quimby", 0)
	rows, err := d.s.Messages().Context(ctx, d.conv)
	d.check(err)
	call := rows[1].Message
	if call.Native != nil || call.Content[0].Signature != "" || call.Content[1].Call.Name != "note" ||
		!json.Valid([]byte(call.Content[1].Call.Arguments)) {
		d.Errorf("the call is %+v", call)
	}
	if other := rows[4].Message; !other.RedactedAt.IsZero() || other.PlainText() != "something else" {
		d.Errorf("another message is %+v", other)
	}
	for of, hash := range d.hashes {
		if at, err := d.s.Snapshots().RedactedAt(ctx, hash); err != nil || at.IsZero() {
			d.Errorf("the snapshot of %s is not marked: %v", of, err)
		}
	}
	c, err := d.s.Conversations().Get(ctx, d.conv)
	d.check(err)
	if c.PinKey != "" || c.Cut != 3 {
		d.Errorf("the pin stays: %+v", c)
	}
	b, err := d.s.Blocks().Get(ctx, d.block)
	d.check(err)
	if b.Value != "Name: [forgotten]\nlikes tea" || b.Label != "forgotten" || b.Version != 1 {
		d.Errorf("the block is %+v", b)
	}
	doc, err := d.s.Files().Document(ctx, d.file)
	d.check(err)
	if diff := cmp.Diff(core.Document{
		Kind: "text", Title: "[forgotten]", Text: "x [forgotten]", Sections: []core.Section{{End: 13, Line: 1, EndLine: 1}},
	}, doc); diff != "" {
		d.Errorf("the file (-want +got):\n%s", diff)
	}
	run, err := d.s.Runs().Get(ctx, "run-a")
	d.check(err)
	if run.Input[0].RedactedAt.IsZero() || run.Input[0].PlainText() != "[forgotten]" {
		d.Errorf("the input is %+v", run.Input)
	}
}

func (d *diary) found(what, words string, n int) {
	d.Helper()
	d.indexed()
	found, err := finder.New(finder.Config{Store: d.s}).Messages(d.Context(), core.SearchQuery{Text: words}, core.MessageFilter{})
	if d.check(err); found.Partial {
		d.Errorf("%s: partial", what)
	}
	own := 0
	for _, h := range found.Hits {
		if len(h.Words) > 0 { // not a neighbour's
			own++
		}
	}
	if own != n {
		d.Errorf("%s is found %d times", what, own)
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
				if a.Passages != 2 {
					d.Errorf("%d passages are counted", a.Passages)
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
