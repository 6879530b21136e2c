package sandbox

import (
	"os"
	"testing"

	"loci/sandbox/stage"
)

// TestMain lets the tests' own program be launcher and first process, as the daemon's is.
func TestMain(m *testing.M) {
	if code, ours := stage.Main(os.Args); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}
