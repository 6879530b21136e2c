package sandbox

import (
	"os/exec"
	"syscall"
)

// endWithUs has the kernel end a job's first process when the daemon is killed. It does so when the thread that started it ends,
// so that the caller stays on its thread.
func endWithUs(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
