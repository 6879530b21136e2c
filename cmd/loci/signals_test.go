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

// TestMain turns the test binary into a program that says whether it was told to end.
func TestMain(m *testing.M) {
	if os.Getenv("LOCI_TEST_ENDINGS") == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		os.Exit(1)
	}
	wait := time.Minute
	if os.Getenv("LOCI_TEST_ENDINGS") == "ignored" { // it must not happen, so don't wait for it long
		wait = 100 * time.Millisecond
	}
	select {
	case <-ctx.Done():
		_, _ = fmt.Fprint(os.Stdout, "asked to end")
	case <-time.After(wait):
		_, _ = fmt.Fprint(os.Stdout, "went on")
	}
}

func TestAClosedTerminalAsksTheProgramToEndUnlessThatIsIgnored(t *testing.T) {
	t.Parallel()
	heard := make(chan os.Signal, 1) // so that the programs don't inherit it as ignored if the tests run under nohup
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	for _, c := range []struct{ script, hup, want string }{
		{`exec "$0"`, "heard", "asked to end"},
		{`trap "" HUP; exec "$0"`, "ignored", "went on"}, // like nohup
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", c.script, os.Args[0])
		cmd.Env = append(os.Environ(), "LOCI_TEST_ENDINGS="+c.hup)
		out, err := cmd.Output()
		if err != nil || strings.TrimSpace(string(out)) != c.want {
			t.Errorf("%s: %q %v", c.script, out, err)
		}
	}
}
