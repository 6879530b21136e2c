package mcpclient

import (
	"os"
	"testing"
	"time"

	"loci/core"
)

func TestAServerThatHasYetToFetchItselfGetsMoreTimeAndOnlyThen(t *testing.T) {
	t.Parallel()
	m := New(Config{Caches: t.TempDir(), Times: Times{Connect: time.Second}})
	defer m.Close()
	if m.cfg.Times.Install <= m.cfg.Times.Connect {
		t.Errorf("to fetch itself it has %s", m.cfg.Times.Install)
	}
	of := func(change func(*core.MCPServer)) *session {
		server := core.MCPServer{ID: core.NewMCPServerID(), Transport: core.MCPStdio}
		server.Grants.Hosts = []string{"registry.example"}
		change(&server)
		return newSession(m, core.MCPTarget{Server: server})
	}
	fetches := of(func(*core.MCPServer) {})
	if !fetches.installs() {
		t.Error("a server that reaches a registry isn't waited for")
	}
	if err := os.MkdirAll(m.cache(fetches.to.Server.ID), 0o700); err != nil {
		t.Fatal(err)
	}
	fetches.installed()
	if newSession(m, fetches.to).installs() {
		t.Error("a server that has started once is waited for as long")
	}
	for name, s := range map[string]*session{
		"it reaches nothing": of(func(s *core.MCPServer) { s.Grants.Hosts = nil }),
		"it has an address":  of(func(s *core.MCPServer) { s.Transport = core.MCPHTTP }),
	} {
		if s.installs() {
			t.Error(name)
		}
	}
}
