package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Limits on what a server may send.
const (
	MaxLine   = 8 << 20   // bytes of one event
	MaxBody   = 32 << 20  // bytes of a body that isn't streamed
	MaxStream = 256 << 20 // bytes of one stream
	MaxError  = 64 << 10  // bytes of an error body that are read
)

// Errors for a server that sent more than it may, or nothing but keep-alives.
var (
	ErrLineTooLong = errors.New("a line of the stream is longer than 8 MB")
	ErrTooMuch     = errors.New("the stream is longer than 256 MB")
	ErrComments    = errors.New("nothing but keep-alives (comments, empty pieces) came for too long")
)

// Lines reads lines up to a maximum length. Unlike bufio.Scanner it grows as needed, and it distinguishes a clean end
// from a broken one.
type Lines struct {
	r   *bufio.Reader
	buf []byte
	sum int
	cr  bool // the last line ended with a carriage return; skip a newline right after it
	err error
}

// NewLines reads from r.
func NewLines(r io.Reader) *Lines { return &Lines{r: bufio.NewReaderSize(r, 16<<10)} }

// Next returns the next line without its terminator, which is a newline, a carriage return or both; it is valid until
// the next call. A last line needs no terminator. After the last line, the error is io.EOF, or what broke the stream; an
// incomplete line before a break is dropped.
func (l *Lines) Next() ([]byte, error) {
	if l.err != nil {
		return nil, l.err
	}
	l.buf = l.buf[:0]
	for {
		part, ended, err := l.part()
		if len(l.buf)+len(part) > MaxLine {
			l.err = ErrLineTooLong
			return nil, l.err
		}
		if l.sum += len(part); l.sum > MaxStream {
			l.err = ErrTooMuch
			return nil, l.err
		}
		l.buf = append(l.buf, part...)
		switch {
		case ended:
			return l.buf, nil
		case err == nil:
		case errors.Is(err, io.EOF) && len(l.buf) > 0:
			l.err = io.EOF
			return l.buf, nil
		default:
			l.err = err
			return nil, err
		}
	}
}

// part reads what has arrived of a line, and reports whether that includes its end.
func (l *Lines) part() (part []byte, ended bool, err error) {
	first, err := l.r.Peek(1)
	if err != nil {
		return nil, false, err
	}
	if l.cr && first[0] == '\n' {
		l.cr = false
		_, err = l.r.Discard(1)
		return nil, false, err
	}
	l.cr = false
	part, _ = l.r.Peek(l.r.Buffered()) // can't fail: these bytes are already buffered
	n := len(part)
	if at := bytes.IndexAny(part, "\r\n"); at >= 0 {
		ended, l.cr, n = true, part[at] == '\r', at+1
		part = part[:at]
	}
	_, err = l.r.Discard(n) // the bytes stay in the buffer until the next read
	return part, ended, err
}

// Rest returns everything that is left, preceded by what was already read.
func (l *Lines) Rest(first []byte) ([]byte, error) {
	whole := append([]byte(nil), first...)
	rest, err := io.ReadAll(io.LimitReader(l.r, MaxBody))
	return append(append(whole, '\n'), rest...), err
}
