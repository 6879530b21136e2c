package server

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"loci/daemon/api"
)

func (s *Server) registerHealth(a huma.API) {
	handle(a, "GET", "/v1/health", s.health)
	handle(a, "GET", "/v1/ready", s.health)
}

func (s *Server) health(context.Context, *struct{}) (*body[api.Health], error) {
	return answer(api.Health{Version: s.cfg.Version, Status: "ok"}, nil)
}
