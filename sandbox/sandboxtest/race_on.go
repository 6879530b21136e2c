//go:build race

package sandboxtest

// raced says that the race detector is part of this program.
const raced = true
