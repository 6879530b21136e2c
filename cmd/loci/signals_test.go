//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test binary a program that says whether it was told to end.
func TestMain(m *testing.M) {
	if os.Getenv("LOCI_TEST_ENDINGS") == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		os.Exit(1)
	}
	select {
	case <-ctx.Done():
		_, _ = fmt.Fprint(os.Stdout, "asked to end")
	case <-time.After(100 * time.Millisecond):
		_, _ = fmt.Fprint(os.Stdout, "went on")
	}
}

func TestAClosedTerminalAsksTheProgramToEndUnlessThatIsIgnored(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		`exec "$0"`:              "asked to end",
		`trap "" HUP; exec "$0"`: "went on", // as nohup does
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script, os.Args[0])
		cmd.Env = append(os.Environ(), "LOCI_TEST_ENDINGS=1")
		out, err := cmd.Output()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %q %v", script, out, err)
		}
	}
}
