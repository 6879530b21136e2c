package server

import (
	"context"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/core/toolbox"
	"loci/core/variables"
	"loci/daemon/api"
)

// registerVariables registers what tools find in their environment, for the socket only. The contract's own way to an agent's is
// the agent.
func (s *Server) registerVariables(a huma.API) {
	handle(a, "GET", api.PathVariables, s.listVariables)
	handle(a, "PUT", api.PathVariables, s.setVariable)
	handle(a, "DELETE", api.PathVariables, s.removeVariable)
}

func (s *Server) variables() (*variables.Variables, error) {
	if parts, _ := s.now(); parts.Variables != nil {
		return parts.Variables, nil
	}
	return nil, core.E(core.Unsupported, "this daemon keeps no secrets")
}

func (s *Server) localVariables(ctx context.Context) (*variables.Variables, error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	return s.variables()
}

func wireVariable(v core.Variable) api.Variable {
	return api.Variable{
		ID: string(v.ID), AgentID: string(v.Agent), Name: v.Name, Description: v.Description, Tools: v.Tools,
		CreatedAt: api.At(v.CreatedAt), UpdatedAt: api.At(v.UpdatedAt),
	}
}

func (s *Server) listVariables(ctx context.Context, in *api.Variables) (*body[[]api.Variable], error) {
	all, err := s.localVariables(ctx)
	if err != nil {
		return nil, err
	}
	found, err := all.List(ctx, core.AgentID(in.AgentID))
	out := []api.Variable{}
	for _, v := range found {
		out = append(out, wireVariable(v))
	}
	return answer(out, err)
}

type setVariableInput struct{ Body api.SetVariable }

func (s *Server) setVariable(ctx context.Context, in *setVariableInput) (*body[api.Variable], error) {
	all, err := s.localVariables(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range in.Body.Tools {
		n, err := s.services().Tools.Count(ctx, toolbox.Filter{Names: []string{name}})
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, core.E(core.NotFound, "there is no tool named %q", name).WithHint("loci tools list")
		}
	}
	v, err := all.Set(ctx, core.AgentID(in.Body.AgentID), variables.Value{
		Name: in.Body.Name, Value: core.Secret(in.Body.Value), Description: in.Body.Description, Tools: in.Body.Tools,
	})
	return answer(wireVariable(v), err)
}

func (s *Server) removeVariable(ctx context.Context, in *api.RemoveVariable) (*body[any], error) {
	all, err := s.localVariables(ctx)
	if err != nil {
		return nil, err
	}
	return answer[any](nil, all.Remove(ctx, core.AgentID(in.AgentID), in.Name))
}

// draftSecrets seals what a request gives an agent. The older name of the field counts where the newer one is missing.
func (s *Server) draftSecrets(ctx context.Context, agent core.AgentID, newer, older map[string]string) ([]core.Variable, error) {
	given := newer
	if given == nil {
		given = older
	}
	if len(given) == 0 {
		return nil, nil
	}
	all, err := s.variables()
	if err != nil {
		return nil, err
	}
	var values []variables.Value
	for name, value := range given {
		values = append(values, variables.Value{Name: name, Value: core.Secret(value)})
	}
	slices.SortFunc(values, func(a, b variables.Value) int { return strings.Compare(a.Name, b.Name) })
	return all.Draft(ctx, agent, values...)
}

// secretsOf opens what an agent has, for a client that asks for it. One that can't be opened is an error: a client that sent back an
// empty value would overwrite it.
func (s *Server) secretsOf(ctx context.Context, agent core.AgentID) ([]api.Secret, error) {
	all, err := s.variables()
	if err != nil {
		return nil, nil //nolint:nilerr // a daemon that keeps none shows none
	}
	found, err := all.List(ctx, agent)
	if err != nil {
		return nil, err
	}
	out := []api.Secret{}
	for _, v := range found {
		value, err := all.Open(ctx, &v)
		if err != nil {
			return nil, err
		}
		out = append(out, api.Secret{
			ID: string(v.ID), Value: value.Reveal(), Key: v.Name, Description: api.PtrTo(v.Description), AgentID: string(agent),
			CreatedAt: api.AtPtr(v.CreatedAt), UpdatedAt: api.AtPtr(v.UpdatedAt),
		})
	}
	return out, nil
}
