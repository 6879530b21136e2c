package packages

import (
	"bytes"
	"context"
	_ "embed"
	"slices"

	"loci/core"
	"loci/tools/internal/authorities"
)

//go:embed pip.py
var pipProgram string

// exitNoPip is how pip.py ends where there is no pip and none can be made.
const exitNoPip = 97

// pip installs packages for Python. Wheels hold files only, so that nothing of a package runs; where there is none for one of them, it
// is built from its source, in the same sandbox. Where the index is reached with a password, nothing is built: what builds reads it.
func (b *build) pip(ctx context.Context, w *want) error {
	from, err := indexOf(b.s.cfg.PyPI, publicPyPI, "pip_index")
	if err != nil {
		return err
	}
	env := []string{
		"PIP_CONFIG_FILE=/dev/null", "PIP_NO_INPUT=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_CACHE_DIR=1", "PIP_PROGRESS_BAR=off",
		"PIP_ROOT_USER_ACTION=ignore", "PIP_NO_WARN_SCRIPT_LOCATION=1", "PIP_RETRIES=1", "PIP_DEFAULT_TIMEOUT=30",
		"PIP_INDEX_URL=" + from.address,
	}
	if from.plain {
		env = append(env, "PIP_TRUSTED_HOST="+from.host)
	}
	env = append(env, authorities.Env()...)
	run := func(more ...string) (core.JobResult, error) {
		argv := slices.Concat([]string{w.with.Program, "-I", "-B", "-X", "utf8", "-c", pipProgram, "install", "--target", b.files()}, more,
			[]string{"--"}, w.Requirements)
		return b.job(ctx, w.with, from, argv, env)
	}
	r, err := run("--only-binary=:all:")
	if err != nil || good(r) {
		return err
	}
	if from.hide == "" && bytes.Contains(slices.Concat(r.Stdout.Kept, r.Stderr.Kept), []byte("No matching distribution")) {
		b.say("there is no wheel of it; it is built from its source")
		if err := b.empty(); err != nil {
			return err
		}
		if r, err = run("--prefer-binary"); err != nil || good(r) {
			return err
		}
	}
	if r.Ended == core.JobExited && r.ExitCode == exitNoPip {
		return core.E(core.Unsupported, "the python3 of this machine has neither pip nor ensurepip, and the tool asks for packages").
			WithHint("install it, for example: apt install python3-pip")
	}
	return failed(w, r, from)
}

func good(r core.JobResult) bool { return r.Ended == core.JobExited && r.ExitCode == 0 }
