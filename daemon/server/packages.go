package server

import (
	"context"
	"iter"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"loci/daemon/api"
)

type installPackagesInput struct{ Body api.InstallPackages }

// installPackages streams an installation, which goes on if the client leaves: whoever wants the same next finds it done.
func (s *Server) installPackages(ctx context.Context, in *installPackagesInput) (*huma.StreamResponse, error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	b := in.Body
	d, err := source{kind: b.SourceType, pip: &b.PipRequirements, npm: &b.NpmRequirements}.draft()
	if err != nil {
		return nil, err
	}
	var items iter.Seq2[sseItem, error] = func(yield func(sseItem, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		said := make(chan string, 64)
		var failed error
		var work sync.WaitGroup
		work.Go(func() {
			defer close(said)
			failed = s.services().Tools.Prepare(ctx, d, func(line string) {
				select {
				case said <- line:
				default: // a client that reads slowly misses a line
				}
			})
		})
		defer work.Wait()
		defer cancel()
		for line := range said {
			if !yield(sseItem{value: api.InstalledPackages{Status: line}}, nil) {
				return
			}
		}
		if failed != nil {
			yield(sseItem{}, failed)
			return
		}
		yield(sseItem{value: api.InstalledPackages{Done: true}}, nil)
	}
	fail := func(_ int64, err error) []any {
		e := asStatus(err)
		return []any{api.InstalledPackages{Error: e.body.Text(), Kind: string(e.kind), Hint: e.hint}}
	}
	ping := func(int64) any { return api.InstalledPackages{} }
	return s.sseResponse(sseStream{items: items, ping: ping, fail: fail, done: true}), nil
}
