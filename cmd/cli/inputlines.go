package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/google/uuid"

	"loci/daemon/api"
	"loci/daemon/client"
)

// inputLine is a line of --input-format stream-json: a message, the answer to what waits, both as the API has them, or the answer
// to what a line asks while it runs.
type inputLine struct {
	Type      string         `json:"type"`
	Content   *api.Content   `json:"content"`
	Approvals []api.Decision `json:"approvals"`

	Question string `json:"question_id"`
	Allow    string `json:"allow"`
}

// converse sends every line of standard input once the run of the line before has ended. Each run has a result of its
// own. What the agent doesn't accept stands in that result and ends nothing; a line that isn't understood ends it all.
func (t *exchange) converse(ctx context.Context) error {
	c, err := t.open(ctx)
	if err != nil {
		return t.finish(err)
	}
	d := newDesk(t, c)
	defer d.close()
	next, sent := d.open(ctx, t.app.in), 0
	var last error
	for {
		n, text, err := next()
		switch {
		case !errors.Is(err, io.EOF):
		case sent == 0:
			return t.finish(invalid("there is no message on standard input").withHint(lineExample))
		default:
			return last
		}
		var start func(*exchange) runStream
		if err == nil {
			start, err = startOf(c, text)
		}
		if err != nil {
			return t.finish(because(ctx, lineFault(n, err)))
		}
		if start == nil {
			continue // an empty line
		}
		u := newExchange(t.app, t.flags, t.leave)
		u.session, u.told, u.writing = t.session, t.told, t.writing
		last = u.finish(u.follow(ctx, c, start(u)))
		sent++
		t.session = u.session
		if ctx.Err() != nil || u.left {
			return last
		}
	}
}

const lineExample = `{"type":"message","content":"your question"}`

// startOf reads a line. A line without anything starts nothing.
func startOf(c *client.Client, text []byte) (func(*exchange) runStream, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	if !utf8.Valid(text) {
		return nil, errors.New("it is not text in UTF-8")
	}
	var in inputLine
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, errors.New("it is not a JSON object with a type: " + err.Error())
	}
	switch {
	case in.Type == api.InputMessage && in.Content != nil:
		message := api.Input{Type: api.InputMessage, Role: "user", Content: in.Content, OTID: new(uuid.NewString())}
		return func(t *exchange) runStream { return t.sent(c, message) }, nil
	case in.Type == api.InputApproval && len(in.Approvals) > 0:
		return func(t *exchange) runStream { return t.answered(c, in.Approvals) }, nil
	case in.Type == inputAnswer: // of a run that has ended
		return nil, errors.New("an answer needs question_id, and allow: no, once, session or folder")
	case in.Type == api.InputMessage:
		return nil, errors.New("a message needs content")
	case in.Type == api.InputApproval:
		return nil, errors.New("an approval needs approvals, one for each call that waits")
	}
	return nil, fmt.Errorf("its type is %q: it must be message, approval or answer", clip(in.Type, 40))
}

func lineFault(n int, err error) error {
	if kind, _ := explain(err); kind == api.KindInvalid || kind == api.KindInternal {
		return invalid("line %d of standard input: %s", n, err).withHint(lineExample)
	}
	return err
}

// linesOf reads lines one at a time. A read that never returns is abandoned when ctx ends: an interrupt must not wait for
// the other end.
func linesOf(ctx context.Context, in io.Reader) func() ([]byte, error) {
	type result struct {
		line []byte
		err  error
	}
	lines := make(chan result)
	go func() {
		r := bufio.NewReader(in)
		for {
			line, err := readLine(r)
			if err != nil && len(line) > 0 && errors.Is(err, io.EOF) {
				err = nil // the last one has no end
			}
			select {
			case lines <- result{line, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return func() ([]byte, error) {
		select {
		case r := <-lines:
			return r.line, r.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// readLine reads a line up to a limit.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxInput:
			return nil, invalid("it is longer than %s", size(maxInput))
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		return line, err
	}
}
