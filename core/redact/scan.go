package redact

import (
	"context"
	"errors"
	"io"
)

// FindsIn reports whether what it reads from in holds one of the texts.
func (r *Redactor) FindsIn(ctx context.Context, in io.Reader) (bool, error) {
	s := NewScanner(r)
	piece := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err := in.Read(piece)
		if _, found := s.Write(piece[:n]); found != nil || err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return s.End(err)
		}
	}
}

// Scanner searches what is written to it, piece by piece; the pieces overlap by the length of the longest text.
type Scanner struct {
	r       *Redactor
	room    []byte
	have    int
	overlap int
	found   bool
}

var errFound = errors.New("it is found")

func NewScanner(r *Redactor) *Scanner {
	n := max(r.most, quoteBytes)
	return &Scanner{r: r, room: make([]byte, n+1<<20), overlap: n}
}

// Write implements io.Writer; its error says that no more input is needed.
func (s *Scanner) Write(p []byte) (int, error) {
	taken := 0
	for taken < len(p) && !s.found {
		n := copy(s.room[s.have:], p[taken:])
		taken, s.have = taken+n, s.have+n
		if s.have == len(s.room) {
			s.found = s.r.Finds(string(s.room))
			s.have = copy(s.room, s.room[s.have-s.overlap:])
		}
	}
	if s.found {
		return taken, errFound
	}
	return taken, nil
}

// End returns the answer, given the error that ended the writing.
func (s *Scanner) End(err error) (bool, error) {
	if s.found || s.r.Finds(string(s.room[:s.have])) {
		return true, nil
	}
	return false, err
}
