package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"loci/daemon/api"
)

// maxSchema bounds the schema of an answer; the daemon takes no larger one.
const maxSchema = 256 << 10

// formOf returns the form of an answer by a schema, which is in a file or stands there itself.
func formOf(schema string) (*api.ResponseFormat, error) {
	text, where := []byte(strings.TrimSpace(schema)), "--schema"
	if !bytes.HasPrefix(text, []byte("{")) {
		if schema == "" {
			return nil, invalid("--schema names no file").withHint(`--schema city.json, or --schema '{"type":"object", …}'`)
		}
		file, err := os.Open(schema)
		if err != nil {
			return nil, invalid("the schema cannot be read: %s", safe(err.Error())).
				withHint(`--schema takes the path of a file, or the schema itself, which begins with {`)
		}
		defer file.Close()
		if text, err = io.ReadAll(io.LimitReader(file, maxSchema+1)); err != nil {
			return nil, invalid("the schema cannot be read: %s", safe(err.Error()))
		}
		where = safe(schema)
	}
	if len(text) > maxSchema {
		return nil, &fault{kind: api.KindTooLarge, msg: "the schema has more than 256 KB"}
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		if err == nil {
			err = errors.New("it is null")
		}
		return nil, invalid("%s is not a JSON schema, which is a JSON object: %s", where, err)
	}
	return &api.ResponseFormat{Type: "json_schema", JSONSchema: api.Object{"name": "answer", "schema": object}}, nil
}

// value returns the JSON value that was asked for by a schema; nothing if the answer is none.
func (t *exchange) value() json.RawMessage {
	text := []byte(strings.TrimSpace(t.answer()))
	if t.flags.form == nil || !json.Valid(text) {
		return nil
	}
	return text
}

// unformed is the error of a turn that ended well, but without the value that was asked for: with a call of a tool, say.
func (t *exchange) unformed() error {
	if t.flags.form == nil || t.value() != nil {
		return nil
	}
	return (&fault{kind: api.KindSchemaMismatch, msg: "the turn ended without a JSON value: its last answer is none"}).
		withHint("what was said is in the conversation; ask again, or choose another model")
}
