package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// DefaultComments is how long a server may send nothing but keep-alives.
const DefaultComments = 15 * time.Minute

// KeepAlives gives up on a server that sends nothing else for too long.
type KeepAlives struct {
	Most  time.Duration
	since time.Time // when the first of them arrived after the last piece of the answer
}

// Note notes a keep-alive.
func (k *KeepAlives) Note() error {
	now := time.Now()
	if k.since.IsZero() {
		k.since = now
	}
	if now.Sub(k.since) > k.Most {
		return ErrComments
	}
	return nil
}

// Heard notes a piece of the answer.
func (k *KeepAlives) Heard() { k.since = time.Time{} }

// Event is one event of a stream. Whole says that the server didn't stream: the data is its entire answer.
type Event struct {
	Name  string
	Data  []byte // valid until the next event
	Whole bool
}

// Events reads the events of a stream, however its lines end and whether or not blank lines divide them.
type Events struct {
	KeepAlives

	who   Who
	lines *Lines
	name  string
	data  []byte
	held  []byte // the first line of the next event
	heard bool   // there was an event
	stray []byte // what came in place of one
}

// NewEvents reads from r.
func NewEvents(who Who, r io.Reader, comments time.Duration) *Events {
	if comments <= 0 {
		comments = DefaultComments
	}
	return &Events{KeepAlives: KeepAlives{Most: comments}, who: who, lines: NewLines(r)}
}

// Next returns the next event. After the last one the error is io.EOF, or what broke the stream, or what the server said
// in place of a stream.
func (e *Events) Next() (Event, error) {
	e.data = e.data[:0]
	for {
		line, err := e.line()
		switch {
		case errors.Is(err, io.EOF) && len(e.data) > 0:
			return e.event(), nil
		case errors.Is(err, io.EOF) && !e.heard && len(bytes.TrimSpace(e.stray)) > 0:
			return Event{}, e.who.InBand(bytes.TrimSpace(e.stray))
		case err != nil:
			return Event{}, err
		case len(line) == 0:
			if len(e.data) > 0 {
				return e.event(), nil
			}
			continue
		case !e.heard && len(e.data) == 0 && len(e.stray) == 0 && bytes.HasPrefix(bytes.TrimLeft(line, " \t\ufeff"), []byte("{")):
			return e.whole(line)
		}
		if done, err := e.take(line); done || err != nil {
			return e.event(), err
		}
	}
}

func (e *Events) line() ([]byte, error) {
	if held := e.held; held != nil {
		e.held = nil
		return held, nil
	}
	return e.lines.Next()
}

// take adds a line, and reports whether it is the first one of the next event.
func (e *Events) take(line []byte) (done bool, err error) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "":
		return false, e.Note()
	case "event":
		if len(e.data) > 0 {
			e.held = bytes.Clone(line)
			return true, nil
		}
		e.name = string(value)
	case "data":
		if len(e.data) > 0 && json.Valid(e.data) {
			e.held = bytes.Clone(line)
			return true, nil
		}
		if len(e.data) > 0 {
			e.data = append(e.data, '\n')
		}
		if e.data = append(e.data, value...); len(e.data) > MaxLine {
			return false, ErrLineTooLong
		}
	case "id", "retry":
	default:
		if !e.heard && len(e.stray)+len(line) < MaxError {
			e.stray = append(append(e.stray, line...), '\n')
		}
		return false, e.Note()
	}
	return false, nil
}

func (e *Events) event() Event {
	out := Event{Name: e.name, Data: e.data}
	e.name, e.heard = "", true
	return out
}

func (e *Events) whole(first []byte) (Event, error) {
	raw, err := e.lines.Rest(first)
	if err != nil {
		return Event{}, err
	}
	e.heard = true
	raw = bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("\ufeff"))
	if !json.Valid(raw) {
		return Event{}, e.who.Cut()
	}
	return Event{Data: raw, Whole: true}, nil
}
