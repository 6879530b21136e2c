//go:build !unix

package hooks

import "os/exec"

// inGroup leaves the program as it is: it is ended without those that it started.
func inGroup(*exec.Cmd) (end func()) { return func() {} }
