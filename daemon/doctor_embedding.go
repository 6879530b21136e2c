package daemon

import (
	"context"
	"fmt"
	"time"

	"loci/core"
	"loci/daemon/api"
)

// checkEmbedding reports what can't be found by meaning yet, and why; it returns nothing if everything can.
func (d *Daemon) checkEmbedding(ctx context.Context) []api.Check {
	const name = "embedding"
	e := d.current().embedding
	if e == nil || d.openError() != nil {
		return nil
	}
	p, troubles, err := e.Status(ctx)
	if err != nil {
		return []api.Check{api.Broken(name, err.Error(), "loci daemon restart")}
	}
	if p.Waiting == 0 && p.Moving == 0 {
		return nil
	}
	waits := core.Count(p.Waiting, "text") + " to be made findable by meaning; until then by words alone"
	if len(troubles) == 0 {
		return []api.Check{api.Good(name, waits)}
	}
	var checks []api.Check
	for _, t := range troubles {
		fix := fmt.Sprintf("%s; look after %s", askedAgain(t.Next, d.cfg.Clock()), t.Model)
		if core.KindOf(t.Err) == core.Unauthenticated {
			fix = "open a chat in a shell that has the key (it is used while the chat lives), or start the daemon with it"
			if hint := core.HintOf(t.Err); hint != "" {
				fix = hint + ", then " + fix
			}
		}
		checks = append(checks, api.Warning(name, fmt.Sprintf("%s: %s; %s", t.Model, t.Err, waits), fix))
	}
	return checks
}

// askedAgain says when a model is retried. A time in the past means that the retry has started and not finished yet.
func askedAgain(next, now time.Time) string {
	if !next.After(now) {
		return "it is being asked now"
	}
	return "it is asked again at " + next.Local().Format(time.TimeOnly)
}
