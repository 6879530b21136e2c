package shell

import (
	"context"
	"fmt"
	"time"

	"loci/core"
	"loci/core/jobs"
)

// JobDoc tells a model what job does.
const JobDoc = "See what a line that runs in the background has written, wait for its end, or stop it."

// JobArgs are the arguments of job.
type JobArgs struct {
	ID   string `json:"id" jsonschema:"As shell returned it."`
	Wait *int   `json:"wait,omitempty" jsonschema:"Seconds to wait for its end, at most 600, default 0."`
	Stop bool   `json:"stop,omitempty" jsonschema:"Stop it, with all that it started."`
}

// Job shows or stops a line in the background.
func (s *Shell) Job(ctx context.Context, args JobArgs, env core.ToolEnv) (core.ToolResult, error) {
	if s.cfg.Jobs == nil {
		return refusal(core.E(core.NotFound, "there are no jobs here"))
	}
	var wait time.Duration
	if args.Wait != nil {
		if *args.Wait < 0 {
			return core.ToolResult{}, core.E(core.Invalid, "wait is a number of seconds from 0 to %d", mostTime/time.Second)
		}
		wait = min(time.Duration(*args.Wait)*time.Second, mostTime)
	}
	if args.Stop {
		wait = 0
	}
	j, err := s.cfg.Jobs.See(ctx, env.Conversation, args.ID, wait)
	if err == nil && args.Stop && !j.Ended() {
		if _, err = s.cfg.Jobs.Stop(ctx, j.ID); err == nil {
			j, err = s.cfg.Jobs.See(ctx, env.Conversation, j.ID, 0)
		}
	}
	if core.KindOf(err) == core.NotFound {
		return core.ToolError(err.Error() + "; " + core.HintOf(err) + "."), nil
	}
	if err != nil {
		return core.ToolResult{}, err
	}
	return core.ToolResult{
		Text: state(&j), IsError: j.Ended() && j.Failed && !j.Stopped, Source: j.Source(), Layers: j.Layers(), Tells: j.Tells(),
	}, nil
}

// state is what a model reads of a job.
func state(j *jobs.Job) string {
	if j.Ended() {
		return fmt.Sprintf("%s has ended after %s. %s", j.ID, j.EndedAt.Sub(j.BeganAt).Round(time.Second), j.Text())
	}
	text := fmt.Sprintf("%s still runs, since %s.", j.ID, time.Since(j.BeganAt).Round(time.Second))
	if written := j.Text(); written != "" {
		text += "\n" + written
	}
	return text
}
