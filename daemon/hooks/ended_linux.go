package hooks

import (
	"os/exec"
	"runtime"
	"syscall"
)

// runWithUs runs a program that the kernel ends when the daemon is killed. It does so when the thread that started it ends, so that
// this goroutine stays on its thread.
func runWithUs(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return cmd.Run()
}
