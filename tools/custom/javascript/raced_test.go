//go:build race

package javascript_test

// raced is whether the race detector watches.
const raced = true
