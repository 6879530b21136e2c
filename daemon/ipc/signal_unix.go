//go:build unix

package ipc

import (
	"errors"
	"syscall"
)

// Terminate asks a process to end. One that was stopped is woken, for it could not hear it.
func Terminate(pid int) error {
	return errors.Join(signal(pid, syscall.SIGTERM), signal(pid, syscall.SIGCONT))
}

// Kill ends a process, whatever it does.
func Kill(pid int) error { return signal(pid, syscall.SIGKILL) }

// signal sends one; a process that is gone needs none.
func signal(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
