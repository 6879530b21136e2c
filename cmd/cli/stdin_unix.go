//go:build unix

package cli

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// closedOutput says whether standard output was closed when the program started. In that case Go opens the null
// device for reading and writing, whereas a shell's redirection opens it only for writing.
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

// lookAtReader is how often to check whether a pipe still has a reader.
const lookAtReader = 200 * time.Millisecond

// readerGone waits until a pipe has lost its reader or ended is closed, and says whether the reader is gone.
func readerGone(w io.Writer, ended <-chan struct{}) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	ticker := time.NewTicker(lookAtReader)
	defer ticker.Stop()
	fds := []unix.PollFd{{Fd: int32(f.Fd())}} // polls for errors only: a lost reader shows up as one
	for {
		select {
		case <-ended:
			return false
		case <-ticker.C:
		}
		if n, err := unix.Poll(fds, 0); err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			return true
		}
	}
}

// readable says whether a pipe gets data or ends within the given time.
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
