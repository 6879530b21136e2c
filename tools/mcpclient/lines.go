package mcpclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"loci/core"
)

// Bounds of what is skipped between two messages.
const (
	mostSkipped      = 1000 // lines
	mostSkippedBytes = 1 << 20
)

// messages are the lines of what a program says that are messages. Many programs write a banner or a log among them: that is skipped,
// and kept with what else the program wrote.
type messages struct {
	lines   *bufio.Reader
	aside   io.Writer
	tooMany func() error // what is returned once there are more others than may be

	rest         []byte // of a message, to be read
	skipped      int
	skippedBytes int
}

var errLongLine = errors.New("a message of it has more than " + itoa(mostMessage>>20) + " MB")

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		switch {
		case isMessage(line):
			m.rest, m.skipped, m.skippedBytes = line, 0, 0
		case err != nil:
			return 0, err
		case len(bytes.TrimSpace(line)) > 0:
			_, _ = m.aside.Write(line) // it can't fail
			m.skipped++
			fallthrough
		default: // empty lines count by their bytes alone
			if m.skippedBytes += len(line); m.skipped > mostSkipped || m.skippedBytes > mostSkippedBytes {
				return 0, m.tooMany()
			}
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// line returns the next line, with an error if it has no end.
func (m *messages) line() ([]byte, error) {
	var line []byte
	for {
		part, err := m.lines.ReadSlice('\n')
		if line = append(line, part...); len(line) > mostMessage {
			return nil, errLongLine
		}
		if err == nil || !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// isMessage reports whether a line is a message of the protocol, or several as a list.
func isMessage(line []byte) bool {
	type one struct {
		Version string `json:"jsonrpc"`
	}
	line = bytes.TrimSpace(line)
	if bytes.HasPrefix(line, []byte("[")) {
		var all []one
		return json.Unmarshal(line, &all) == nil && len(all) > 0 && all[0].Version == "2.0"
	}
	var m one
	return bytes.HasPrefix(line, []byte("{")) && json.Unmarshal(line, &m) == nil && m.Version == "2.0"
}

// messages reads what the program of a server says.
func (s *session) messages(stream io.Reader) io.Reader {
	return &messages{lines: bufio.NewReaderSize(s.budget.over(stream), 64<<10), aside: s.log, tooMany: func() error {
		err := core.E(core.Unavailable, "the server %s can't be used: its standard output holds no protocol", s.to.Server.Name)
		s.stop(err)
		return err
	}}
}
