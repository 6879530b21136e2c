//go:build !linux

package sandbox

import (
	"context"
	"os/exec"
)

// endWithUs has the kernel end a job's first process when the daemon is killed: this system's can't.
func endWithUs(*exec.Cmd) {}

// adopts reports whether a process of ours can be beside a job: this system has none that adopts what others leave.
func adopts() bool { return false }

func (*call) adopted(context.Context, string) error { return nil }
