//go:build linux

package mcpclient_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
	"loci/sandbox"
	"loci/sandbox/sandboxtest"
	"loci/tools/mcpclient"
)

// throughServer runs the program of a job from a server.
type throughServer struct {
	*mcpclient.Manager
	to core.MCPTarget
}

func (r throughServer) Run(ctx context.Context, job core.Job) (core.JobResult, error) {
	env := map[string]string{}
	for _, v := range job.Env {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	to := r.to
	to.Server.ID = core.NewMCPServerID() // one of its own, since some attempts end it
	listing, err := r.List(ctx, to)
	if err != nil {
		return core.JobResult{}, err
	}
	var args map[string]any
	text, err := json.Marshal(map[string]any{"argv": job.Argv, "env": env, "project": job.Project.Path})
	if err == nil {
		err = json.Unmarshal(text, &args)
	}
	if err != nil {
		return core.JobResult{}, err
	}
	result, err := r.Call(ctx, to, core.MCPCall{Remote: "start", Hash: listing.Offers[0].Hash, Arguments: args})
	r.Drop(to.Server.ID)
	said := result.Text
	if err != nil {
		said = err.Error()
	}
	return core.JobResult{Ended: core.JobExited, Stdout: core.JobOutput{Kept: []byte(said)}}, nil
}

func TestNothingGetsOutOfAServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a while")
	}
	to := program(t, "starting")
	manager := func(mode sandbox.Mode) throughServer {
		cage := sandbox.New(sandbox.Config{Mode: mode, Scratch: filepath.Join(t.TempDir(), "jobs")})
		t.Cleanup(cage.Close)
		return throughServer{open(t, func(cfg *mcpclient.Config) { cfg.Sandbox = cage }).Manager, to}
	}
	sandboxtest.RunThrough(t, manager(""), manager(sandbox.Off))
}
