package run

import (
	"cmp"
	"context"
	"fmt"

	"loci/core"
	"loci/tools/internal/authorities"
)

// Program runs a program that knows nothing of calls: what it prints is all that it says, and its exit code stands in the text where
// it isn't 0. An error means that nothing ran.
func Program(ctx context.Context, box core.Sandbox, argv []string, stdin []byte, c Call) (Outcome, error) {
	limit := cmp.Or(c.Time, CallTime)
	job := core.Job{
		Profile: core.JobTool, Argv: argv, Stdin: stdin, Env: append(environment(), c.Env...), Mounts: c.Mounts,
		Network: &core.JobNetwork{
			Allows: func(host string, named bool) bool { return c.Hosts != nil && c.Hosts.Allows(host, named) }, Ask: c.Ask,
		},
		Limits: core.JobLimits{Wall: limit + c.Waits, Output: mostOutput},
	}
	r, err := box.Run(ctx, job)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Stdout: shown(r.Stdout), Stderr: shown(r.Stderr), Refused: r.Refused, Layers: r.Layers}
	switch {
	case r.Ended != core.JobExited:
		out.Class, out.Text = unfinished(r, limit)
	case r.ExitCode != 0:
		out.Text = fmt.Sprintf("Exit code %d.", r.ExitCode)
	}
	return out, nil
}

// environment is what every program finds.
func environment() []string {
	return append(authorities.Env(), "PATH="+SystemPath, "HOME="+core.SandboxHome, "LANG=C.UTF-8", "TZ=UTC")
}
