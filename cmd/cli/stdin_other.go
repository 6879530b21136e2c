//go:build !unix

package cli

import (
	"io"
	"os"
	"time"
)

// closedOutput always says no: this system has no way to tell.
func closedOutput(io.Writer) bool { return false }

// failBrokenWrites has nothing to do: no signal ends a program that writes to a broken pipe.
func failBrokenWrites() (stop func()) { return func() {} }

// readable always says yes, because this system can't look ahead: every pipe counts as having data.
func readable(*os.File, time.Duration) (bool, error) { return true, nil }

// readerGone always says no: only a failed write shows it.
func readerGone(io.Writer, <-chan struct{}) bool { return false }
