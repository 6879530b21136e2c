//go:build unix

package ipc

import (
	"errors"
	"syscall"
)

// Terminate asks a process to exit. A stopped process is resumed, because it couldn't receive the signal otherwise.
func Terminate(pid int) error {
	return errors.Join(signal(pid, syscall.SIGTERM), signal(pid, syscall.SIGCONT))
}

// Kill ends a process unconditionally.
func Kill(pid int) error { return signal(pid, syscall.SIGKILL) }

// signal sends a signal; a process that no longer exists is not an error.
func signal(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
