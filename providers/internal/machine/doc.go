// Package machine says how much memory this machine has, by which the context window of a local model is chosen. It is apart so
// that each system's way to find out is in a file of its own. What it can't find out is 0.
package machine
