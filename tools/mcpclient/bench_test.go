package mcpclient_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/core"
	"loci/sandbox"
	"loci/tools/mcpclient"
)

// BenchmarkCall compares a call to a server that runs in the sandbox with one of the official client to the same program, started as
// it starts it. They take turns, so that both see the same machine, and medians are told.
func BenchmarkCall(b *testing.B) {
	to := program(b, "good")
	cage := sandbox.New(sandbox.Config{Scratch: filepath.Join(b.TempDir(), "jobs")})
	b.Cleanup(cage.Close)
	m := mcpclient.New(mcpclient.Config{Sandbox: cage})
	b.Cleanup(m.Close)
	plain := mcp.NewClient(&mcp.Implementation{Name: "plain", Version: "1"}, nil)
	official, err := plain.Connect(b.Context(), &mcp.CommandTransport{
		Command: exec.CommandContext(b.Context(), to.Server.Command, to.Server.Args...),
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = official.Close() }()
	listing, err := m.List(b.Context(), to)
	if err != nil {
		b.Fatal(err)
	}
	at := slices.IndexFunc(listing.Offers, func(o core.MCPOffer) bool { return o.Remote == "echo" })
	args := map[string]any{"text": "hej"}
	took := map[string][]time.Duration{}
	measure := func(name string, do func() error) {
		began := time.Now()
		if err := do(); err != nil {
			b.Fatal(err)
		}
		took[name] = append(took[name], time.Since(began))
	}
	for b.Loop() {
		measure("official", func() error {
			_, err := official.CallTool(b.Context(), &mcp.CallToolParams{Name: "echo", Arguments: args})
			return err
		})
		measure("ours", func() error {
			_, err := m.Call(b.Context(), to, core.MCPCall{Remote: "echo", Hash: listing.Offers[at].Hash, Arguments: args})
			return err
		})
	}
	middle := func(name string) float64 {
		slices.Sort(took[name])
		return float64(took[name][len(took[name])/2]) / float64(time.Microsecond)
	}
	b.ReportMetric(middle("official"), "official-us")
	b.ReportMetric(middle("ours"), "ours-us")
	b.ReportMetric(middle("ours")/middle("official"), "ours/official")
}
