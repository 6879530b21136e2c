// Command loci is a home for agents that remember: a chat in the terminal, one-shot commands, and the daemon behind
// them.
package main

import (
	"context"
	"os"
	"os/signal"

	"loci/cmd/cli"
	"loci/sandbox/stage"
	"loci/tools/custom/javascript"
)

func main() {
	if code, ours := stage.Main(os.Args); ours {
		os.Exit(code)
	}
	if code, ours := javascript.Main(os.Args); ours {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
