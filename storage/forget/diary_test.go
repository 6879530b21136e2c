package forget

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/finder"
)

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
	mended  core.PassageID // what it held once is in its versions
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
	d.check(tx.Blocks().Create(ctx, &b, core.Author{Kind: core.AuthorUser}))
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
	d.check(tx.Passages().Delete(ctx, gone.ID))
	d.mended = core.NewPassageID()
	mended := core.Passage{ID: d.mended, Archive: d.archive, Text: "once: " + secret, Tags: []string{"Zanzibarowitz"}, CreatedAt: now}
	d.check(tx.Passages().Insert(ctx, &mended))
	mended.Text, mended.Tags, mended.Metadata = "nothing of it", nil, map[string]any{"was": secret}
	d.check(tx.Passages().Update(ctx, &mended, core.Author{Kind: core.AuthorUser}))
	mended.Metadata = nil
	return tx.Passages().Update(ctx, &mended, core.Author{Kind: core.AuthorUser})
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
