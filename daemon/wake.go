package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"loci/core"
	"loci/core/engine"
	"loci/core/jobs"
	"loci/core/memory"
)

// wakeAgain is how long a wake-up waits at most for its conversation to be free before it looks again.
const wakeAgain = 5 * time.Second

// wake tells an agent that a job of its has ended in the background, as soon as nothing else is under way in that
// conversation and nothing waits for a person there. ctx ends when it needn't be told any more.
func (d *Daemon) wake(ctx context.Context, p *parts, j jobs.Job) {
	for {
		_, err := p.engine.Submit(ctx, engine.Request{
			Agent: j.Agent, Conversation: j.Conversation, Client: p.waker(&j), Config: p.asBefore(ctx, &j), Background: true,
			Input: []engine.Input{{Role: core.RoleUser, Text: memory.Alert(jobEnded(&j), d.cfg.Clock())}},
		})
		kind := core.KindOf(err)
		if err == nil || ctx.Err() != nil {
			return
		}
		if kind != core.Busy && kind != core.Conflict {
			d.logger.WarnContext(ctx, "an agent is not told that its job has ended", slog.String("job", j.ID), slog.Any("error", err))
			return
		}
		p.awaitChange(ctx, j.Conversation)
	}
}

// waker is who wakes an agent: in the folder of the run that began the job, with what its client session may do as long as that
// lives. After it nothing is free but what a new session has, what was forbidden stays so, and what asks waits for a person.
func (p *parts) waker(j *jobs.Job) core.Client {
	client, err := p.services.Sessions.Get(j.Client.ID)
	if err != nil {
		client = core.Client{Mode: core.ModeAsk, Zone: j.Client.Zone, Rules: core.SessionRules{Deny: j.Client.Rules.Deny}}
		if j.Client.Mode == core.ModePlan {
			client.Mode = core.ModePlan
		}
	}
	client.Kind, client.Workspace = core.ClientDaemon, j.Client.Workspace
	return client
}

// asBefore has the run of the wake-up asked of the model that the run which began the job was asked of. What it writes may stem
// from where the job's output comes from.
func (p *parts) asBefore(ctx context.Context, j *jobs.Job) core.RunConfig {
	config := core.RunConfig{Source: j.Source(), Tells: j.Tells()}
	run, err := p.store.Runs().Get(ctx, j.Run)
	if err != nil {
		return config // it was deleted: the agent's own model
	}
	config.Model = run.Config.Model
	return config
}

// awaitChange waits until something happens in a conversation, for a while.
func (p *parts) awaitChange(ctx context.Context, conversation core.ConversationID) {
	ctx, cancel := context.WithTimeout(ctx, wakeAgain)
	defer cancel()
	for c := range p.engine.Changes(ctx) {
		if c.Conversation == conversation {
			return
		}
	}
}

// jobEnded is what an agent reads of the end of a job. What it wrote is bounded by the tool that ran it.
func jobEnded(j *jobs.Job) string {
	return fmt.Sprintf("%s has ended after %s: %s\n%s", j.ID, j.EndedAt.Sub(j.BeganAt).Round(time.Second), j.Command, j.Text())
}
