//go:build !linux

package shell

// listens reports whether some program of this machine listens on a port: here nobody knows.
func listens(uint16) bool { return false }
