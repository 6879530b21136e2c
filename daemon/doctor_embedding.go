package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"loci/core"
	"loci/core/embedding"
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
	return embeddingChecks(p, troubles, d.cfg.Clock())
}

// embeddingChecks words what waits and why.
func embeddingChecks(p core.VectorProgress, troubles []embedding.Trouble, now time.Time) []api.Check {
	const name = "embedding"
	stalled := slices.ContainsFunc(troubles, func(t embedding.Trouble) bool { return t.Stall != nil })
	if p.Waiting == 0 && p.Moving == 0 && !stalled {
		return nil
	}
	waits := core.Count(p.Waiting, "text") + " to be made findable by meaning; until then by words alone"
	if p.Waiting == 0 && p.Moving == 0 {
		waits = "searches go by words alone"
	}
	if len(troubles) == 0 {
		return []api.Check{api.Good(name, waits)}
	}
	var checks []api.Check
	for _, t := range troubles {
		fix := fmt.Sprintf("%s; look after %s", askedAgain(t.Next, now), t.Model)
		if core.KindOf(t.Err) == core.Unauthenticated {
			fix = "open a chat in a shell that has the key (it is used while the chat lives), or start the daemon with it"
			if hint := core.HintOf(t.Err); hint != "" {
				fix = hint + ", then " + fix
			}
		}
		why := fmt.Sprintf("%s: %s", t.Model, t.Err)
		if t.Stall != nil {
			why, fix = t.Stall.String(), "look after its server, or restart it; what waits is sent to it again by itself"
		}
		checks = append(checks, api.Warning(name, why+"; "+waits, fix))
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
