//go:build !linux

package hooks

import "os/exec"

// runWithUs runs a program; this system's kernel doesn't end it when the daemon is killed.
func runWithUs(cmd *exec.Cmd) error { return cmd.Run() }
