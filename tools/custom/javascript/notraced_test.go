//go:build !race

package javascript_test

const raced = false
