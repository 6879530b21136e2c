package workspace

import (
	"os/exec"
	"testing"
	"time"

	"loci/core"
	"loci/core/permission"
)

// BenchmarkGrep searches 50,000 files of 2 KB in a repository, by the rules of permission that always stand, in turn with
// ripgrep: for a plain text and for an expression that some files hold, and for ones that none does.
func BenchmarkGrep(b *testing.B) {
	if _, err := exec.LookPath("rg"); err != nil {
		b.Fatal("ripgrep is what this compares with: apt-get install ripgrep")
	}
	dir := repository(b, 50_000)
	line := permission.Call{Tool: "grep", Does: permission.DoesRead}
	env := core.ToolEnv{MaxReturn: 50_000, Workspace: core.WorkspaceEnv{
		Path: dir, Paths: permission.Set(nil).Paths(line, permission.Place{Root: dir, Dir: dir, Real: permission.Real}),
	}}
	for name, args := range map[string]GrepArgs{
		"literal":    {Pattern: "file 4999", Literal: true},
		"nothing":    {Pattern: "nowhere at all", Literal: true},
		"expression": {Pattern: `f[a-z]+ 4[0-9]99[0-9]?\b`},
	} {
		b.Run(name, func(b *testing.B) {
			options := []string{"--no-messages"}
			if args.Literal {
				options = append(options, "--fixed-strings")
			}
			var ours, theirs time.Duration
			for b.Loop() {
				began := time.Now()
				if r, err := Grep(b.Context(), args, env); err != nil || r.IsError {
					b.Fatal(r, err)
				}
				ours += time.Since(began)
				began = time.Now()
				_ = exec.CommandContext(b.Context(), "rg", append(options, "-e", args.Pattern, dir)...).Run() // 1: nothing is found
				theirs += time.Since(began)
			}
			b.ReportMetric(ours.Seconds()*1000/float64(b.N), "grep-ms")
			b.ReportMetric(theirs.Seconds()*1000/float64(b.N), "rg-ms")
			b.ReportMetric(ours.Seconds()/theirs.Seconds(), "ratio")
		})
	}
}
