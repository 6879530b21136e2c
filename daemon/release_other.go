//go:build !linux

package daemon

// releaseProgram does nothing here: the system reclaims such pages on its own and counts them as shared.
func releaseProgram() error { return nil }
