//go:build !unix

package ipc

// Terminate asks a process to end; this system has no way to.
func Terminate(int) error { return errNoPeer }

// Kill ends a process; this system has no way to tell which.
func Kill(int) error { return errNoPeer }
