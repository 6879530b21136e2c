package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/tui/transcript"
)

// jobsCommand is `loci jobs`: the shell lines of agents that run.
func (a *app) jobsCommand() *cobra.Command {
	return parent(
		"jobs",
		"List, show and stop shell lines that agents run",
		a.jobsList(),
		a.jobsShow(),
		a.jobsStop(),
	)
}

func (a *app) jobsList() *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use: "list", Short: "List lines that run, and those that ended in the background, the oldest first", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			c, err := a.connect(ctx)
			if err != nil {
				return err
			}
			of, err := a.onlyOf(ctx, c, agent)
			if err != nil {
				return err
			}
			jobs, err := c.Jobs(ctx, of, 0)
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, nonNil(jobs))
			}
			t := table{head: []string{"ID", "SINCE", "STATE", "TEXT"}, single: true, spare: []string{"SINCE"}}
			for _, j := range jobs {
				t.add(j.ID, local(j.BeganAt.Time), jobState(j), clip(transcript.Reveal(j.Command), listedArguments))
			}
			return a.list(t, "no shell line runs")
		},
	}
	onlyOfFlag(c, &agent)
	return c
}

func jobState(j api.Job) string {
	switch {
	case j.EndedAt != nil:
		return oneLine(j.Ended)
	case j.Background:
		return "runs in the background"
	}
	return "runs"
}

func (a *app) jobsShow() *cobra.Command {
	return a.oneJob("show ID", "Show a line, and what it has written", (*client.Client).Job)
}

func (a *app) jobsStop() *cobra.Command {
	return a.oneJob("stop ID", "Stop a line with all that it has started, and show what it wrote", (*client.Client).StopJob)
}

func (a *app) oneJob(use, short string, ask func(*client.Client, context.Context, string) (api.Job, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: exactly("the job's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			j, err := ask(c, cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printJob(j)
		},
	}
}

// printJob prints a job with its output as the agent has it: bounded, and without what a terminal would act on.
func (a *app) printJob(j api.Job) error {
	if a.json {
		return writeJSON(a.out, j)
	}
	t := table{head: []string{"JOB", j.ID}}
	t.add("line", oneLine(transcript.Reveal(j.Command)))
	t.add("folder", oneLine(j.Folder))
	t.add("agent", j.AgentID)
	t.add("since", local(j.BeganAt.Time))
	if j.EndedAt != nil {
		t.add("took", j.EndedAt.Sub(j.BeganAt.Time).Round(time.Second).String())
	} else {
		t.add("state", jobState(j))
	}
	if err := t.write(a.out); err != nil || j.Output == "" {
		return err
	}
	_, err := io.WriteString(a.out, fmt.Sprintf("\n%s\n", j.Output))
	return err
}
