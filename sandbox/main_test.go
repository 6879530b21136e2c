//go:build linux

package sandbox

import (
	"context"
	"fmt"
	"os"
	"testing"

	"loci/sandbox/stage"
)

// orphan makes the tests' program a daemon that a test kills while it runs a job: its value is the job's script.
const orphan = "LOCI_TEST_ORPHAN"

// probe makes it say what it can confine, in the mode that is its value.
const probe = "LOCI_TEST_PROBE"

// TestMain lets the tests' own program be launcher and first process, as the daemon's is.
func TestMain(m *testing.M) {
	if code, ours := stage.Main(os.Args); ours {
		os.Exit(code)
	}
	if os.Getenv(probe) != "" {
		_, _ = fmt.Fprintf(os.Stdout, "%+v\n", New(Config{Mode: Mode(os.Getenv(probe))}).Probe(context.Background()))
		os.Exit(0)
	}
	if script := os.Getenv(orphan); script != "" {
		job := in(os.Getenv("PWD"), script)
		job.Live = os.Stdout
		l := New(Config{Mode: Mode(os.Getenv("LOCI_TEST_MODE")), Scratch: os.Getenv("LOCI_TEST_SCRATCH")})
		_, _ = l.Run(context.Background(), job) // it is killed
		os.Exit(1)
	}
	os.Exit(m.Run())
}
