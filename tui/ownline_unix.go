//go:build unix

package tui

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a line a session of its own: it can't write or read on the chat's terminal behind its back, and all that it
// started ends with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// ownKillGroup ends what is left of a line that was stopped.
func ownKillGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // there may be nothing left
	}
}
