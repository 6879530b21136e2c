//go:build !unix

package tui

import "os/exec"

// ownGroup does nothing where there are no groups of processes.
func ownGroup(*exec.Cmd) {}

// ownKillGroup does nothing either.
func ownKillGroup(*exec.Cmd) {}
