package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"loci/core"
	"loci/core/variables"
	"loci/daemon/api"
	"loci/daemon/seal"
)

// shutMost is how many secrets are named that can't be opened.
const shutMost = 5

// checkSecrets says where the key of secrets is kept, and which of them it doesn't open.
func (d *Daemon) checkSecrets(ctx context.Context) api.Check {
	const name = "secrets"
	parts := d.current()
	if parts.variables == nil {
		return api.Good(name, "none can be kept: the store is not open")
	}
	place, err := parts.sealer.Where()
	if err != nil {
		return api.Broken(name, err.Error(), core.HintOf(err))
	}
	count, shut, err := parts.variables.Shut(ctx)
	if err != nil {
		return api.Broken(name, err.Error(), "loci daemon logs")
	}
	return secretsCheck(name, place, count, shut)
}

// secretsCheck words what was found.
func secretsCheck(name string, place seal.Place, count int, shut []variables.Shut) api.Check {
	where := map[seal.Place]string{
		seal.InKeyring: "their key lies in the keyring of the desktop",
		seal.InFile:    "their key lies in a file that only you can read",
		seal.Nowhere:   "there is no key yet",
	}[place]
	if len(shut) == 0 {
		return api.Good(name, core.Count(count, "secret")+"; "+where)
	}
	var names []string
	for _, s := range shut[:min(len(shut), shutMost)] {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	text := strings.Join(slices.Compact(names), ", ")
	if more := len(shut) - shutMost; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	detail := fmt.Sprintf("%d of %s can't be opened: %s (%s); %s", len(shut), core.Count(count, "secret"), text, shut[0].Why, where)
	return api.Warning(name, detail, "set each again: loci secrets set NAME, or remove it: loci secrets rm NAME")
}
