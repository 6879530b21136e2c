//go:build unix

package client

import "syscall"

// ownSession detaches the daemon from the terminal, so that neither Ctrl-C nor closing the window ends it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
