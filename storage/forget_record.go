package storage

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"loci/core"
	"loci/core/ingest"
	"loci/core/memory"
	"loci/core/recall"
)

// textsOf are the texts of the record that is named, deleted or not.
func (f *forgetter) textsOf(ctx context.Context, q core.ForgetQuery) ([]string, error) {
	var texts []string
	switch {
	case q.Message != "":
		var row struct {
			Role core.Role `db:"role"`
			Data string    `db:"data"`
		}
		ok, err := f.q.find(ctx, &row, `SELECT role, data FROM messages WHERE id = $1`, q.Message)
		if err != nil || !ok {
			return nil, orNotFound(err, "message", string(q.Message))
		}
		if row.Role == core.RoleSystem {
			return nil, core.E(core.Invalid, "message %s is the system prompt, which is made anew from what it shows", q.Message).
				WithHint("forget the text itself, or the memory block that holds it")
		}
		var d messageData
		if err := decode(row.Data, &d); err != nil {
			return nil, err
		}
		return d.texts(), nil
	case q.Passage != "":
		return f.passageTexts(ctx, q.Passage)
	}
	err := f.q.all(ctx, &texts, `SELECT value FROM blocks WHERE id = $1 UNION SELECT value FROM block_versions WHERE block_id = $1`, q.Block)
	if err != nil || len(texts) == 0 {
		return nil, orNotFound(err, "block", string(q.Block))
	}
	for _, t := range slices.Clone(texts) {
		texts = append(texts, memory.NumberLines(t))
	}
	return texts, nil
}

// passageTexts are the text of a passage and, of a part of a file, its lines as views and searches show them.
func (f *forgetter) passageTexts(ctx context.Context, id core.PassageID) ([]string, error) {
	var row struct {
		Text string `db:"text"`
		File string `db:"file_id"`
	}
	if ok, err := f.q.find(ctx, &row, `SELECT text, file_id FROM passages WHERE id = $1`, id); err != nil || !ok {
		return nil, orNotFound(err, "passage", string(id))
	}
	texts := []string{row.Text}
	if row.File != "" {
		var lines []string
		for _, l := range ingest.Lines(core.Document{Kind: core.FileText, Text: row.Text}) {
			lines = append(lines, l.Text)
		}
		texts = append(texts, strings.Join(lines, "\n"))
	}
	return texts, nil
}

// tagsOf are the tags of a passage that nothing else has but its copies.
func (f *forgetter) tagsOf(ctx context.Context, id core.PassageID) ([]string, error) {
	var tags []string
	err := f.q.all(ctx, &tags, `SELECT tag FROM passage_tags WHERE passage_id = $1 AND NOT EXISTS (SELECT 1 FROM passage_tags o
		JOIN passages p ON p.id = o.passage_id WHERE o.tag = passage_tags.tag AND p.deleted_at IS NULL
		AND p.text <> (SELECT text FROM passages WHERE id = $1))`, id)
	return tags, err
}

func orNotFound(err error, noun, id string) error {
	if err != nil {
		return err
	}
	return notFound(noun, id)
}

// texts are what a message says, calls and returns included.
func (d *messageData) texts() []string {
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

// argumentTexts are the strings of a call's arguments, or all of what is no JSON.
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

// own empties the record that is named, however short its texts are.
func (f *forgetter) own(ctx context.Context, q core.ForgetQuery) error {
	switch {
	case q.Message != "":
		return f.ownMessage(ctx, q.Message)
	case q.Passage != "":
		data, err := encode(passageData{})
		if err != nil {
			return err
		}
		err = passages{f.v}.Delete(ctx, q.Passage)
		if err != nil && core.KindOf(err) != core.NotFound { // it was deleted before
			return err
		}
		var archive string
		if err := f.q.get(ctx, &archive, `SELECT archive_id FROM passages WHERE id = $1`, q.Passage); err != nil {
			return err
		}
		f.archives[archive] = true // a tag that nothing else has goes, too
		if _, err := f.q.exec(ctx, `DELETE FROM passage_tags WHERE passage_id = $1`, q.Passage); err != nil {
			return err
		}
		_, err = f.q.exec(ctx, `UPDATE passages SET text = $1, data = $2 WHERE id = $3`, f.r.mark, data, q.Passage)
		return err
	}
	if _, err := f.q.exec(ctx, `UPDATE blocks SET value = $1 WHERE id = $2`, f.r.mark, q.Block); err != nil {
		return err
	}
	_, err := f.q.exec(ctx, `UPDATE block_versions SET value = $1 WHERE block_id = $2`, f.r.mark, q.Block)
	return err
}

func (f *forgetter) ownMessage(ctx context.Context, id core.MessageID) error {
	var row messageRow
	if ok, err := f.q.find(ctx, &row, `SELECT `+messageColumns+` FROM messages m WHERE m.id = $1`, id); err != nil || !ok {
		return orNotFound(err, "message", string(id))
	}
	var d messageData
	if err := decode(row.Data, &d); err != nil {
		return err
	}
	d.empty(f.r.mark, f.at)
	data, err := encode(d)
	if err != nil {
		return err
	}
	if _, err := f.q.exec(ctx, `UPDATE messages SET preface = '', native = NULL, data = $1 WHERE id = $2`, data, id); err != nil {
		return err
	}
	role := row.Role
	if row.Hidden != core.NotHidden {
		role = ""
	}
	if err := messageForgotten(ctx, f, &held{id: string(id), extra: string(role)}); err != nil {
		return err
	}
	return f.ownInput(ctx, row.Run, id)
}

// ownInput empties the message in the input of the run that brought it.
func (f *forgetter) ownInput(ctx context.Context, run core.RunID, id core.MessageID) error {
	var text string
	if ok, err := f.q.find(ctx, &text, `SELECT data FROM runs WHERE id = $1`, run); err != nil || !ok {
		return err
	}
	var d runData
	if err := decode(text, &d); err != nil {
		return err
	}
	for i := range d.Input {
		if d.Input[i].ID == id {
			d.Input[i].empty(f.r.mark, f.at)
			d.Input[i].Native, d.Input[i].Preface = nil, ""
		}
	}
	text, err := encode(d)
	if err != nil {
		return err
	}
	_, err = f.q.exec(ctx, `UPDATE runs SET data = $1 WHERE id = $2`, text, run)
	return err
}

// empty leaves of a message that it was there, with its calls and returns, which belong together.
func (d *messageData) empty(mark string, at int64) {
	d.redact(at)
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

// countOwn counts the record that is named, where it was not found by its texts: they are too short, or it is empty now.
func (f *forgetter) countOwn(q core.ForgetQuery) {
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
		if !f.apply && len(f.r.hints) > 0 {
			return
		}
		p.Count++
		return
	}
	f.found.Places = append([]core.ForgetPlace{{Name: name, Count: 1, Examples: []core.ForgetExample{{ID: id}}}}, f.found.Places...)
}

// forms are the texts of a record as they stand elsewhere, too: in what was recalled of it.
func forms(texts []string) []string {
	out := slices.Clone(texts)
	for _, t := range texts {
		if worded := recall.Worded(strings.TrimSpace(t)); worded != t {
			out = append(out, worded)
		}
	}
	return out
}

// inRecalled takes texts that are too short to be looked for everywhere out of the recall records that name the record
// they are of.
func (f *forgetter) inRecalled(ctx context.Context, id string) error {
	short := slices.DeleteFunc(slices.Clone(f.texts), func(t string) bool { return utf8.RuneCountInString(strings.TrimSpace(t)) >= minPiece })
	var rows []struct {
		ID   string `db:"id"`
		Data string `db:"data"`
	}
	if len(short) == 0 || id == "" {
		return nil
	}
	if err := f.q.all(ctx, &rows, `SELECT id, data FROM messages WHERE hidden = $1 AND instr(data, $2) > 0`, core.HiddenRecall, id); err != nil {
		return err
	}
	for _, row := range rows {
		var d messageData
		if err := decode(row.Data, &d); err != nil {
			return err
		}
		found := false
		for i := range d.Content {
			c := &d.Content[i]
			for _, t := range short {
				was := c.Text
				c.Text = recall.Without(c.Text, t, f.r.mark)
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
		d.redact(f.at)
		data, err := encode(d)
		if err != nil {
			return err
		}
		if _, err := f.q.exec(ctx, `UPDATE messages SET data = $1 WHERE id = $2`, data, row.ID); err != nil {
			return err
		}
	}
	return nil
}

func (f *forgetter) countRecalled() {
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
