package daemon

import (
	"fmt"
	"slices"

	"loci/core"
	"loci/daemon/api"
	"loci/daemon/mirror"
)

// checkMirrors reports on the memory mirrors, or says that git is missing.
func (d *Daemon) checkMirrors() []api.Check {
	const name = "mirror"
	states := d.current().mirrors.States()
	program, err := mirror.FindGit()
	switch {
	case err != nil && len(states) > 0:
		return []api.Check{api.Broken("git", err.Error(), core.HintOf(err))}
	case err != nil:
		return []api.Check{api.Good("git", "not installed; only the memory mirror needs it")}
	case len(states) == 0:
		return []api.Check{api.Good("git", program+"; no memory is mirrored")}
	}
	var checks []api.Check
	for _, s := range states {
		isConflict := func(n core.MirrorNote) bool { return n.Kind == core.MirrorConflict }
		switch {
		case s.Err != nil:
			checks = append(checks, api.Warning(name, s.Err.Error(), core.HintOf(s.Err)))
		case slices.ContainsFunc(s.Notes, isConflict):
			n := s.Notes[slices.IndexFunc(s.Notes, isConflict)]
			checks = append(
				checks,
				api.Warning(name, fmt.Sprintf("%s/%s: %s", s.Mirror.Path, n.Path, n.Text), "loci memory mirror shows all of them"),
			)
		case len(s.Notes) > 0:
			checks = append(
				checks,
				api.Warning(
					name,
					fmt.Sprintf("%s: %d not mirrored", s.Mirror.Path, len(s.Notes)),
					"loci memory mirror says which",
				),
			)
		default:
			checks = append(checks, api.Good(name, s.Mirror.Path+": "+core.Count(s.Blocks, "block")+" in sync with files"))
		}
	}
	return checks
}
