package server

import (
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/daemon/api"
)

func (s *Server) registerForget(a huma.API) {
	handle(a, "POST", api.PathForget, s.forget)
}

type forgetInput struct{ Body api.ForgetRequest }

func (s *Server) forget(ctx context.Context, in *forgetInput) (*body[api.Forgetting], error) {
	q, err := forgetQuery(in.Body)
	if err != nil {
		return nil, err
	}
	forget := s.services().Forget
	if !in.Body.Confirm {
		f, err := forget.Trace(ctx, q)
		return answer(wireForgetting(f), err)
	}
	f, err := forget.Forget(ctx, q)
	return answer(wireForgetting(f), err)
}

// forgetQuery converts what to forget; an id's prefix gives the kind of record.
func forgetQuery(in api.ForgetRequest) (core.ForgetQuery, error) {
	q := core.ForgetQuery{Text: in.Text, IgnoreCase: in.IgnoreCase}
	kind, _, _ := strings.Cut(in.ID, "-")
	switch {
	case in.ID == "":
	case kind == "message":
		q.Message = core.MessageID(in.ID)
	case kind == "passage":
		q.Passage = core.PassageID(in.ID)
	case kind == "block":
		q.Block = core.BlockID(in.ID)
	default:
		return q, core.E(core.Invalid, "%q is not the id of a message, a passage or a block", in.ID)
	}
	return q, q.Validate()
}

func wireForgetting(f core.Forgetting) api.Forgetting {
	out := api.Forgetting{
		Mark: f.Mark, Records: f.Total(), Places: api.List[api.ForgetPlace]{}, Conversations: f.Conversations,
		AgentIDs: api.List[string]{}, Copies: api.List[api.ForgetCopy]{}, ForgottenAt: api.AtPtr(f.At),
	}
	for _, p := range f.Places {
		place := api.ForgetPlace{Name: p.Name, Count: p.Count, Examples: api.List[api.ForgetExample]{}}
		for _, e := range p.Examples {
			place.Examples = append(place.Examples, api.ForgetExample(e))
		}
		out.Places = append(out.Places, place)
	}
	for _, id := range f.Agents {
		out.AgentIDs = append(out.AgentIDs, string(id))
	}
	for _, c := range f.Copies {
		out.Copies = append(out.Copies, api.ForgetCopy{Path: c.Path, Kind: string(c.Kind), Unknown: c.Unknown})
	}
	return out
}
