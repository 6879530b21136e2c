package forget

import (
	"context"
	"strings"

	"loci/core"
	"loci/storage"
	"loci/storage/sqlite"
)

// form is how a column holds texts.
type form int

const (
	formText     form = iota
	formName          // a name, label or tag
	formJSON          // a JSON document
	formPacked        // a snapshot's body
	formDocument      // the text of a file
	formNative        // a provider's own item: it is removed whole, because signed content can't be edited
)

// packed reports whether the column holds compressed bytes.
func (f form) packed() bool { return f == formPacked || f == formDocument }

// column is a column that may hold texts.
type column struct {
	name string
	form form
}

// textPlace is a table that may hold texts. When you add a table, add it to places or to the test that knows all
// columns.
type textPlace struct {
	name    string // as shown to the user
	table   string
	id      string // an expression: the id that the user can look a row up by
	extra   string // an expression for amend and then to read
	columns []column
	drop    bool // delete a row that holds the text
	// amend makes further changes to a row before it is written.
	amend func(f *pass, h *textRow) error
	// then does what must follow a change.
	then func(ctx context.Context, f *pass, h *textRow) error
}

// textRow is a row that holds a text.
type textRow struct {
	row       int64
	id, extra string
	was, now  map[string]string
	set       map[string]any // further columns to write
}

// places returns all tables of the facts that hold texts.
func places() []textPlace {
	return []textPlace{
		{
			name:  "messages",
			table: "messages",
			id:    "id",
			extra: "CASE WHEN hidden = '' AND deleted_at IS NULL THEN role ELSE '' END",
			columns: []column{
				{"preface", formText},
				{"native", formNative},
				{"data", formJSON},
			},
			amend: amendMessage,
			then:  messageForgotten,
		},
		{
			name: "passages", table: "passages", id: "id", extra: "CASE WHEN deleted_at IS NULL THEN archive_id ELSE '' END",
			columns: []column{{"text", formText}, {"data", formJSON}}, then: passageForgotten,
		},
		{
			name: "versions of passages", table: "passage_versions", id: "passage_id || ' v' || version", extra: "passage_id",
			columns: []column{{"text", formText}, {"data", formJSON}}, then: versionForgotten,
		},
		{name: "tags of passages", table: "passage_tags", id: "passage_id", columns: []column{{"tag", formName}}, then: tagForgotten},
		{
			name:    "tags of archives",
			table:   "archive_tags",
			id:      "archive_id",
			columns: []column{{"tag", formName}},
			then: func(_ context.Context, f *pass, h *textRow) error {
				f.archives[h.id] = true
				return nil
			},
		},
		{name: "memory blocks", table: "blocks", id: "id", columns: []column{
			{"label", formName}, {"template_name", formName}, {"value", formText}, {"description", formText}, {"data", formJSON},
		}, amend: func(f *pass, h *textRow) error {
			f.blocks[h.id] = true
			return nil
		}},
		{name: "tags of memory blocks", table: "block_tags", id: "block_id", columns: []column{{"tag", formName}}},
		{name: "labels of memory blocks", table: "agent_blocks", id: "block_id", columns: []column{{"label", formName}}},
		{
			name: "versions of memory blocks", table: "block_versions", id: "block_id || ' v' || version",
			columns: []column{{"value", formText}, {"label", formName}, {"description", formText}, {"source", formText}},
		},
		{
			name:    "agents",
			table:   "agents",
			id:      "id",
			columns: []column{{"name", formName}, {"data", formJSON}},
			amend: func(_ *pass, h *textRow) error {
				h.set["name_key"] = strings.ToLower(h.now["name"])
				return nil
			},
		},
		{name: "tags of agents", table: "agent_tags", id: "agent_id", columns: []column{{"tag", formName}}},
		{name: "conversations", table: "conversations", id: "id", columns: []column{{"summary", formText}, {"data", formJSON}}},
		{name: "requests", table: "runs", id: "id", columns: []column{{"data", formJSON}}, amend: amendRun},
		{name: "steps", table: "steps", id: "id", columns: []column{{"feedback", formText}, {"data", formJSON}}},
		{
			name: "prompts that were sent", table: "snapshots", id: "hash", extra: "kind", columns: []column{{"body", formPacked}},
			amend: func(f *pass, h *textRow) error {
				h.set["redacted"] = f.at
				f.hashes[h.id] = true
				return nil
			},
		},
		{name: "images", table: "images", id: "hash", columns: []column{{"hash", formText}}, drop: true},
		{name: "uses of images", table: "image_uses", id: "owner", columns: []column{{"hash", formText}}, drop: true},
		{name: "rewinds", table: "rewinds", id: "id", columns: []column{{"data", formJSON}}},
		{name: "archives", table: "archives", id: "id", columns: []column{{"name", formName}, {"data", formJSON}}},
		{name: "folders", table: "folders", id: "id", columns: []column{{"name", formName}, {"data", formJSON}}},
		{name: "files", table: "files", id: "id", columns: []column{{"name", formName}, {"data", formJSON}}},
		{
			name:    "texts of files",
			table:   "file_texts",
			id:      "file_id",
			columns: []column{{"body", formDocument}},
			then: func(_ context.Context, f *pass, h *textRow) error {
				f.files = append(f.files, core.FileID(h.id))
				return nil
			},
		},
		{
			name: "tools", table: "tools", id: "id",
			columns: []column{{"description", formText}, {"source", formText}, {"data", formJSON}},
		},
		{
			name: "tools of servers", table: "mcp_tools", id: "id", columns: []column{{"data", formJSON}},
		},
		{name: "variables", table: "variables", id: "id", columns: []column{{"description", formText}}},
		{name: "working folders", table: "workspaces", id: "path", columns: []column{{"path", formText}}, drop: true},
		{name: "files that agents read", table: "file_reads", id: "path", columns: []column{{"path", formText}}, drop: true},
		{
			name: "changes of files", table: "file_changes", id: "num",
			columns: []column{{"workspace", formText}, {"path", formText}, {"source", formText}},
			drop:    true,
		},
	}
}

// amendMessage marks the message as redacted and removes signatures that covered the removed words.
func amendMessage(f *pass, h *textRow) error {
	if h.was["native"] != "" {
		h.set["native"] = nil
	}
	delete(h.now, "native")
	if h.was["data"] == h.now["data"] {
		return nil
	}
	var d storage.MessageData
	if err := sqlite.Decode(h.now["data"], &d); err != nil {
		return err
	}
	markRedacted(&d, f.at)
	var err error
	h.now["data"], err = sqlite.Encode(d)
	return err
}

// markRedacted marks a message as changed by forgetting.
func markRedacted(d *storage.MessageData, at int64) {
	d.RedactedAt = sqlite.Micros(at)
	for i := range d.Content {
		d.Content[i].Signature = ""
	}
}

func messageForgotten(ctx context.Context, f *pass, h *textRow) error {
	f.messages = append(f.messages, core.MessageID(h.id))
	if core.Role(h.extra).Searchable() {
		return storage.ReindexMessage(ctx, f.q, h.id)
	}
	return nil
}

// passageForgotten deletes a passage of which nothing is left. If a passage is forgotten as a whole, everything said
// about its copies goes too.
func passageForgotten(ctx context.Context, f *pass, h *textRow) error {
	only := f.r.Only(h.now["text"])
	if only && f.r.Record != "" {
		data, err := sqlite.Encode(storage.PassageData{})
		if err != nil {
			return err
		}
		if _, err := f.q.Exec(ctx, `UPDATE passages SET data = $1 WHERE id = $2 AND file_id = ''`, data, h.id); err != nil {
			return err
		}
	}
	if h.extra == "" {
		return nil
	}
	if only {
		var file string
		if _, err := f.q.Find(ctx, &file, `SELECT file_id FROM passages WHERE id = $1`, h.id); err != nil {
			return err
		}
		if file == "" { // the parts of a file stay together
			f.archives[h.extra] = true
			return f.tx.Passages().Delete(ctx, core.PassageID(h.id))
		}
	}
	if h.was["data"] != h.now["data"] {
		f.archives[h.extra] = true
	}
	return storage.ReindexPassage(ctx, f.q, h.id)
}

// versionForgotten deletes a version of which nothing is left, so that nobody goes back to a bare mark. The newest one
// stays while its passage does, which says the same.
func versionForgotten(ctx context.Context, f *pass, h *textRow) error {
	if !f.r.Only(h.now["text"]) {
		return nil
	}
	_, err := f.q.Exec(ctx, `DELETE FROM passage_versions WHERE rowid = $1 AND version <> (SELECT MAX(n.version)
		FROM passage_versions n WHERE n.passage_id = $2)`, h.row, h.extra)
	return err
}

func tagForgotten(ctx context.Context, f *pass, h *textRow) error {
	var archive string
	if ok, err := f.q.Find(ctx, &archive, `SELECT archive_id FROM passages WHERE id = $1`, h.id); err != nil || !ok {
		return err
	}
	f.archives[archive] = true
	return storage.ReindexPassage(ctx, f.q, h.id)
}

// amendRun marks the input messages that were changed.
func amendRun(f *pass, h *textRow) error {
	var was, now storage.RunData
	if err := sqlite.Decode(h.was["data"], &was); err != nil {
		return err
	}
	if err := sqlite.Decode(h.now["data"], &now); err != nil {
		return err
	}
	for i := range now.Input {
		d := &now.Input[i]
		before, err := sqlite.Encode(was.Input[i])
		if err != nil {
			return err
		}
		after, err := sqlite.Encode(*d)
		if err != nil {
			return err
		}
		if before != after {
			markRedacted(&d.MessageData, f.at)
			d.Native = nil
		}
	}
	var err error
	h.now["data"], err = sqlite.Encode(now)
	return err
}
