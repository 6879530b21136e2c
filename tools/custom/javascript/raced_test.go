//go:build race

package javascript_test

// raced is whether the race detector watches, which takes more memory than a job may have where the stack is deep.
const raced = true
