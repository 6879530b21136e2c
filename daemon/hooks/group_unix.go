//go:build unix

package hooks

import (
	"os/exec"
	"syscall"
)

// inGroup puts a program into a group of processes of its own. The function ends what is left of the group.
func inGroup(cmd *exec.Cmd) (end func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return func() {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // most often there is none left
		}
	}
}
