// Command rankscore measures how well search finds: it puts long conversations with labelled evidence into a daemon, asks
// their questions through the REST API and prints the share of the evidence among the first results. The data set stays
// outside of the repository; its path is an argument.
//
//	go build -o loci ./cmd/loci && go run ./cmd/rankscore -loci ./loci -data locomo-dev.json
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"loci/daemon/client"
	"loci/daemon/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "rankscore:", err)
		os.Exit(1)
	}
}

// options are the arguments.
type options struct {
	data, loci, variants string
	by                   string
	noise                int
	seed                 uint64
	every, recall        int
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("rankscore", flag.ContinueOnError)
	flags.StringVar(&o.data, "data", "", "the data set, a `file`")
	flags.StringVar(&o.loci, "loci", "loci", "the `program` whose daemon is measured, in a home of its own")
	flags.StringVar(&o.variants, "variants", "passages,messages", "what to measure: passages, messages, together")
	flags.IntVar(&o.noise, "noise", 50_000, "how many turns are made up for together")
	flags.Uint64Var(&o.seed, "seed", 1, "of what is made up")
	flags.IntVar(&o.recall, "recall", 0, "measure, in place of searches, what joins a turn by itself: at most so many `tokens`")
	flags.StringVar(&o.by, "by", "", "with -recall: only evidence counts that this `speaker` said")
	flags.IntVar(&o.every, "every", 1, "ask every n-th question")
	if err := flags.Parse(args); err != nil {
		return err
	}
	set, err := readData(o.data)
	if err != nil {
		return err
	}
	c, stop, err := daemon(ctx, o.loci)
	if err != nil {
		return err
	}
	defer stop()
	for _, variant := range strings.Split(o.variants, ",") {
		s := &scorer{client: c, set: set, out: out, every: max(o.every, 1)}
		if o.recall > 0 {
			if variant != "passages" && variant != "messages" {
				return fmt.Errorf("there is no recall of the variant %q", variant)
			}
			if err := s.recall(ctx, &o, variant); err != nil {
				return err
			}
			continue
		}
		switch variant {
		case "passages":
			err = s.passages(ctx)
		case "messages":
			err = s.messages(ctx)
		case "together":
			err = s.together(ctx, o.noise, o.seed)
		default:
			err = fmt.Errorf("there is no variant %q", variant)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// daemon starts a daemon with an empty home and no keys; stop ends it and removes the home.
func daemon(ctx context.Context, program string) (c *client.Client, stop func(), err error) {
	exe, err := filepath.Abs(program)
	if err != nil {
		return nil, nil, err
	}
	home, err := os.MkdirTemp("", "rankscore")
	if err != nil {
		return nil, nil, err
	}
	remove := func() { _ = os.RemoveAll(home) } // a leftover folder does not affect the measurement
	paths, err := config.FindPaths(func(name string) (string, bool) { return home, name == "LOCI_HOME" })
	if err != nil {
		remove()
		return nil, nil, err
	}
	ensure := &client.EnsureOptions{
		Exe: exe, Environ: []string{"LOCI_HOME=" + home, "HOME=" + home, "PATH=" + os.Getenv("PATH")},
		Socket: paths.Socket, Lock: paths.Lock, StartLock: paths.StartLock, Log: paths.Log,
	}
	started, err := client.Ensure(ctx, *ensure)
	if err != nil {
		remove()
		return nil, nil, err
	}
	c = client.New(client.Options{Socket: started.Socket})
	if _, err := c.Status(ctx); err != nil {
		err = errors.Join(err, c.Shutdown(context.WithoutCancel(ctx), false))
		remove()
		return nil, nil, err
	}
	return c, func() {
		_ = c.Shutdown(context.WithoutCancel(ctx), false)
		c.Close()
		remove()
	}, nil
}
