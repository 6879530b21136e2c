//go:build !unix

package ipc

// Terminate would ask a process to exit; this system has no way to.
func Terminate(int) error { return errNoPeer }

// Kill would end a process; this system has no way to tell which one.
func Kill(int) error { return errNoPeer }
