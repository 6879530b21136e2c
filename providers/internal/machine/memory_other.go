//go:build !linux && !darwin

package machine

// Unified reports whether models on the graphics processor use the main memory.
const Unified = false

// Memory returns the size of the main memory in bytes.
func Memory() int64 { return 0 }
