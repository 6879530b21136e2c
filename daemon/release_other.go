//go:build !linux

package daemon

// releaseProgram does nothing here: the system reclaims such pages by itself, and counts them as shared.
func releaseProgram() error { return nil }
