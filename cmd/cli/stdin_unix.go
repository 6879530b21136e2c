//go:build unix

package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// closedOutput says whether a shell closed standard output (>&-). In that case Go opens the null device for reading and
// writing before this program begins. Launchers that throw the answer away on purpose open it in the same way, so
// this looks at who started the program: only a shell that itself writes elsewhere counts. Where /proc doesn't
// tell, nothing does.
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
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR && shellWritesElsewhere(os.Getppid(), null)
}

// shellWritesElsewhere says whether a process is a shell whose own standard output isn't the null device.
func shellWritesElsewhere(pid int, null os.FileInfo) bool {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	name, err := os.ReadFile(filepath.Join(proc, "comm"))
	if err != nil || !slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"}, strings.TrimSpace(string(name))) {
		return false
	}
	out, err := os.Stat(filepath.Join(proc, "fd", "1"))
	if errors.Is(err, fs.ErrNotExist) { // dash closes its own while the command runs
		return true
	}
	return err == nil && !os.SameFile(out, null)
}

// failBrokenWrites lets a write to a pipe without a reader fail until stop is called, where it would otherwise end the
// program before it could cancel its run. Programs that this one starts aren't affected.
func failBrokenWrites() (stop func()) {
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	return func() { signal.Stop(unread) }
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
