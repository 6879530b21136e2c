package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// pullCommand is `loci models pull`.
func (a *app) pullCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "pull NAME", Short: "Download a model to an Ollama server",
		Args: exactly("a name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return a.pullModel(cmd.Context(), args[0]) },
	}
	c.Long = `Download a model to an Ollama server, by the name that the server has for it. The name of a provider may stand before it,
where it is another server than the one on this machine or in OLLAMA_HOST.

Interrupting the command stops the download. What is there stays, and the same command goes on from it.`
	c.Example = `  loci models pull qwen3:8b
  loci models pull my-ollama/qwen3:8b`
	return c
}

func (a *app) pullModel(ctx context.Context, name string) error {
	c, err := a.providerClient(ctx)
	if err != nil {
		return err
	}
	p := pulling{app: a, bar: isTerminal(a.errOut) && !a.json, began: time.Now()}
	last, err := p.follow(ctx, c, name)
	if err != nil {
		p.erase()
		if ctx.Err() != nil {
			a.note("What is there is kept; go on with it: loci models pull " + quoteArg(name))
		}
		return err
	}
	p.erase()
	return a.report(last, "%s is there; use it: loci --model %s", last.Model, last.Model)
}

// pulling shows a download: as a bar that moves in a terminal, as lines elsewhere.
type pulling struct {
	*app
	bar    bool
	began  time.Time
	first  int64 // bytes that were there when it began
	status string
	tenth  int64
	shown  bool
}

func (p *pulling) follow(ctx context.Context, c *client.Client, name string) (last api.PulledModel, err error) {
	for d, err := range c.PullModel(ctx, name) {
		switch {
		case err != nil:
			return last, err
		case d.Model == "": // it is still there
			continue
		}
		p.show(d)
		last = d
	}
	return last, nil
}

func (p *pulling) show(d api.PulledModel) {
	if p.json || d.Done {
		return
	}
	if p.first == 0 {
		p.first = max(d.Completed, 1)
	}
	if p.bar {
		p.shown = true
		line := pullLine(d, p.first, time.Since(p.began))
		if width := columnsOf(p.errOut); width > 1 {
			line = clip(line, width-1)
		}
		fmt.Fprint(p.errOut, eraseLine+line)
		return
	}
	word, tenth := pullStage(d.Status), int64(0)
	if d.Total > 0 {
		tenth = 10 * d.Completed / d.Total
	}
	if word == p.status && tenth <= p.tenth {
		return
	}
	p.status, p.tenth = word, tenth
	fmt.Fprintln(p.errOut, pullLine(d, p.first, time.Since(p.began)))
}

func (p *pulling) erase() {
	if p.shown {
		fmt.Fprint(p.errOut, eraseLine)
	}
}

// pullStage is what a server does, without the digest of the part that it does it to.
func pullStage(status string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(status), " ")
	if word == "pulling" && !strings.HasSuffix(status, "manifest") {
		return "downloading"
	}
	return oneLine(clip(status, 60))
}

// pullLine says how far a download is; the rate is that of the bytes behind the first ones.
func pullLine(d api.PulledModel, first int64, took time.Duration) string {
	line := "loci: " + cmp.Or(pullStage(d.Status), "waiting")
	if d.Total <= 0 {
		return line
	}
	const cells = 20
	full := int(min(d.Completed, d.Total) * cells / d.Total)
	line += fmt.Sprintf(" [%s%s] %d%% · %s of %s", strings.Repeat("#", full), strings.Repeat("·", cells-full),
		100*min(d.Completed, d.Total)/d.Total, size(d.Completed), size(d.Total))
	if got := d.Completed - first; took > time.Second && got > 0 && d.Completed < d.Total {
		rate := float64(got) / took.Seconds()
		left := time.Duration(float64(d.Total-d.Completed) / rate * float64(time.Second))
		line += fmt.Sprintf(" · %s/s · %s left", size(int64(rate)), left.Round(time.Second))
	}
	return line
}
