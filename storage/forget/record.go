package forget

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"loci/core"
	"loci/core/ingest"
	"loci/core/memory"
	"loci/core/recall"
	"loci/core/redact"
	"loci/storage"
	"loci/storage/sqlite"
)

// textsOf returns the texts of the record given, whether or not it was deleted.
func (f *pass) textsOf(ctx context.Context, q core.ForgetQuery) ([]string, error) {
	var texts []string
	switch {
	case q.Message != "":
		var row struct {
			Role core.Role `db:"role"`
			Data string    `db:"data"`
		}
		ok, err := f.q.Find(ctx, &row, `SELECT role, data FROM messages WHERE id = $1`, q.Message)
		if err != nil || !ok {
			return nil, orNotFound(err, "message", string(q.Message))
		}
		if row.Role == core.RoleSystem {
			return nil, core.E(core.Invalid, "message %s is the system prompt, which is made anew from what it shows", q.Message).
				WithHint("forget the text itself, or the memory block that holds it")
		}
		var d storage.MessageData
		if err := sqlite.Decode(row.Data, &d); err != nil {
			return nil, err
		}
		return textsIn(&d), nil
	case q.Passage != "":
		return f.passageTexts(ctx, q.Passage)
	}
	err := f.q.All(
		ctx,
		&texts,
		`SELECT value FROM blocks WHERE id = $1 UNION SELECT value FROM block_versions WHERE block_id = $1`,
		q.Block,
	)
	if err != nil || len(texts) == 0 {
		return nil, orNotFound(err, "block", string(q.Block))
	}
	for _, t := range slices.Clone(texts) {
		texts = append(texts, memory.NumberLines(t))
	}
	return texts, nil
}

// passageTexts returns the texts of a passage in all its versions and, if it is part of a file, its lines as views and
// searches show them.
func (f *pass) passageTexts(ctx context.Context, id core.PassageID) ([]string, error) {
	var row struct {
		Text string `db:"text"`
		File string `db:"file_id"`
	}
	if ok, err := f.q.Find(ctx, &row, `SELECT text, file_id FROM passages WHERE id = $1`, id); err != nil || !ok {
		return nil, orNotFound(err, "passage", string(id))
	}
	var was []string
	if err := f.q.All(ctx, &was, `SELECT DISTINCT text FROM passage_versions WHERE passage_id = $1 AND text <> ''`, id); err != nil {
		return nil, err
	}
	texts := []string{row.Text}
	for _, text := range was {
		if text != row.Text {
			texts = append(texts, text)
		}
	}
	if row.File != "" {
		texts = append(texts, strings.Join(ingest.Sentences(row.Text), "\n"))
	}
	return texts, nil
}

// tagsOf returns those tags of a passage that only it and its copies have.
func (f *pass) tagsOf(ctx context.Context, id core.PassageID) ([]string, error) {
	var tags []string
	err := f.q.All(ctx, &tags, `SELECT tag FROM passage_tags WHERE passage_id = $1 AND NOT EXISTS (SELECT 1 FROM passage_tags o
		JOIN passages p ON p.id = o.passage_id WHERE o.tag = passage_tags.tag AND p.deleted_at IS NULL
		AND p.text <> (SELECT text FROM passages WHERE id = $1))`, id)
	return tags, err
}

func orNotFound(err error, noun, id string) error {
	if err != nil {
		return err
	}
	return sqlite.NotFound(noun, id)
}

// textsIn returns everything a message says, calls and returns included.
func textsIn(d *storage.MessageData) []string {
	var texts []string
	for _, c := range d.Content {
		texts = append(texts, c.Text)
		if c.Call != nil {
			texts = append(texts, argumentTexts(c.Call.Arguments)...)
		}
	}
	for _, r := range d.Returns {
		texts = append(append(append(texts, r.Text), r.Stdout...), r.Stderr...)
	}
	return texts
}

// argumentTexts returns the strings in a call's arguments, or the whole text if it isn't JSON.
func argumentTexts(arguments string) []string {
	args, err := core.ParseArguments(arguments)
	if err != nil {
		return []string{arguments}
	}
	var texts []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(args)
	return texts
}

// own empties the record given, however short its texts are.
func (f *pass) own(ctx context.Context, q core.ForgetQuery) error {
	switch {
	case q.Message != "":
		return f.ownMessage(ctx, q.Message)
	case q.Passage != "":
		data, err := sqlite.Encode(storage.PassageData{})
		if err != nil {
			return err
		}
		err = f.tx.Passages().Delete(ctx, q.Passage)
		if err != nil && core.KindOf(err) != core.NotFound { // it was already deleted
			return err
		}
		var archive string
		if err := f.q.Get(ctx, &archive, `SELECT archive_id FROM passages WHERE id = $1`, q.Passage); err != nil {
			return err
		}
		f.archives[archive] = true // a tag that nothing else has goes too
		for _, table := range []string{"passage_tags", "passage_versions"} {
			if _, err := f.q.Exec(ctx, `DELETE FROM `+table+` WHERE passage_id = $1`, q.Passage); err != nil {
				return err
			}
		}
		_, err = f.q.Exec(ctx, `UPDATE passages SET text = $1, data = $2 WHERE id = $3`, f.r.Mark, data, q.Passage)
		return err
	}
	if _, err := f.q.Exec(ctx, `UPDATE blocks SET value = $1 WHERE id = $2`, f.r.Mark, q.Block); err != nil {
		return err
	}
	_, err := f.q.Exec(ctx, `UPDATE block_versions SET value = $1 WHERE block_id = $2`, f.r.Mark, q.Block)
	return err
}

func (f *pass) ownMessage(ctx context.Context, id core.MessageID) error {
	var row struct {
		Run    core.RunID      `db:"run_id"`
		Role   core.Role       `db:"role"`
		Hidden core.HiddenKind `db:"hidden"`
		Data   string          `db:"data"`
	}
	if ok, err := f.q.Find(ctx, &row, `SELECT run_id, role, hidden, data FROM messages WHERE id = $1`, id); err != nil || !ok {
		return orNotFound(err, "message", string(id))
	}
	var d storage.MessageData
	if err := sqlite.Decode(row.Data, &d); err != nil {
		return err
	}
	empty(&d, f.r.Mark, f.at)
	data, err := sqlite.Encode(d)
	if err != nil {
		return err
	}
	if _, err := f.q.Exec(ctx, `UPDATE messages SET preface = '', native = NULL, data = $1 WHERE id = $2`, data, id); err != nil {
		return err
	}
	role := row.Role
	if row.Hidden != core.NotHidden {
		role = ""
	}
	if err := messageForgotten(ctx, f, &textRow{id: string(id), extra: string(role)}); err != nil {
		return err
	}
	return f.ownInput(ctx, row.Run, id)
}

// ownInput empties the message in the input of the run that it came with.
func (f *pass) ownInput(ctx context.Context, run core.RunID, id core.MessageID) error {
	var text string
	if ok, err := f.q.Find(ctx, &text, `SELECT data FROM runs WHERE id = $1`, run); err != nil || !ok {
		return err
	}
	var d storage.RunData
	if err := sqlite.Decode(text, &d); err != nil {
		return err
	}
	for i := range d.Input {
		if d.Input[i].ID == id {
			empty(&d.Input[i].MessageData, f.r.Mark, f.at)
			d.Input[i].Native, d.Input[i].Preface = nil, ""
		}
	}
	text, err := sqlite.Encode(d)
	if err != nil {
		return err
	}
	_, err = f.q.Exec(ctx, `UPDATE runs SET data = $1 WHERE id = $2`, text, run)
	return err
}

// empty reduces a message to the fact that it existed, keeping its calls and returns, which belong together.
func empty(d *storage.MessageData, mark string, at int64) {
	markRedacted(d, at)
	for i := range d.Content {
		if c := &d.Content[i]; c.Call != nil {
			c.Call.Arguments = "{}"
		} else {
			c.Text = mark
		}
	}
	for i := range d.Returns {
		r := &d.Returns[i]
		r.Text, r.Stdout, r.Stderr = mark, nil, nil
	}
}

// countOwn counts the record given if it wasn't found by its texts, because they are too short or it is already empty.
func (f *pass) countOwn(q core.ForgetQuery) {
	name, id := "messages", string(q.Message)
	switch {
	case q.Passage != "":
		name, id = "passages", string(q.Passage)
	case q.Block != "":
		name, id = "memory blocks", string(q.Block)
	}
	for i := range f.found.Places {
		p := &f.found.Places[i]
		if p.Name != name {
			continue
		}
		if !f.apply && !f.r.Empty() {
			return
		}
		p.Count++
		return
	}
	f.found.Places = append([]core.ForgetPlace{{Name: name, Count: 1, Examples: []core.ForgetExample{{ID: id}}}}, f.found.Places...)
}

// inRecalled removes texts too short to search for everywhere from the recall records that name their record.
func (f *pass) inRecalled(ctx context.Context, id string) error {
	short := slices.DeleteFunc(
		slices.Clone(f.texts),
		func(t string) bool { return utf8.RuneCountInString(strings.TrimSpace(t)) >= redact.MinPiece },
	)
	var rows []struct {
		ID   string `db:"id"`
		Data string `db:"data"`
	}
	if len(short) == 0 || id == "" {
		return nil
	}
	if err := f.q.All(
		ctx,
		&rows,
		`SELECT id, data FROM messages WHERE hidden = $1 AND instr(data, $2) > 0`,
		core.HiddenRecall,
		id,
	); err != nil {
		return err
	}
	for _, row := range rows {
		var d storage.MessageData
		if err := sqlite.Decode(row.Data, &d); err != nil {
			return err
		}
		found := false
		for i := range d.Content {
			c := &d.Content[i]
			for _, t := range short {
				was := c.Text
				c.Text = recall.Without(c.Text, t, f.r.Mark)
				found = found || c.Text != was
			}
		}
		if !found {
			continue
		}
		f.recalled++
		f.messages = append(f.messages, core.MessageID(row.ID))
		if !f.apply {
			continue
		}
		markRedacted(&d, f.at)
		data, err := sqlite.Encode(d)
		if err != nil {
			return err
		}
		if _, err := f.q.Exec(ctx, `UPDATE messages SET data = $1 WHERE id = $2`, data, row.ID); err != nil {
			return err
		}
	}
	return nil
}

func (f *pass) countRecalled() {
	if f.recalled == 0 {
		return
	}
	i := slices.IndexFunc(f.found.Places, func(p core.ForgetPlace) bool { return p.Name == "messages" })
	if i < 0 {
		f.found.Places = slices.Insert(f.found.Places, 0, core.ForgetPlace{Name: "messages"})
		i = 0
	}
	f.found.Places[i].Count += f.recalled
}
