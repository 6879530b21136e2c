package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"loci/daemon/api"
	"loci/daemon/client"
)

// showTrace prints what a run sent to models: with --json whole, a line for each request.
func (a *app) showTrace(ctx context.Context, c *client.Client, run string) error {
	all, err := c.RunTrace(ctx, run)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return (&fault{kind: api.KindNotFound, msg: "nothing is kept of what this run sent to models"}).
			withHint("for later runs: traces = true in the settings, then loci daemon restart")
	}
	if a.json {
		for _, t := range all {
			if err := writeLine(a.out, t); err != nil {
				return err
			}
		}
		return nil
	}
	t := table{
		head:   []string{"STARTED", "FOR", "MODEL", "STATUS", "FIRST", "TOOK", "SENT", "GOT"},
		single: true, spare: []string{"FIRST", "SENT", "GOT"},
	}
	for _, one := range all {
		status := strconv.Itoa(one.Status)
		if one.Status == 0 {
			status = "none"
		}
		if one.Attempt > 1 {
			status += fmt.Sprintf(" (try %d)", one.Attempt)
		}
		t.add(
			one.StartedAt.Local().Format(time.TimeOnly), one.CallType, one.Model, status, millis(one.FirstMS), millis(one.DurationMS),
			size(int64(len(one.Request.Body)+one.Request.Cut)), size(int64(len(one.Response.Body)+one.Response.Cut)),
		)
	}
	return a.list(t, "")
}

func millis(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }
