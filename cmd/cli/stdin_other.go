//go:build !unix

package cli

import (
	"io"
	"os"
	"time"
)

// closedOutput cannot be told on this system.
func closedOutput(io.Writer) bool { return false }

// readable cannot look ahead on this system: every pipe counts as having data.
func readable(*os.File, time.Duration) (bool, error) { return true, nil }
