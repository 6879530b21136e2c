package forget

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"loci/core"
	"loci/core/redact"
	"loci/storage"
	"loci/storage/deflate"
	"loci/storage/sqlite"
)

// Forgetter removes texts from a home for good.
type Forgetter struct {
	s        *storage.Store
	beside   []string
	history  History
	contents Contents
}

var _ core.Forgetter = (*Forgetter)(nil)

// History writes everything that git keeps of a folder to out.
type History func(ctx context.Context, dir string, out io.Writer) error

// New returns a Forgetter for a store. It also lists files that hold a forgotten text in the directories beside, and in
// the git history of mirrors; without a history, git isn't asked. Contents may be nil.
func New(s *storage.Store, beside []string, history History, contents Contents) *Forgetter {
	return &Forgetter{s: s, beside: beside, history: history, contents: contents}
}

// Forgetting is one transaction over all places in the facts. It also records, without a word of the text, that the
// other files must be cleaned. Cleaning doesn't need the text: the run log is emptied, the index and the vectors follow
// the facts, and every file is rewritten, so that no freed page keeps a byte. After a crash in between, the next opening
// drops the derived files, and they are rebuilt.

// pass is one pass over all places.
type pass struct {
	tx    core.Store // the transaction; set only if the pass changes anything
	q     *sqlite.Querier
	r     *redact.Redactor
	at    int64
	apply bool
	found core.Forgetting

	messages []core.MessageID
	hashes   map[string]bool // of snapshots
	blocks   map[string]bool // whose files in a mirror must be rewritten
	archives map[string]bool // whose tags must be recounted
	files    []core.FileID   // whose texts were changed

	texts    []string // the texts given, or those of the record given
	recalled int      // recall records that held a text too short to be searched for in the places
}

const (
	forgetBatch = 200 // rows processed together
	examples    = 3
)

// Trace reports where the text is stored.
func (g *Forgetter) Trace(ctx context.Context, q core.ForgetQuery) (core.Forgetting, error) {
	if err := q.Validate(); err != nil {
		return core.Forgetting{}, err
	}
	f, err := newPass(ctx, g.s.Reader(), q)
	if err != nil {
		return core.Forgetting{}, err
	}
	if err := f.all(ctx, q); err != nil {
		return core.Forgetting{}, sqlite.Classify("look for a text", err)
	}
	kept, err := g.inContents(ctx, f)
	if err != nil {
		return core.Forgetting{}, err
	}
	f.countContents(kept)
	f.found.Copies, err = g.copies(ctx, f)
	return f.found, err
}

// Forget removes the text.
func (g *Forgetter) Forget(ctx context.Context, q core.ForgetQuery) (core.Forgetting, error) {
	if err := q.Validate(); err != nil {
		return core.Forgetting{}, err
	}
	var f *pass
	err := g.s.Maintain(ctx, func() (err error) {
		if f, err = g.remove(ctx, q); err != nil {
			return err
		}
		if err := g.s.Clean(context.WithoutCancel(ctx)); err != nil {
			return core.E(core.KindOf(err), "the text is gone from the facts, but not from every file yet: %w", err).
				WithHint("it is finished when you repeat the command, or when the daemon starts again")
		}
		f.found.Copies, err = g.copies(ctx, f)
		return err
	})
	if f == nil {
		return core.Forgetting{}, err
	}
	return f.found, err
}

// remove removes the text from the facts.
func (g *Forgetter) remove(ctx context.Context, q core.ForgetQuery) (f *pass, err error) {
	kept := 0 // the transaction may run again, which then finds none
	err = g.s.Transact(ctx, func(ctx context.Context, tx core.Store, on *sqlite.Querier) (err error) {
		if f, err = newPass(ctx, on, q); err != nil {
			return err
		}
		f.tx, f.apply, f.found.At = tx, true, g.s.Config().Clock()
		f.at = int64(sqlite.ToMicros(f.found.At))
		if err := f.allRead(ctx); err != nil {
			return err
		}
		if err := f.all(ctx, q); err != nil {
			return err
		}
		n, err := g.inContents(ctx, f) // before the commit: afterwards nobody knows the text
		if err != nil {
			return err
		}
		kept += n
		f.countContents(kept)
		_, err = on.Exec(ctx, `INSERT INTO forgets (at, records) VALUES ($1, $2)`, f.at, f.found.Total())
		return err
	})
	if err != nil {
		return nil, sqlite.Classify("forget", err)
	}
	return f, nil
}

// allRead refuses while files are waiting to be read: their contents aren't known yet and would be stored after the text
// was forgotten.
func (f *pass) allRead(ctx context.Context) error {
	if _, err := f.q.Exec(ctx, `DELETE FROM file_bytes WHERE file_id IN (SELECT id FROM files WHERE deleted_at IS NOT NULL)`); err != nil {
		return err
	}
	var n int
	err := f.q.Get(ctx, &n, `SELECT COUNT(*) FROM files WHERE status IN ('pending', 'parsing') AND deleted_at IS NULL`)
	if err != nil || n == 0 {
		return err
	}
	return core.E(core.Busy, "still to be read, and may hold it: %s", core.Count(n, "file")).
		WithHint("wait until that is done, or delete them; then try again")
}

func newPass(ctx context.Context, q *sqlite.Querier, query core.ForgetQuery) (*pass, error) {
	f := &pass{q: q, hashes: map[string]bool{}, archives: map[string]bool{}, blocks: map[string]bool{string(query.Block): true}}
	texts := []string{query.Text}
	if query.Text == "" {
		var err error
		if texts, err = f.textsOf(ctx, query); err != nil {
			return nil, err
		}
	}
	f.texts, texts = texts, redact.Forms(texts)
	f.r = redact.New(redact.Pieces(texts, query.Text != ""), query.IgnoreCase)
	if err := f.declared(ctx); err != nil {
		return nil, sqlite.Classify("read what tools were sent", err)
	}
	if query.Text == "" {
		f.r.Quote(texts)
		f.r.Record = string(query.Message) + string(query.Passage) + string(query.Block)
		var err error
		if f.r.Tags, err = f.tagsOf(ctx, query.Passage); err != nil {
			return nil, err
		}
	}
	f.found.Mark = f.r.Mark
	return f, nil
}

// declared finds the names of all tools that were ever sent, and of their parameters.
func (f *pass) declared(ctx context.Context) error {
	f.r.Tools, f.r.Declared = map[string]bool{}, map[string]bool{}
	var body []byte
	return f.q.Each(ctx, `SELECT body FROM snapshots WHERE kind = $1`, []any{core.SnapshotTools}, []any{&body}, func() error {
		text, err := deflate.Decompress(body)
		if err != nil {
			return err
		}
		var tools []struct {
			Name       string `json:"name"`
			Parameters struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"parameters"`
		}
		_ = json.Unmarshal([]byte(text), &tools) // a client may send an invalid schema; that declares nothing
		for _, t := range tools {
			f.r.Tools[t.Name] = true
			for name := range t.Parameters.Properties {
				f.r.Declared[name] = true
			}
		}
		return nil
	})
}

// all processes every place.
func (f *pass) all(ctx context.Context, q core.ForgetQuery) error {
	if q.Text == "" && f.apply {
		if err := f.own(ctx, q); err != nil {
			return err
		}
	}
	if err := f.inRecalled(ctx, string(q.Message)+string(q.Passage)); err != nil {
		return err
	}
	for _, p := range places() {
		found := core.ForgetPlace{Name: p.name}
		if err := f.place(ctx, &p, &found); err != nil {
			return err
		}
		if found.Count > 0 {
			f.found.Places = append(f.found.Places, found)
		}
	}
	if q.Text == "" {
		f.countRecalled()
		f.countOwn(q)
	}
	return f.follow(ctx)
}

// place processes all rows of a place, a batch at a time.
func (f *pass) place(ctx context.Context, p *textPlace, found *core.ForgetPlace) error {
	if f.r.Empty() && !slices.ContainsFunc(p.columns, func(c column) bool { return c.form == formJSON || c.form == formPacked }) {
		return nil // a record whose texts are all too short can be found only where it is listed
	}
	for after, more := int64(0), true; more; {
		rows, last, err := f.batch(ctx, p, after)
		if err != nil {
			return err
		}
		after, more = last, last > after
		for i := range rows {
			h := &rows[i]
			found.Count++
			if len(found.Examples) < examples {
				found.Examples = append(found.Examples, f.example(p, h))
			}
			if !f.apply {
				f.note(p, h)
			} else if err := f.write(ctx, p, h); err != nil {
				return err
			}
		}
	}
	return nil
}

// look fills in what a row holds and what it will hold, and reports whether they differ.
func (f *pass) look(p *textPlace, h *textRow, values []string) (hit bool, err error) {
	for i, c := range p.columns {
		was, now := values[i], ""
		switch c.form {
		case formText:
			now = f.r.Text(was)
		case formName:
			now = f.r.Name(was)
		case formJSON:
			now = f.r.JSON(was, "")
		case formNative:
			if now = was; f.r.JSON(was, "") != was {
				now = ""
			}
		case formPacked, formDocument:
			if was, err = deflate.Decompress([]byte(was)); err != nil {
				return false, err
			}
			if c.form == formPacked {
				now = f.snapshot(core.SnapshotKind(h.extra), was)
			} else if now, err = f.document(was); err != nil {
				return false, err
			}
		}
		h.was[c.name], h.now[c.name] = was, now
		hit = hit || was != now
	}
	return hit, nil
}

func (f *pass) snapshot(kind core.SnapshotKind, body string) string {
	switch kind {
	case core.SnapshotTools:
		return f.r.JSON(body, "tools")
	case core.SnapshotAgent:
		return f.r.JSON(body, "")
	case core.SnapshotSystem, core.SnapshotText:
	}
	return f.r.Text(f.r.Bare(body))
}

// document returns the text of a file as it will be.
func (f *pass) document(raw string) (string, error) {
	if !f.r.Finds(raw) && f.r.JSON(raw, "") == raw {
		return raw, nil
	}
	var d core.Document
	if err := sqlite.Decode(raw, &d); err != nil {
		return "", err
	}
	f.r.Document(&d)
	return sqlite.Encode(d)
}

// example describes a row for display.
func (f *pass) example(p *textPlace, h *textRow) core.ForgetExample {
	e := core.ForgetExample{ID: h.id}
	if p.drop {
		return e
	}
	for _, c := range p.columns {
		if was := h.was[c.name]; was != h.now[c.name] && e.Line == "" {
			if c.form == formJSON || c.form == formNative || c.form == formDocument {
				was = f.r.Hit(was)
			}
			e.Line = f.r.Line(was)
		}
	}
	return e
}

// note records what must follow for a row that isn't being changed now.
func (f *pass) note(p *textPlace, h *textRow) {
	switch p.table {
	case "messages":
		f.messages = append(f.messages, core.MessageID(h.id))
	case "blocks":
		f.blocks[h.id] = true
	case "snapshots":
		f.hashes[h.id] = true
	case "file_texts":
		f.files = append(f.files, core.FileID(h.id))
	}
}

// write changes a row.
func (f *pass) write(ctx context.Context, p *textPlace, h *textRow) error {
	if p.drop {
		_, err := f.q.Exec(ctx, `DELETE FROM `+p.table+` WHERE rowid = $1`, h.row)
		return err
	}
	if p.amend != nil {
		if err := p.amend(f, h); err != nil {
			return err
		}
	}
	for _, c := range p.columns {
		now, ok := h.now[c.name]
		if !ok || now == h.was[c.name] {
			continue
		}
		h.set[c.name] = now
		if c.form.packed() {
			packed, err := deflate.Compress(now)
			if err != nil {
				return err
			}
			h.set[c.name] = packed
		}
	}
	verb := "UPDATE "
	if strings.HasSuffix(p.table, "_tags") {
		verb = "UPDATE OR REPLACE " // two tags may become the same
	}
	var sets []string
	args := []any{h.row}
	for name, v := range h.set {
		args = append(args, v)
		sets = append(sets, name+" = $"+strconv.Itoa(len(args)))
	}
	_, err := f.q.Exec(ctx, verb+p.table+` SET `+strings.Join(sets, ", ")+` WHERE rowid = $1`, args...)
	if core.KindOf(sqlite.Classify("", err)) == core.Conflict {
		return core.E(core.Conflict, "the text is part of two labels of one agent, which would become the same").
			WithHint("rename one of the two memory blocks first")
	}
	if err != nil || p.then == nil {
		return err
	}
	return p.then(ctx, f, h)
}

// follow does what the changes together require: it recounts tags, and recompiles the prompts of conversations that sent
// the text; nothing that a provider signed is bound to the new prompt.
func (f *pass) follow(ctx context.Context) error {
	convs, err := f.conversations(ctx)
	if err != nil {
		return err
	}
	f.found.Conversations = len(convs)
	if !f.apply {
		return nil
	}
	for id, row := range convs {
		row.data.PinKey, row.data.Cut = "", row.rev
		data, err := sqlite.Encode(row.data)
		if err != nil {
			return err
		}
		if _, err := f.q.Exec(ctx, `UPDATE conversations SET data = $1 WHERE id = $2`, data, id); err != nil {
			return err
		}
	}
	for archive := range f.archives {
		if err := recountTags(ctx, f.q, archive); err != nil {
			return err
		}
	}
	return nil
}

type pin struct {
	rev  int
	data storage.ConversationData
}

// conversations returns the conversations whose window holds a changed message or that are pinned to a changed prompt.
func (f *pass) conversations(ctx context.Context) (map[string]pin, error) {
	touched := map[string]bool{}
	for chunk := range sqlite.Chunks(f.messages) {
		w := &sqlite.Where{}
		sqlite.In(w, "message_id", chunk)
		var ids []string
		if err := f.q.All(ctx, &ids, `SELECT DISTINCT conversation_id FROM context`+w.String(), w.Args...); err != nil {
			return nil, err
		}
		for _, id := range ids {
			touched[id] = true
		}
	}
	out := map[string]pin{}
	if len(touched) == 0 && len(f.hashes) == 0 {
		return out, nil
	}
	var id, agent, data string
	var rev int
	err := f.q.Each(
		ctx,
		`SELECT id, agent_id, rev, data FROM conversations WHERE deleted_at IS NULL`,
		nil,
		[]any{&id, &agent, &rev, &data},
		func() error {
			p := pin{rev: rev}
			if err := sqlite.Decode(data, &p.data); err != nil {
				return err
			}
			if touched[id] || f.hashes[p.data.PinSystem] || f.hashes[p.data.PinTools] {
				out[id] = p
				if !slices.Contains(f.found.Agents, core.AgentID(agent)) {
					f.found.Agents = append(f.found.Agents, core.AgentID(agent))
				}
			}
			return nil
		},
	)
	return out, err
}

// recountTags recounts the tags of an archive.
func recountTags(ctx context.Context, q *sqlite.Querier, archive string) error {
	if _, err := q.Exec(ctx, `DELETE FROM archive_tags WHERE archive_id = $1`, archive); err != nil {
		return err
	}
	_, err := q.Exec(ctx, `INSERT INTO archive_tags (archive_id, tag, uses) SELECT p.archive_id, t.tag, COUNT(*) FROM passages p
		JOIN passage_tags t ON t.passage_id = p.id WHERE p.archive_id = $1 AND p.deleted_at IS NULL GROUP BY p.archive_id, t.tag`, archive)
	return err
}
