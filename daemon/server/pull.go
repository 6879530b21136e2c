package server

import (
	"context"
	"iter"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/daemon/api"
)

// pullEvery is how often a download says how far it is.
const pullEvery = 100 * time.Millisecond

type pullModelInput struct{ Body api.PullModel }

// pullModel streams the download of a model. It stops when the client leaves.
func (s *Server) pullModel(ctx context.Context, in *pullModelInput) (*huma.StreamResponse, error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	env := callOf(ctx).client.Env
	var items iter.Seq2[sseItem, error] = func(yield func(sseItem, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var last time.Time
		var status string
		for p, err := range s.services().Models.Pull(ctx, in.Body.Name, env) {
			if err != nil {
				yield(sseItem{}, err)
				return
			}
			if !p.Done && p.Status == status && time.Since(last) < pullEvery {
				continue
			}
			last, status = time.Now(), p.Status
			if !yield(sseItem{value: wirePulled(p)}, nil) {
				return
			}
		}
	}
	fail := func(_ int64, err error) []any {
		e := asStatus(err)
		return []any{api.PulledModel{Error: e.body.Text(), Kind: string(e.kind), Hint: e.hint}}
	}
	ping := func(int64) any { return api.PulledModel{} }
	return s.sseResponse(sseStream{items: items, ping: ping, fail: fail, done: true}), nil
}

func wirePulled(p core.Pulled) api.PulledModel {
	return api.PulledModel{Model: string(p.Model), Status: p.Status, Completed: p.Completed, Total: p.Total, Done: p.Done}
}
