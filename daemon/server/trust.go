package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/core"
	"loci/daemon/api"
)

// Trust keeps what a person trusts of what folders bring along.
type Trust interface {
	Items(ctx context.Context, folder string) (items []core.FolderItem, whole bool, err error)
	Decide(folder string, decisions []core.TrustDecision) error
	Remove(folder string) error
}

// registerTrust registers the trust of folders, for the socket only, as the rules of permission are.
func (s *Server) registerTrust(a huma.API) {
	handle(a, "GET", api.PathTrust, s.listTrust)
	handle(a, "POST", api.PathTrust, s.decideTrust)
	handle(a, "DELETE", api.PathTrust, s.removeTrust)
}

func (s *Server) trust(ctx context.Context) (Trust, error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	if parts, _ := s.now(); parts.Trust != nil {
		return parts.Trust, nil
	}
	return nil, core.E(core.Unsupported, "this daemon keeps no trust")
}

func (s *Server) listTrust(ctx context.Context, in *api.ListTrust) (*body[api.FolderItems], error) {
	trust, err := s.trust(ctx)
	if err != nil {
		return nil, err
	}
	items, whole, err := trust.Items(ctx, in.Folder)
	out := api.FolderItems{Items: []api.FolderItem{}, Whole: whole}
	for _, it := range items {
		out.Items = append(out.Items, api.FolderItem{
			Kind: string(it.Kind), Path: it.Path, Hash: it.Hash, Bytes: it.Bytes, State: string(it.State), Fault: it.Fault,
		})
	}
	return answer(out, err)
}

type decideTrustInput struct{ Body api.DecideTrust }

func (s *Server) decideTrust(ctx context.Context, in *decideTrustInput) (*body[any], error) {
	trust, err := s.trust(ctx)
	if err != nil {
		return nil, err
	}
	var decisions []core.TrustDecision
	for _, d := range in.Body.Items {
		decisions = append(decisions, core.TrustDecision{Path: d.Path, Hash: d.Hash, Trusted: d.Trusted})
	}
	return answer[any](nil, trust.Decide(in.Body.Folder, decisions))
}

func (s *Server) removeTrust(ctx context.Context, in *api.ListTrust) (*body[any], error) {
	trust, err := s.trust(ctx)
	if err != nil {
		return nil, err
	}
	return answer[any](nil, trust.Remove(in.Folder))
}
