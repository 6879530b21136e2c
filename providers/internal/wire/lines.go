package wire

import (
	"bufio"
	"errors"
	"io"
)

// Bounds on what a server may send.
const (
	MaxLine   = 8 << 20   // bytes of one event
	MaxBody   = 32 << 20  // bytes of a body that is read whole
	MaxStream = 256 << 20 // bytes of one stream
	MaxError  = 64 << 10  // bytes of an error body that are looked at
)

// What says that a server sent more than it may.
var (
	ErrLineTooLong = errors.New("a line of the stream is longer than 8 MB")
	ErrTooMuch     = errors.New("the stream is longer than 256 MB")
)

// Lines reads lines with a bound. Unlike bufio.Scanner it grows with need, and it tells a clean end from a broken one.
type Lines struct {
	r   *bufio.Reader
	buf []byte
	sum int
	err error
}

// NewLines reads from r.
func NewLines(r io.Reader) *Lines { return &Lines{r: bufio.NewReaderSize(r, 16<<10)} }

// Next returns the next line without its end; it stays valid until the following call. A last line without a newline
// is a line. The error after the last line is io.EOF, or what broke the stream; a half line before a break is dropped.
func (l *Lines) Next() ([]byte, error) {
	if l.err != nil {
		return nil, l.err
	}
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
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
		case err == nil:
			return trimEnd(l.buf), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.buf) > 0:
			l.err = io.EOF
			return trimEnd(l.buf), nil
		default:
			l.err = err
			return nil, err
		}
	}
}

// Rest returns everything that is left, after a first part that was already read.
func (l *Lines) Rest(first []byte) ([]byte, error) {
	whole := append([]byte(nil), first...)
	rest, err := io.ReadAll(io.LimitReader(l.r, MaxBody))
	return append(append(whole, '\n'), rest...), err
}

func trimEnd(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return b
}
