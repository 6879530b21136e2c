//go:build unix

package sandbox

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// late reads what a program that has ended wrote, which has a deadline. Go reads nothing after one, not even what has been there for long:
// on a busy machine whoever reads may come after it.
type late struct {
	from  withDescriptor
	after int // bytes that were read after the deadline
}

type withDescriptor interface {
	io.Reader
	syscall.Conn
}

// patient returns a stream that is read so.
func patient(stream io.ReadWriter) io.ReadWriter {
	from, ok := stream.(withDescriptor)
	if !ok {
		return stream
	}
	return struct {
		io.Reader
		io.Writer
	}{&late{from: from}, stream}
}

// mostLate is more than a pipe or a socket holds.
const mostLate = 1 << 20

func (l *late) Read(buf []byte) (int, error) {
	n, err := l.from.Read(buf)
	if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || l.after > mostLate {
		return n, err
	}
	raw, fault := l.from.SyscallConn()
	if fault != nil {
		return 0, err
	}
	if raw.Control(func(fd uintptr) { n, fault = syscall.Read(int(fd), buf) }) != nil || fault != nil { // there is nothing now
		return 0, err
	}
	if n == 0 {
		return 0, io.EOF
	}
	l.after += n
	return n, nil
}
