package crashtest

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"loci/cmd/cli"
	"loci/sandbox/stage"
)

var (
	kills = flag.Int("kills", 5, "how often each test kills the daemon")
	seed  = flag.Uint64("seed", 0, "seed of the load and of the moments; 0: from the clock")
)

// asProgram makes this test binary be the program itself: the same commands, the same daemon, without a second build.
const asProgram = "LOCI_CRASHTEST_PROGRAM"

func TestMain(m *testing.M) {
	if code, ours := stage.Main(os.Args); ours { // the daemon's program is that of its sandboxes, too
		os.Exit(code)
	}
	if os.Getenv(asProgram) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop)
		os.Exit(cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// seedOf is the seed that was asked for, or a new one.
func seedOf() uint64 {
	if *seed != 0 {
		return *seed
	}
	return uint64(time.Now().UnixNano()) % 1_000_000
}
