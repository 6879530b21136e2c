//go:build !linux && !darwin

package sandbox

import (
	"context"

	"loci/core"
)

type backend struct{}

func (backend) close() {}

// machineMemory is unknown: jobs that could use it are refused.
func machineMemory() int64 { return 0 }

func (*call) confined(context.Context, *Local) error { return errNone() }

// errNone refuses a job where no sandbox is built for the system.
func errNone() error {
	return core.E(core.Unsupported, "Loci can't confine programs on this system, and runs none unconfined").
		WithHint(`a person can allow that: sandbox = "off" in the configuration; then programs can do whatever the person can`)
}

// Probe says what this machine can confine.
func (*Local) Probe(context.Context) Report {
	return Report{Level: LevelNone, Detail: errNone().Error(), Fix: core.HintOf(errNone())}
}

// systemLevel is what a machine has.
const systemLevel = LevelNone

func (*call) reduced(context.Context, *Local) error { return errNone() }
