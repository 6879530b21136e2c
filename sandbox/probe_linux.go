package sandbox

import (
	"context"
	"errors"
	"time"

	"loci/core"
)

// probeTime limits a whole Probe.
const probeTime = 5 * time.Second

// Probe runs a program that does nothing through the whole chain: no file tells whether a layer works.
func (l *Local) Probe(ctx context.Context) Report {
	if l.cfg.Mode == Off {
		return Report{Level: LevelOff, Detail: "the configuration turns it off: programs can do whatever the person can"}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	trial := New(Config{Mode: l.cfg.Mode}) // so that nothing stays that only jobs need
	defer trial.Close()
	result, err := trial.Run(ctx, core.Job{
		Profile: core.JobTool, Argv: []string{"true"}, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		Limits: core.JobLimits{Wall: probeTime},
	})
	var e *core.Error
	switch {
	case errors.As(err, &e):
		return Report{Level: LevelNone, Detail: e.Error(), Fix: e.Hint}
	case err != nil:
		return Report{Level: LevelNone, Detail: err.Error()}
	case result.Ended != core.JobExited || result.ExitCode != 0:
		return Report{Level: LevelNone, Detail: "a program that does nothing ended badly: " + string(result.Ended)}
	}
	if trial.reducedTo() {
		const detail = "some layers can't be had on this machine, and the configuration goes on without them"
		return Report{Level: LevelReduced, Layers: result.Layers, Detail: detail}
	}
	return Report{Level: LevelFull, Layers: result.Layers}
}

// systemLevel is what a machine has that can have everything; one that can't refuses jobs.
const systemLevel = LevelFull
