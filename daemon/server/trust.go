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
	Item(folder, path string) (it core.FolderItem, text string, err error)
	Decide(folder string, decisions []core.TrustDecision) error
	Remove(folder string) error
}

// registerTrust registers the trust of folders, for the socket only, as the rules of permission are.
func (s *Server) registerTrust(a huma.API) {
	handle(a, "GET", api.PathTrust, s.listTrust)
	handle(a, "GET", api.PathTrust+"/text", s.trustText)
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
		out.Items = append(out.Items, wireItem(it))
	}
	return answer(out, err)
}

func wireItem(it core.FolderItem) api.FolderItem {
	return api.FolderItem{
		Kind: string(it.Kind), Path: it.Path, Hash: it.Hash, Bytes: it.Bytes, State: string(it.State), Fault: it.Fault,
	}
}

// trustText returns an item to be read before it is trusted.
func (s *Server) trustText(ctx context.Context, in *api.ItemText) (*body[api.FolderText], error) {
	trust, err := s.trust(ctx)
	if err != nil {
		return nil, err
	}
	it, text, err := trust.Item(in.Folder, in.Path)
	return answer(api.FolderText{FolderItem: wireItem(it), Text: text}, err)
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
