//go:build unix

package cli

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// closedOutput says whether standard output was closed when the program began: Go opens the null device in its place, for
// reading and writing. A few programs give that to those they start, too, so it is no proof and no failure.
func closedOutput(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	if err != nil || !os.SameFile(info, null) {
		return false
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}

// readable says whether a pipe has data or has ended within the time.
func readable(f *os.File, within time.Duration) (bool, error) {
	until := time.Now().Add(within)
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, int(max(time.Until(until), 0).Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return n > 0, err
	}
}
