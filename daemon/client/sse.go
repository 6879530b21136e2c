package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxEvent bounds one event of a stream, so that a misbehaving server can't fill the memory.
const maxEvent = 16 << 20

// errEventTooLong ends a stream whose event is too long.
var errEventTooLong = fmt.Errorf("an event is longer than %d bytes", maxEvent)

// sseEvent is one event as the server framed it.
type sseEvent struct {
	name string
	data []byte // valid until the next event is read
}

// sseReader splits a stream into events. It skips comments, ids and retry times.
type sseReader struct {
	in    *bufio.Reader
	limit int
	line  []byte
	data  []byte
}

func newSSEReader(r io.Reader) *sseReader {
	return &sseReader{in: bufio.NewReaderSize(r, 16<<10), limit: maxEvent}
}

// next returns the next event that has data. It returns io.EOF only between events; a stream that stops inside one is
// io.ErrUnexpectedEOF.
func (s *sseReader) next() (sseEvent, error) {
	event := sseEvent{}
	s.data = s.data[:0]
	some := false
	for {
		line, err := s.readLine()
		if err != nil {
			if errors.Is(err, io.EOF) && (some || len(line) > 0) {
				err = io.ErrUnexpectedEOF
			}
			return sseEvent{}, err
		}
		if len(line) == 0 {
			if some {
				event.data = s.data
				return event, nil
			}
			event.name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			event.name = string(value)
		case "data":
			if len(s.data)+len(value)+1 > s.limit {
				return sseEvent{}, errEventTooLong
			}
			if some {
				s.data = append(s.data, '\n')
			}
			s.data, some = append(s.data, value...), true
		}
	}
}

// readLine returns a line without its LF or CRLF.
func (s *sseReader) readLine() ([]byte, error) {
	s.line = s.line[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		if len(s.line)+len(part) > s.limit {
			return nil, errEventTooLong
		}
		if err == nil && len(s.line) == 0 {
			return trimEnd(part), nil // the usual case: no copy
		}
		s.line = append(s.line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return trimEnd(s.line), err
	}
}

func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}
