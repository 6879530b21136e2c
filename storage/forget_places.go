package storage

import (
	"context"
	"strings"

	"loci/core"
)

// form is how a column holds texts.
type form int

const (
	formText     form = iota
	formName          // a name, label or tag
	formJSON          // a JSON document
	formPacked        // a snapshot's body
	formDocument      // the text of a file
	formNative        // a provider's own item: it goes as a whole, what is signed cannot be edited
)

// packed reports whether the column holds compressed bytes.
func (f form) packed() bool { return f == formPacked || f == formDocument }

// column is a column that may hold texts.
type column struct {
	name string
	form form
}

// textPlace is a table that may hold texts. A table that comes along is a row in places, or of the test that knows all
// columns.
type textPlace struct {
	name    string // as a person calls it
	table   string
	id      string // an expression: what a person can look a row up by
	extra   string // an expression that amend and then read
	columns []column
	drop    bool // a row that holds the text is deleted
	// amend changes more of a row before it is written.
	amend func(f *forgetter, h *held) error
	// then does what follows from a change.
	then func(ctx context.Context, f *forgetter, h *held) error
}

// held is a row that holds a text.
type held struct {
	row       int64
	id, extra string
	was, now  map[string]string
	set       map[string]any // further columns to write
}

// places are all tables of the facts that hold texts.
func places() []textPlace {
	return []textPlace{
		{
			name: "messages", table: "messages", id: "id", extra: "CASE WHEN hidden = '' AND deleted_at IS NULL THEN role ELSE '' END",
			columns: []column{{"preface", formText}, {"native", formNative}, {"data", formJSON}}, amend: amendMessage, then: messageForgotten,
		},
		{
			name: "passages", table: "passages", id: "id", extra: "CASE WHEN deleted_at IS NULL THEN archive_id ELSE '' END",
			columns: []column{{"text", formText}, {"data", formJSON}}, then: passageForgotten,
		},
		{name: "tags of passages", table: "passage_tags", id: "passage_id", columns: []column{{"tag", formName}}, then: tagForgotten},
		{name: "tags of archives", table: "archive_tags", id: "archive_id", columns: []column{{"tag", formName}}, then: func(_ context.Context, f *forgetter, h *held) error {
			f.archives[h.id] = true
			return nil
		}},
		{name: "memory blocks", table: "blocks", id: "id", columns: []column{
			{"label", formName}, {"template_name", formName}, {"value", formText}, {"description", formText}, {"data", formJSON},
		}, amend: func(f *forgetter, h *held) error {
			f.blocks[h.id] = true
			return nil
		}},
		{name: "tags of memory blocks", table: "block_tags", id: "block_id", columns: []column{{"tag", formName}}},
		{name: "labels of memory blocks", table: "agent_blocks", id: "block_id", columns: []column{{"label", formName}}},
		{
			name: "versions of memory blocks", table: "block_versions", id: "block_id || ' v' || version",
			columns: []column{{"value", formText}, {"label", formName}, {"description", formText}},
		},
		{name: "agents", table: "agents", id: "id", columns: []column{{"name", formName}, {"data", formJSON}}, amend: func(_ *forgetter, h *held) error {
			h.set["name_key"] = strings.ToLower(h.now["name"])
			return nil
		}},
		{name: "tags of agents", table: "agent_tags", id: "agent_id", columns: []column{{"tag", formName}}},
		{name: "conversations", table: "conversations", id: "id", columns: []column{{"summary", formText}, {"data", formJSON}}},
		{name: "requests", table: "runs", id: "id", columns: []column{{"data", formJSON}}, amend: amendRun},
		{name: "steps", table: "steps", id: "id", columns: []column{{"feedback", formText}, {"data", formJSON}}},
		{
			name: "prompts that were sent", table: "snapshots", id: "hash", extra: "kind", columns: []column{{"body", formPacked}},
			amend: func(f *forgetter, h *held) error {
				h.set["redacted"] = f.at
				f.hashes[h.id] = true
				return nil
			},
		},
		{name: "rewinds", table: "rewinds", id: "id", columns: []column{{"data", formJSON}}},
		{name: "archives", table: "archives", id: "id", columns: []column{{"name", formName}, {"data", formJSON}}},
		{name: "folders", table: "folders", id: "id", columns: []column{{"name", formName}, {"data", formJSON}}},
		{name: "files", table: "files", id: "id", columns: []column{{"name", formName}, {"data", formJSON}}},
		{name: "texts of files", table: "file_texts", id: "file_id", columns: []column{{"body", formDocument}}, then: func(_ context.Context, f *forgetter, h *held) error {
			f.files = append(f.files, core.FileID(h.id))
			return nil
		}},
		{name: "working folders", table: "workspaces", id: "path", columns: []column{{"path", formText}}, drop: true},
	}
}

// amendMessage marks the message, and takes away what vouched for the words that are gone.
func amendMessage(f *forgetter, h *held) error {
	if h.was["native"] != "" {
		h.set["native"] = nil
	}
	delete(h.now, "native")
	if h.was["data"] == h.now["data"] {
		return nil
	}
	var d messageData
	if err := decode(h.now["data"], &d); err != nil {
		return err
	}
	d.redact(f.at)
	var err error
	h.now["data"], err = encode(d)
	return err
}

// redact marks a message as one that is not what it was.
func (d *messageData) redact(at int64) {
	d.RedactedAt = micros(at)
	for i := range d.Content {
		d.Content[i].Signature = ""
	}
}

func messageForgotten(ctx context.Context, f *forgetter, h *held) error {
	f.messages = append(f.messages, core.MessageID(h.id))
	if searchable(core.Role(h.extra)) {
		return changed(ctx, f.q, kindMessage, h.id, opWrite)
	}
	return nil
}

// passageForgotten deletes a passage of which nothing is left. With a passage that is forgotten as a whole goes all that
// is said of its copies.
func passageForgotten(ctx context.Context, f *forgetter, h *held) error {
	only := f.r.only(h.now["text"])
	if only && f.r.record != "" {
		data, err := encode(passageData{})
		if err != nil {
			return err
		}
		if _, err := f.q.exec(ctx, `UPDATE passages SET data = $1 WHERE id = $2 AND file_id = ''`, data, h.id); err != nil {
			return err
		}
	}
	if h.extra == "" {
		return nil
	}
	if only {
		var file string
		if _, err := f.q.find(ctx, &file, `SELECT file_id FROM passages WHERE id = $1`, h.id); err != nil {
			return err
		}
		if file == "" { // the parts of a file stay together
			f.archives[h.extra] = true
			return passages{f.v}.Delete(ctx, core.PassageID(h.id))
		}
	}
	if h.was["data"] != h.now["data"] {
		f.archives[h.extra] = true
	}
	return changed(ctx, f.q, kindPassage, h.id, opWrite)
}

func tagForgotten(ctx context.Context, f *forgetter, h *held) error {
	var archive string
	if ok, err := f.q.find(ctx, &archive, `SELECT archive_id FROM passages WHERE id = $1`, h.id); err != nil || !ok {
		return err
	}
	f.archives[archive] = true
	return changed(ctx, f.q, kindPassage, h.id, opWrite)
}

// amendRun marks the messages of the input that are not what they were.
func amendRun(f *forgetter, h *held) error {
	var was, now runData
	if err := decode(h.was["data"], &was); err != nil {
		return err
	}
	if err := decode(h.now["data"], &now); err != nil {
		return err
	}
	for i := range now.Input {
		d := &now.Input[i]
		before, err := encode(was.Input[i])
		if err != nil {
			return err
		}
		after, err := encode(*d)
		if err != nil {
			return err
		}
		if before != after {
			d.redact(f.at)
			d.Native = nil
		}
	}
	var err error
	h.now["data"], err = encode(now)
	return err
}
