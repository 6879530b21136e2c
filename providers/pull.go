package providers

import (
	"context"
	"iter"
	"strings"
	"time"

	"loci/core"
	"loci/providers/protocol"
)

// pullsFrom is whose models are downloaded where nobody says.
const pullsFrom = "ollama"

// mostModelName bounds the name of a model that is to be downloaded.
const mostModelName = 512

var _ core.Puller = (*Providers)(nil)

// Pull implements core.Puller.
func (p *Providers) Pull(ctx context.Context, name string, env core.Env) iter.Seq2[core.Pulled, error] {
	return func(yield func(core.Pulled, error) bool) {
		left := false
		err := p.pull(ctx, name, env, func(d core.Pulled) bool {
			left = !yield(d, nil)
			return !left
		})
		if err != nil && !left {
			yield(core.Pulled{}, err)
		}
	}
}

func (p *Providers) pull(ctx context.Context, name string, env core.Env, told func(core.Pulled) bool) error {
	row, model, err := p.pulls(name)
	if err != nil {
		return err
	}
	e, err := p.endpoint(row, env)
	if err != nil {
		return err
	}
	s, err := p.hold(e)
	if err != nil {
		return err
	}
	defer p.release(s)
	puller, ok := s.wire.(protocol.Puller)
	if !ok {
		return core.E(core.Unsupported, "%s does not download models", row.Title).
			WithHint("an Ollama server does: loci models pull ollama/%s", model)
	}
	handle := core.Handle(row.Name + "/" + model)
	err = puller.Pull(ctx, model, func(d core.Pulled) bool {
		d.Model = handle
		return told(d)
	})
	s.forgetListing()
	return err
}

// pulls returns the provider whose server is to download, and the model's name there. Names of models have slashes, too.
func (p *Providers) pulls(name string) (row Row, model string, err error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > mostModelName || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return Row{}, "", core.E(core.Invalid, "%.60q is no name of a model", name).WithHint("write it as the server does, like qwen3:8b")
	}
	if provider, rest, ok := core.Handle(name).Split(); ok && rest != "" {
		if row, known := p.find(provider); known && row.Built() && !row.Offline {
			return row, rest, nil
		}
	}
	row, ok := p.find(pullsFrom)
	if !ok {
		return Row{}, "", unknown(p.known(), pullsFrom)
	}
	return row, name, nil
}

// forgetListing has the models listed anew when they are next asked for.
func (s *server) forgetListing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
}
