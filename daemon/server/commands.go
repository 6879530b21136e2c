package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/daemon/api"
)

// Commands are those that people wrote for the chat, and that count where a folder is open.
type Commands func(folder string) []api.Command

// registerCommands registers the commands of the chat, for the socket only, as they are files of this machine.
func (s *Server) registerCommands(a huma.API) { handle(a, "GET", api.PathCommands, s.listCommands) }

func (s *Server) listCommands(ctx context.Context, in *api.ListCommands) (*body[api.CommandList], error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	out := api.CommandList{Commands: []api.Command{}}
	if parts, _ := s.now(); parts.Commands != nil {
		out.Commands = append(out.Commands, parts.Commands(in.Folder)...)
	}
	return answer(out, nil)
}
