package storage

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"loci/core"
)

var _ core.Forgetter = (*Store)(nil)

// Forgetting is one transaction over all places of the facts, which also notes, without a word of the text, that the
// other files must be cleaned. What is cleaned there needs no text: the run log is emptied, index and vectors follow the
// facts, and every file is written anew, so that no page that was once free keeps a byte. After a crash in between, the
// next opening drops the files that are derived, and they are made anew.

// forgetter goes through the places once.
type forgetter struct {
	v     *view // of the transaction; only where something is changed
	q     *querier
	r     *redactor
	at    int64
	apply bool
	found core.Forgetting

	messages []core.MessageID
	hashes   map[string]bool // of snapshots
	blocks   map[string]bool // whose files in a mirror follow
	archives map[string]bool // whose tags are counted anew
	files    []core.FileID   // whose texts are changed

	texts    []string // that are named, or of the record that is
	recalled int      // records that recalled a text of it too short to be found in the places
}

const (
	forgetBatch = 200 // rows that are looked at together
	examples    = 3
)

// pieces of a text that are looked for by themselves.
const (
	minPiece  = 8       // characters of a whole text of a record; a shorter one is removed from the record alone
	minLine   = 24      // characters of a line of it
	maxPieces = 4 << 20 // bytes in all
)

// Trace says where the text stands.
func (s *Store) Trace(ctx context.Context, q core.ForgetQuery) (core.Forgetting, error) {
	if err := q.Validate(); err != nil {
		return core.Forgetting{}, err
	}
	f, err := s.newForgetter(ctx, s.facts.r, q)
	if err != nil {
		return core.Forgetting{}, err
	}
	if err := f.all(ctx, q); err != nil {
		return core.Forgetting{}, classify("look for a text", err)
	}
	f.found.Copies, err = s.copies(ctx, f)
	return f.found, err
}

// Forget removes the text.
func (s *Store) Forget(ctx context.Context, q core.ForgetQuery) (core.Forgetting, error) {
	if err := q.Validate(); err != nil {
		return core.Forgetting{}, err
	}
	s.maintenance.Lock()
	defer s.maintenance.Unlock()
	if err := s.removeParts(ctx); err != nil {
		return core.Forgetting{}, err
	}
	var f *forgetter
	err := s.outer(ctx, func(ctx context.Context, tx *view) (err error) {
		if f, err = s.newForgetter(ctx, tx.tx, q); err != nil {
			return err
		}
		f.v, f.apply, f.found.At = tx, true, s.cfg.Clock()
		f.at = int64(toMicros(f.found.At))
		if err := f.allRead(ctx); err != nil {
			return err
		}
		if err := f.all(ctx, q); err != nil {
			return err
		}
		_, err = tx.tx.exec(ctx, `INSERT INTO forgets (at, records) VALUES ($1, $2)`, f.at, f.found.Total())
		return err
	})
	if err != nil {
		return core.Forgetting{}, classify("forget", err)
	}
	if err := s.clean(context.WithoutCancel(ctx)); err != nil {
		return f.found, core.E(core.KindOf(err), "the text is gone from the facts, but not from every file yet: %w", err).
			WithHint("it is finished when you repeat the command, or when the daemon starts again")
	}
	f.found.Copies, err = s.copies(ctx, f)
	return f.found, err
}

// allRead refuses while files wait to be read: what is in them is not known yet, and would be stored behind the forgetting.
func (f *forgetter) allRead(ctx context.Context) error {
	if _, err := f.q.exec(ctx, `DELETE FROM file_bytes WHERE file_id IN (SELECT id FROM files WHERE deleted_at IS NOT NULL)`); err != nil {
		return err
	}
	var n int
	err := f.q.get(ctx, &n, `SELECT COUNT(*) FROM files WHERE status IN ('pending', 'parsing') AND deleted_at IS NULL`)
	if err != nil || n == 0 {
		return err
	}
	return core.E(core.Busy, "%d files are still to be read, and may hold it", n).WithHint("wait until that is done, or delete them; then try again")
}

func (s *Store) newForgetter(ctx context.Context, q *querier, query core.ForgetQuery) (*forgetter, error) {
	f := &forgetter{q: q, hashes: map[string]bool{}, archives: map[string]bool{}, blocks: map[string]bool{string(query.Block): true}}
	texts := []string{query.Text}
	if query.Text == "" {
		var err error
		if texts, err = f.textsOf(ctx, query); err != nil {
			return nil, err
		}
	}
	f.texts, texts = texts, forms(texts)
	f.r = newRedactor(pieces(texts, query.Text != ""), query.IgnoreCase)
	if err := f.declared(ctx); err != nil {
		return nil, classify("read what tools were sent", err)
	}
	if query.Text == "" {
		var all []string
		for _, t := range texts {
			all = append(all, variants(t)...)
		}
		f.r.quotes = newQuotes(all)
		f.r.record = string(query.Message) + string(query.Passage) + string(query.Block)
		var err error
		if f.r.tags, err = f.tagsOf(ctx, query.Passage); err != nil {
			return nil, err
		}
	}
	f.found.Mark = f.r.mark
	return f, nil
}

// declared finds the names of all tools that were ever sent, and of their parameters.
func (f *forgetter) declared(ctx context.Context) error {
	f.r.tools, f.r.declared = map[string]bool{}, map[string]bool{}
	var body []byte
	return f.q.each(ctx, `SELECT body FROM snapshots WHERE kind = $1`, []any{core.SnapshotTools}, []any{&body}, func() error {
		text, err := unpack(body)
		if err != nil {
			return err
		}
		var tools []struct {
			Name       string `json:"name"`
			Parameters struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"parameters"`
		}
		_ = json.Unmarshal([]byte(text), &tools) // what is no schema, which a client may send, declares nothing
		for _, t := range tools {
			f.r.tools[t.Name] = true
			for name := range t.Parameters.Properties {
				f.r.declared[name] = true
			}
		}
		return nil
	})
}

// pieces are what of the texts is looked for: each whole, and its longer lines, which may stand alone where it was cut,
// compared or numbered. A person's own text is looked for however short.
func pieces(texts []string, own bool) []string {
	var all []string
	size := 0
	add := func(s string, least int) {
		if s = strings.TrimSpace(s); utf8.RuneCountInString(s) >= least && len(s) >= headBytes && size+len(s) <= maxPieces {
			size += len(s)
			all = append(all, s)
		}
	}
	least := minPiece
	if own {
		least = core.MinForgetChars
	}
	for _, t := range texts {
		add(t, least)
	}
	for _, t := range texts {
		if strings.Contains(t, "\n") {
			for line := range strings.SplitSeq(t, "\n") {
				add(line, minLine)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// all goes through every place.
func (f *forgetter) all(ctx context.Context, q core.ForgetQuery) error {
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

// place looks at all rows of a place, a batch at a time.
func (f *forgetter) place(ctx context.Context, p *textPlace, found *core.ForgetPlace) error {
	if len(f.r.heads) == 0 && f.r.re == nil && !slices.ContainsFunc(p.columns, func(c column) bool { return c.form == formJSON || c.form == formPacked }) {
		return nil // a record whose texts are all too short stands only where it is listed
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

// batch reads the next rows and keeps those that hold a text; last is the place to go on from.
func (f *forgetter) batch(ctx context.Context, p *textPlace, after int64) (rows []held, last int64, err error) {
	exprs, filtered := make([]string, len(p.columns)), make([]string, 0, len(p.columns))
	for i, c := range p.columns {
		exprs[i] = "COALESCE(" + c.name + ", '')"
		filtered = append(filtered, c.name)
	}
	clause, args := f.r.where(filtered)
	if clause == "" || slices.ContainsFunc(p.columns, func(c column) bool { return c.form.packed() }) {
		clause, args = "1", nil
	}
	extra := p.extra
	if extra == "" {
		extra = "''"
	}
	n := strconv.Itoa(len(args) + 1)
	text := `SELECT rowid, ` + p.id + `, ` + extra + `, ` + strings.Join(exprs, ", ") + ` FROM ` + p.table + ` WHERE rowid > $` + n + ` AND ` + clause +
		` ORDER BY rowid LIMIT ` + strconv.Itoa(forgetBatch)
	h := held{}
	values := make([]string, len(p.columns))
	dest := []any{&h.row, &h.id, &h.extra}
	for i := range values {
		dest = append(dest, &values[i])
	}
	last = after
	err = f.q.each(ctx, text, append(args, after), dest, func() error {
		last = h.row
		one := held{row: h.row, id: h.id, extra: h.extra, was: map[string]string{}, now: map[string]string{}, set: map[string]any{}}
		hit, err := f.look(p, &one, values)
		if hit {
			rows = append(rows, one)
		}
		return err
	})
	return rows, last, err
}

// look fills in what a row holds and what it will hold, and reports whether that differs.
func (f *forgetter) look(p *textPlace, h *held, values []string) (hit bool, err error) {
	for i, c := range p.columns {
		was, now := values[i], ""
		switch c.form {
		case formText:
			now = f.r.text(was)
		case formName:
			now = f.r.name(was)
		case formJSON:
			now = f.r.json(was, "")
		case formNative:
			if now = was; f.r.json(was, "") != was {
				now = ""
			}
		case formPacked, formDocument:
			if was, err = unpack([]byte(was)); err != nil {
				return false, err
			}
			if c.form == formPacked {
				now = f.snapshot(core.SnapshotKind(h.extra), was)
			} else if now, err = f.r.document(was); err != nil {
				return false, err
			}
		}
		h.was[c.name], h.now[c.name] = was, now
		hit = hit || was != now
	}
	return hit, nil
}

func (f *forgetter) snapshot(kind core.SnapshotKind, body string) string {
	switch kind {
	case core.SnapshotTools:
		return f.r.json(body, "tools")
	case core.SnapshotAgent:
		return f.r.json(body, "")
	case core.SnapshotSystem, core.SnapshotText:
	}
	return f.r.text(f.r.bare(body))
}

// example shows a row.
func (f *forgetter) example(p *textPlace, h *held) core.ForgetExample {
	e := core.ForgetExample{ID: h.id}
	if p.drop {
		return e
	}
	for _, c := range p.columns {
		if was := h.was[c.name]; was != h.now[c.name] && e.Line == "" {
			if c.form == formJSON || c.form == formNative || c.form == formDocument {
				was = f.r.hit(was)
			}
			e.Line = f.r.line(was)
		}
	}
	return e
}

// note remembers, of a row that is not changed now, what would follow.
func (f *forgetter) note(p *textPlace, h *held) {
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
func (f *forgetter) write(ctx context.Context, p *textPlace, h *held) error {
	if p.drop {
		_, err := f.q.exec(ctx, `DELETE FROM `+p.table+` WHERE rowid = $1`, h.row)
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
			packed, err := pack(now)
			if err != nil {
				return err
			}
			h.set[c.name] = packed
		}
	}
	verb := "UPDATE "
	if strings.HasSuffix(p.table, "_tags") {
		verb = "UPDATE OR REPLACE " // two tags may become one
	}
	var sets []string
	args := []any{h.row}
	for name, v := range h.set {
		args = append(args, v)
		sets = append(sets, name+" = $"+strconv.Itoa(len(args)))
	}
	_, err := f.q.exec(ctx, verb+p.table+` SET `+strings.Join(sets, ", ")+` WHERE rowid = $1`, args...)
	if core.KindOf(classify("", err)) == core.Conflict {
		return core.E(core.Conflict, "the text is part of two labels of one agent, which would become the same").WithHint("rename one of the two memory blocks first")
	}
	if err != nil || p.then == nil {
		return err
	}
	return p.then(ctx, f, h)
}

// follow does what follows from all changes together: tags are counted anew, and conversations that sent the text send
// a prompt that is compiled anew, to which nothing that a provider signed is bound.
func (f *forgetter) follow(ctx context.Context) error {
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
		data, err := encode(row.data)
		if err != nil {
			return err
		}
		if _, err := f.q.exec(ctx, `UPDATE conversations SET data = $1 WHERE id = $2`, data, id); err != nil {
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

type pinned struct {
	rev  int
	data conversationData
}

// conversations are those whose window holds a message that is changed, or that are pinned to a prompt that is.
func (f *forgetter) conversations(ctx context.Context) (map[string]pinned, error) {
	touched := map[string]bool{}
	for chunk := range chunks(f.messages) {
		w := &where{}
		in(w, "message_id", chunk)
		var ids []string
		if err := f.q.all(ctx, &ids, `SELECT DISTINCT conversation_id FROM context`+w.String(), w.args...); err != nil {
			return nil, err
		}
		for _, id := range ids {
			touched[id] = true
		}
	}
	out := map[string]pinned{}
	if len(touched) == 0 && len(f.hashes) == 0 {
		return out, nil
	}
	var id, agent, data string
	var rev int
	err := f.q.each(ctx, `SELECT id, agent_id, rev, data FROM conversations WHERE deleted_at IS NULL`, nil, []any{&id, &agent, &rev, &data}, func() error {
		p := pinned{rev: rev}
		if err := decode(data, &p.data); err != nil {
			return err
		}
		if touched[id] || f.hashes[p.data.PinSystem] || f.hashes[p.data.PinTools] {
			out[id] = p
			if !slices.Contains(f.found.Agents, core.AgentID(agent)) {
				f.found.Agents = append(f.found.Agents, core.AgentID(agent))
			}
		}
		return nil
	})
	return out, err
}

// recountTags makes the counters of an archive's tags anew.
func recountTags(ctx context.Context, q *querier, archive string) error {
	if _, err := q.exec(ctx, `DELETE FROM archive_tags WHERE archive_id = $1`, archive); err != nil {
		return err
	}
	_, err := q.exec(ctx, `INSERT INTO archive_tags (archive_id, tag, uses) SELECT p.archive_id, t.tag, COUNT(*) FROM passages p
		JOIN passage_tags t ON t.passage_id = p.id WHERE p.archive_id = $1 AND p.deleted_at IS NULL GROUP BY p.archive_id, t.tag`, archive)
	return err
}
